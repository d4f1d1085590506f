//! Profiles for pprof (`profile.proto`): of a snapshot what is live, in blocks and in bytes, by stack or block by block;
//! of a recording what each thread allocated from each stack, and what of it is live at the end.
//!
//! *Lost on the way*: how sure estimates are, ages (but for profiles by block), what was allocated before.

mod profile;

use std::collections::HashMap;

use anyhow::Result;
use heapscribe_analyze::answer::{Amount, NodeId};
use heapscribe_analyze::snapshot::{self, Snapshot};
use heapscribe_formats::LiveBlock;

use crate::opened_trace::Opened;
use crate::ranges::{StackSample, StackSamples};
use crate::recorded::About;
use heapscribe_symbols::Resolver;
use heapscribe_symbols::{NamedStacks, lossy};
use profile::{Label, Profile};

/// A profile of the first snapshot of a trace.
pub fn profile(trace: &Opened, by_block: bool, resolver: &Resolver) -> Result<Vec<u8>> {
    let Some(snapshot) = snapshot::analyze(&**trace).into_iter().next() else {
        anyhow::bail!("there is no snapshot in the trace");
    };
    let names = NamedStacks::look_up(&snapshot.tree, snapshot.stacks.iter().map(|s| s.node), resolver);
    let mut profile = Profile::new(&names, &[("objects", "count"), ("allocated", "bytes")]);
    if by_block {
        let nodes: HashMap<_, _> = snapshot.nodes.iter().copied().collect();
        let node_of = |block: &LiveBlock| nodes.get(&block.stack).copied().unwrap_or(NodeId::ROOT);
        snapshot::blocks(&**trace, &snapshot, |block, live| {
            let labels = labels(&snapshot, trace, block);
            profile.sample(node_of(block), &[live.blocks, live.bytes], &labels);
        })?;
    } else {
        let figures = |live: Amount| [live.blocks, live.bytes];
        snapshot.stacks.iter().for_each(|stack| profile.sample(stack.node, &figures(stack.live), &[]));
    }
    Ok(profile.finish(snapshot.table.real_ns, snapshot.age_ns, "allocated"))
}

/// The four kinds of figures that Go's heap profiles have, in their order.
pub const HEAP_KINDS: [(&str, &str); 4] = [
    ("alloc_objects", "count"),
    ("alloc_space", "bytes"),
    ("inuse_objects", "count"),
    ("inuse_space", "bytes"),
];

/// A profile of what each thread allocated from each stack, and what is live of it.
pub fn of_samples(samples: &StackSamples, about: &About, resolver: &Resolver) -> Vec<u8> {
    let names = NamedStacks::look_up(&samples.tree, samples.samples.iter().map(|s| s.node), resolver);
    let mut profile = Profile::new(&names, &HEAP_KINDS);
    for sample in &samples.samples {
        let labels = about.labels(sample);
        profile.sample(sample.node, &figures(sample), &labels);
    }
    if let Some(mean_bytes) = about.mean_bytes {
        profile.period(mean_bytes);
    }
    profile.finish(about.begin_real_ns, about.duration_ns, "inuse_space")
}

/// The four figures of a sample, in the order of [`HEAP_KINDS`].
pub(crate) fn figures(sample: &StackSample) -> [u64; 4] {
    let (allocated, live) = (sample.allocated, sample.live);
    [allocated.blocks, allocated.bytes, live.blocks, live.bytes]
}

impl About {
    /// The process and the thread of a sample.
    fn labels(&self, sample: &StackSample) -> Vec<Label> {
        let process = self.processes.get(sample.process).map(|process| {
            [Label::Text("process", process.program.clone()), Label::Number("pid", process.pid.into(), "")]
        });
        let thread = sample.thread.and_then(|thread| self.thread(sample.process, thread));
        let thread = thread.map(|thread| Label::Text("thread", format!("{}[{}]", thread.name, thread.tid)));
        process.into_iter().flatten().chain(thread).collect()
    }
}

/// The labels of a sample of one block.
fn labels(snapshot: &Snapshot, trace: &Opened, block: &LiveBlock) -> [Label; 4] {
    let clock = trace.clock(snapshot.process.index);
    let age_ns = clock.age_ns(snapshot.table.ticks.saturating_sub(block.birth_ticks));
    let born_ns = snapshot.table.real_ns.saturating_sub(age_ns);
    let thread = snapshot.threads.iter().find(|thread| thread.id == block.thread.0);
    let thread = thread
        .map_or_else(|| "unknown".to_owned(), |thread| format!("{}[{}]", lossy(&thread.name), thread.tid));
    [
        Label::Text("address", format!("{:#x}", block.address.0)),
        Label::Number("bytes", block.size_bytes, "bytes"),
        Label::Number("timestamp", born_ns, "nanoseconds"),
        Label::Text("thread", thread),
    ]
}
