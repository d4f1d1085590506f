//! OpenTelemetry's profiles (`opentelemetry.proto.profiles.v1development`, as in proto 1.9 to 1.11): a `ProfilesData`
//! message, whose bytes are those of the request that a collector takes at `/v1development/profiles`.
//!
//! A process is a resource, with four profiles: one for each kind of figure, as a profile has one.
//!
//! *Lost on the way*: how sure estimates are, ages, what happened when.

mod dictionary;
pub mod post;

use heapscribe_symbols::{NamedStacks, Resolver};

use crate::pprof::{HEAP_KINDS, figures};
use crate::protobuf::Message;
use crate::ranges::{StackSample, StackSamples};
use crate::recorded::{About, ProcessLabel};
use dictionary::{Dictionary, Value};

/// The message of what each thread allocated from each stack, and what is live of it.
pub fn of_samples(samples: &StackSamples, about: &About, resolver: &Resolver) -> Vec<u8> {
    let names = NamedStacks::look_up(&samples.tree, samples.samples.iter().map(|s| s.node), resolver);
    let mut dictionary = Dictionary::new(&names);
    let mut data = Message::default();
    for of_process in samples.samples.chunk_by(|a, b| a.process == b.process) {
        let number = of_process[0].process;
        let process = about.processes.get(number).cloned().unwrap_or_default();
        let mut scope = Message::default();
        let mut name = Message::default();
        name.bytes(1, b"heapscribe");
        name.bytes(2, env!("CARGO_PKG_VERSION").as_bytes());
        scope.message(1, &name);
        for kind in 0..HEAP_KINDS.len() {
            scope.message(2, &profile(of_process, kind, number, about, &mut dictionary));
        }
        let mut resource_profiles = Message::default();
        resource_profiles.message(1, &resource(&process, about));
        resource_profiles.message(2, &scope);
        data.message(1, &resource_profiles);
    }
    data.message(2, &dictionary.finish());
    data.into_bytes()
}

/// The profile of one kind of figure of a process.
fn profile(
    samples: &[StackSample],
    kind: usize,
    process: usize,
    about: &About,
    dictionary: &mut Dictionary<'_>,
) -> Message {
    let mut profile = Message::default();
    let mut sample_type = Message::default();
    sample_type.number(1, dictionary.text(HEAP_KINDS[kind].0));
    sample_type.number(2, dictionary.text(HEAP_KINDS[kind].1));
    profile.message(1, &sample_type);
    for sample in samples.iter().filter(|sample| figures(sample)[kind] > 0) {
        let mut message = Message::default();
        message.number(1, dictionary.stack(sample.node));
        if let Some(thread) = sample.thread.and_then(|thread| about.thread(sample.process, thread)) {
            let attributes = [
                dictionary.attribute("thread.name", Value::Text(thread.name.clone())),
                dictionary.attribute("thread.id", Value::Number(thread.tid.into())),
            ];
            message.numbers(2, &attributes);
        }
        message.numbers(4, &[figures(sample)[kind]]);
        profile.message(2, &message);
    }
    profile.fixed64(3, about.begin_real_ns);
    profile.number(4, about.duration_ns);
    profile.bytes(7, &profile_id(process, kind, about));
    profile
}

/// Names a profile for those that have it twice: when, which process, which kind.
fn profile_id(process: usize, kind: usize, about: &About) -> [u8; 16] {
    let pid = about.processes.get(process).map_or(0, |process| process.pid);
    let mut id = [0; 16];
    id[..8].copy_from_slice(&about.begin_real_ns.to_be_bytes());
    id[8..12].copy_from_slice(&pid.to_be_bytes());
    id[12..14].copy_from_slice(&(process as u16).to_be_bytes());
    id[15] = kind as u8 + 1;
    id
}

/// A process as a resource.
fn resource(process: &ProcessLabel, about: &About) -> Message {
    let text = |text: &str| Value::Text(text.to_owned());
    let mut resource = Message::default();
    let own = about.attributes.iter().map(|(key, value)| (key.as_str(), text(value)));
    let known = [
        ("service.name", text(about.service.as_ref().unwrap_or(&process.program))),
        ("host.name", text(&about.host)),
        ("process.pid", Value::Number(process.pid.into())),
        ("process.executable.name", text(&process.program)),
        ("process.executable.path", text(&process.exe)),
        ("process.command_line", text(&process.command)),
    ];
    for (key, value) in known.into_iter().chain(own) {
        let mut attribute = Message::default();
        attribute.bytes(1, key.as_bytes());
        attribute.message(2, &value.message());
        resource.message(1, &attribute);
    }
    resource
}
