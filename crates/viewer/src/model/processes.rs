//! What processes are called, where there are several.

use std::collections::HashMap;

use heapscribe_analyze::input::ProcessFacts;

use super::limits::SINGLE_PROCESSES_MAX;

/// `make (pid 17)` for each process; of one process alone there is nothing to be told apart, and of many those of one
/// program are called `cc1 (57 processes)`.
pub(crate) fn labels(processes: &[ProcessFacts]) -> HashMap<usize, String> {
    if processes.len() < 2 {
        return HashMap::new();
    }
    let mut of_program = HashMap::<String, u32>::new();
    for process in processes {
        *of_program.entry(program(process)).or_default() += 1;
    }
    let label = |(number, process): (usize, &ProcessFacts)| {
        let name = program(process);
        let label = match of_program.get(&name) {
            Some(count) if *count > 1 && processes.len() > SINGLE_PROCESSES_MAX => {
                format!("{name} ({count} processes)")
            }
            _ => single(process),
        };
        (number, label)
    };
    processes.iter().enumerate().map(label).collect()
}

/// What a process that shares a label is called when it alone is looked at: the shared label, and its own.
pub(crate) fn own_label(processes: &[ProcessFacts], process: usize) -> Option<(String, String)> {
    let shared = labels(processes).remove(&process)?;
    let own = single(processes.get(process)?);
    (shared != own).then_some((shared, own))
}

fn single(process: &ProcessFacts) -> String {
    format!("{} (pid {})", program(process), process.pid)
}

/// The name of its file, as `report` has it.
pub(crate) fn program(process: &ProcessFacts) -> String {
    let path = String::from_utf8_lossy(&process.exe);
    match path.rsplit('/').next() {
        Some("") | None => "an unknown program".to_owned(),
        Some(name) => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(exe: &str, pid: u32) -> ProcessFacts {
        ProcessFacts { exe: exe.into(), pid, ..ProcessFacts::default() }
    }

    #[test]
    fn many_processes_of_a_program_share_a_label() {
        assert_eq!(labels(&[process("/bin/sh", 1)]), HashMap::new());
        let few = labels(&[process("/bin/sh", 1), process("", 2)]);
        assert_eq!((few[&0].as_str(), few[&1].as_str()), ("sh (pid 1)", "an unknown program (pid 2)"));
        let mut many = vec![process("/bin/make", 7)];
        many.extend((0..20).map(|pid| process("/usr/lib/cc1", 100 + pid)));
        let many = labels(&many);
        assert_eq!((many[&0].as_str(), many[&9].as_str()), ("make (pid 7)", "cc1 (20 processes)"));
    }

    #[test]
    fn a_process_that_is_looked_at_alone_has_its_own_label() {
        let mut all = vec![process("/bin/make", 7)];
        all.extend((0..20).map(|pid| process("/usr/lib/cc1", 100 + pid)));
        let label = ("cc1 (20 processes)".to_owned(), "cc1 (pid 108)".to_owned());
        assert_eq!(own_label(&all, 9), Some(label));
        // One that has its own anyway, and one that is not there.
        assert_eq!((own_label(&all, 0), own_label(&all, 99)), (None, None));
        assert_eq!(own_label(&all[..3], 1), None);
    }
}
