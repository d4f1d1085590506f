//! What a profile says of its recording as a whole: when and where it was, and what its processes and threads are called.

use std::collections::BTreeMap;

use heapscribe_analyze::input::History as _;
use heapscribe_formats::profile::Rate;
use heapscribe_symbols::lossy;
use heapscribe_wire::definitions::Definition;

use crate::opened_trace::Opened;

/// A process, as a label has it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessLabel {
    /// The kernel's number.
    pub pid: u32,
    /// The file name of its program.
    pub program: String,
    /// The whole path.
    pub exe: String,
    /// Its command line.
    pub command: String,
}

/// A thread, as a label has it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadLabel {
    /// The kernel's number.
    pub tid: u32,
    /// Its name.
    pub name: String,
}

/// The recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct About {
    /// Name of the machine.
    pub host: String,
    /// When what is told of begins, ns since 1970.
    pub begin_real_ns: u64,
    /// How long it is, ns.
    pub duration_ns: u64,
    /// The processes of the recording, by their numbers.
    pub processes: Vec<ProcessLabel>,
    /// What is asked for in place of the names of the programs.
    pub service: Option<String>,
    /// More of what is said of all processes, by name.
    pub attributes: BTreeMap<String, String>,
    /// The mean bytes between two samples, 1 of a profile of all blocks; none where it is not said.
    pub mean_bytes: Option<u64>,
    threads: BTreeMap<(usize, u32), ThreadLabel>,
}

impl About {
    /// Of a trace: all of it, until something else is set.
    pub fn of(trace: &Opened) -> About {
        let recording = trace.recording();
        let session = recording.session();
        let facts = recording.processes();
        let mut threads = BTreeMap::new();
        for number in 0..facts.len() {
            // What cannot be read is reported where the definitions are read for good.
            let _ = recording.definitions(number, &mut |_, definition| {
                if let Definition::Thread { id, tid, name, .. } = definition {
                    threads.insert((number, id.0), ThreadLabel { tid: *tid, name: lossy(name) });
                }
            });
        }
        let process = |facts: heapscribe_analyze::input::ProcessFacts| {
            let exe = lossy(&facts.exe);
            ProcessLabel {
                pid: facts.pid,
                program: exe.rsplit('/').next().unwrap_or_default().to_owned(),
                exe,
                command: facts.command.iter().map(|part| lossy(part)).collect::<Vec<_>>().join(" "),
            }
        };
        About {
            host: session.host,
            begin_real_ns: session.begin_real_ns,
            duration_ns: session.end_mono_ns.saturating_sub(session.begin_mono_ns),
            processes: facts.into_iter().map(process).collect(),
            service: None,
            attributes: BTreeMap::new(),
            mean_bytes: trace.profile.as_ref().and_then(|sums| mean_bytes(sums.about.rate)),
            threads,
        }
    }

    /// The same of a part of it, ns after its begin.
    #[must_use]
    pub fn of_part(&self, begin_ns: u64, duration_ns: u64) -> About {
        About { begin_real_ns: self.begin_real_ns.saturating_add(begin_ns), duration_ns, ..self.clone() }
    }

    /// A thread of a process.
    pub fn thread(&self, process: usize, thread: u32) -> Option<&ThreadLabel> {
        self.threads.get(&(process, thread))
    }
}

fn mean_bytes(rate: Rate) -> Option<u64> {
    match rate {
        Rate::Unknown => None,
        Rate::Exact => Some(1),
        Rate::Sampled { mean_bytes } => Some(mean_bytes),
    }
}
