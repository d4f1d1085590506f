//! Programs that were started while it was recorded and that are in no session, gathered from all who noted one.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

use heapscribe_formats::{Unrecorded, UnrecordedProgram, UnrecordedReason};
use heapscribe_session::{SessionKey, unrecorded_in_base, unrecorded_in_head};
use heapscribe_wire::real_time_rules::fits;

/// Programs that are kept one by one while it is recorded.
const PROGRAMS_MAX: usize = 4096;
/// Programs that were recorded, kept to be compared with those that were not: no more than anybody starts from static
/// ones that contain the recorder.
const RECORDED_MAX: usize = 1 << 14;

/// What was noted so far.
#[derive(Debug, Default)]
pub(super) struct Escapes {
    noted: Unrecorded,
    /// Programs that made a session, with the names of their files.
    recorded: Vec<(SessionKey, Vec<u8>)>,
}

impl Escapes {
    /// Takes what a head says, of which nobody will say more.
    pub(super) fn take(&mut self, head: &File) {
        self.add(unrecorded_in_head(head));
    }

    /// Adds others.
    pub(super) fn add(&mut self, others: Unrecorded) {
        self.noted.programs.extend(others.programs);
        others.others.into_iter().for_each(|(reason, count)| self.noted.add_others(reason, count));
        self.noted.truncate(PROGRAMS_MAX);
    }

    /// A program has made its session.
    pub(super) fn is_recorded(&mut self, key: SessionKey, exe: &[u8]) {
        if self.recorded.len() < RECORDED_MAX {
            let name = exe.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            self.recorded.push((key, name.to_vec()));
        }
    }

    /// Those that are not recorded, of the programs that were to be.
    pub(super) fn finish(mut self, base: &Path, only: &[String]) -> Unrecorded {
        self.add(unrecorded_in_base(base));
        let Escapes { mut noted, recorded } = self;
        let is_wanted = |program: &UnrecordedProgram| {
            only.is_empty() || only.iter().any(|pattern| fits(pattern.as_bytes(), program.file_name()))
        };
        // A static program may contain the recorder, and a heap in a program may have its memory from the one that is
        // recorded: then it has said so by its session.
        let is_recorded = |program: &UnrecordedProgram| {
            let same = |(key, name): &(SessionKey, Vec<u8>)| {
                key.pid == program.pid
                    && key.created_mono_ns >= program.mono_ns
                    && name == program.file_name()
            };
            matches!(program.reason, UnrecordedReason::Static | UnrecordedReason::OwnHeap)
                && recorded.iter().any(same)
        };
        noted.programs.retain(|program| is_wanted(program) && !is_recorded(program));
        let mut seen = HashSet::new();
        noted
            .programs
            .retain(|program| !is_noted_twice(program) || seen.insert((program.pid, program.reason)));
        if !only.is_empty() {
            noted.others.clear();
        }
        if !base.is_dir() {
            let hidden =
                noted.programs.iter_mut().filter(|program| program.reason == UnrecordedReason::Hidden);
            hidden.for_each(|program| program.reason = UnrecordedReason::Removed);
        }
        noted
    }
}

/// Whether both the program and who started it may have noted it for this reason.
fn is_noted_twice(program: &UnrecordedProgram) -> bool {
    use UnrecordedReason::{Descriptors, OwnHeap, Sanitizer};
    matches!(program.reason, Descriptors | OwnHeap | Sanitizer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(pid: u32, reason: UnrecordedReason, name: &str) -> UnrecordedProgram {
        UnrecordedProgram { pid, mono_ns: 100, reason, name: name.into() }
    }

    /// Which programs are left of these, where `only` is recorded and `recorded` made sessions.
    fn check(
        base: &Path,
        only: &[&str],
        recorded: &[(u32, u64, &str)],
        expected: &[(u32, UnrecordedReason)],
    ) {
        let mut escapes = Escapes::default();
        escapes.add(Unrecorded {
            programs: vec![
                program(7, UnrecordedReason::Static, "/bin/tool"),
                program(8, UnrecordedReason::Hidden, "app"),
                program(9, UnrecordedReason::OwnHeap, "/opt/heap"),
                program(9, UnrecordedReason::OwnHeap, "heap"),
            ],
            others: Vec::new(),
        });
        for (pid, created_mono_ns, exe) in recorded {
            escapes.is_recorded(SessionKey { pid: *pid, created_mono_ns: *created_mono_ns }, exe.as_bytes());
        }
        let only: Vec<String> = only.iter().map(|&name| name.to_owned()).collect();
        let left = escapes.finish(base, &only).programs;
        assert_eq!(left.iter().map(|left| (left.pid, left.reason)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn those_are_left_that_were_to_be_recorded_and_were_not() {
        use UnrecordedReason::{Hidden, OwnHeap, Removed, Static};
        let base = tempfile::tempdir().unwrap();
        let all = [(7, Static), (8, Hidden), (9, OwnHeap)];
        check(base.path(), &[], &[], &all);
        check(base.path(), &["ap*"], &[], &[(8, Hidden)]);
        check(base.path(), &[], &[(7, 101, "/usr/bin/tool"), (8, 101, "/app")], &all[1..]);
        check(base.path(), &[], &[(9, 101, "/opt/heap")], &all[..2]);
        check(base.path(), &[], &[(7, 99, "/bin/tool"), (7, 101, "/bin/other")], &all);
        check(&base.path().join("removed"), &[], &[], &[(7, Static), (8, Removed), (9, OwnHeap)]);
    }
}
