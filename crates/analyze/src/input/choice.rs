//! Which processes and threads of a recording a question is about.

use std::collections::BTreeSet;

use heapscribe_wire::definitions::Definition;
use heapscribe_wire::real_time_rules::fits;

use super::facts::ProcessFacts;
use super::history::History;

/// What somebody asks for: nothing of a kind is all of it. In names `*` is any run of characters and `?` any one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Choice {
    /// Pids of processes.
    pub pids: Vec<u32>,
    /// Names of programs, of their files or as they were typed.
    pub programs: Vec<String>,
    /// Names of threads, or their numbers.
    pub threads: Vec<String>,
}

impl Choice {
    /// Whether everything is asked for.
    pub fn is_all(&self) -> bool {
        *self == Choice::default()
    }

    fn has_process(&self, facts: &ProcessFacts) -> bool {
        let is_named = self.programs.iter().any(|name| facts.is_program(name));
        (self.pids.is_empty() || self.pids.contains(&facts.pid)) && (self.programs.is_empty() || is_named)
    }

    fn has_thread(&self, tid: u32, name: &[u8]) -> bool {
        self.threads.iter().any(|wanted| fits(wanted.as_bytes(), name) || wanted.parse() == Ok(tid))
    }
}

/// What of a recording was asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chosen {
    /// The processes, by index, each with those of its threads; none there is all of them.
    pub processes: Vec<(usize, Option<BTreeSet<u32>>)>,
}

impl Chosen {
    /// Looks for it. A process without any of the threads is not chosen.
    pub fn of<H: History>(history: &H, choice: &Choice) -> Chosen {
        let facts = history.processes();
        let processes = facts.iter().enumerate().filter(|(_, facts)| choice.has_process(facts));
        if choice.threads.is_empty() {
            return Chosen { processes: processes.map(|(number, _)| (number, None)).collect() };
        }
        let threads = processes.map(|(number, _)| (number, threads(history, number, choice)));
        let some = threads.filter(|(_, threads)| !threads.is_empty());
        Chosen { processes: some.map(|(number, threads)| (number, Some(threads))).collect() }
    }

    /// Whether a thread of a process is among it.
    pub fn has(&self, process: usize, thread: u32) -> bool {
        let found = self.processes.iter().find(|(number, _)| *number == process);
        found.is_some_and(|(_, threads)| threads.as_ref().is_none_or(|threads| threads.contains(&thread)))
    }
}

/// The threads of a process that are asked for. A definition that cannot be read is reported with the answer.
fn threads<H: History>(history: &H, process: usize, choice: &Choice) -> BTreeSet<u32> {
    let mut threads = BTreeSet::new();
    let _ = history.definitions(process, &mut |_, definition| {
        if let Definition::Thread { id, tid, name, .. } = definition
            && choice.has_thread(*tid, name)
        {
            threads.insert(id.0);
        }
    });
    threads
}
