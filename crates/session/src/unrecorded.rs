//! Programs that were not recorded, as sessions say it: in their heads, or by links in the base directory.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use heapscribe_formats::{Unrecorded, UnrecordedProgram, UnrecordedReason};
use heapscribe_wire::head::Head;
use heapscribe_wire::unrecorded::LINK_PREFIX;

use crate::head::read_head;

/// Links that are looked at; who writes more wants to fill our memory.
const LINKS_MAX: usize = 1 << 16;

/// What a head says of them.
pub fn unrecorded_in_head(file: &File) -> Unrecorded {
    read_head(file, of_head).unwrap_or_default()
}

fn of_head(head: &Head<'_>) -> Unrecorded {
    let owned = |program: heapscribe_wire::unrecorded::UnrecordedProgram<'_>| UnrecordedProgram {
        pid: program.pid,
        mono_ns: program.mono_ns,
        reason: program.reason,
        name: program.name.to_vec(),
    };
    let mut all =
        Unrecorded { programs: head.unrecorded.programs().map(owned).collect(), others: Vec::new() };
    for (reason, count) in head.unrecorded.counts() {
        let known = all.programs.iter().filter(|program| program.reason == reason).count() as u64;
        all.add_others(reason, u64::from(count).saturating_sub(known));
    }
    all
}

/// What links in a base directory say of them.
pub fn unrecorded_in_base(base: &Path) -> Unrecorded {
    let entries = fs::read_dir(base).into_iter().flatten().flatten().take(LINKS_MAX);
    let programs = entries.filter_map(|entry| {
        let name = entry.file_name();
        let mut program = parse(name.to_str()?)?;
        let target = fs::read_link(entry.path()).ok()?;
        if target.as_os_str() != "?" {
            program.name = target.as_os_str().as_bytes().to_vec();
        }
        Some(program)
    });
    Unrecorded { programs: programs.collect(), others: Vec::new() }
}

/// `unrecorded.PID.MONO.REASON`.
fn parse(name: &str) -> Option<UnrecordedProgram> {
    let mut numbers = name.strip_prefix(LINK_PREFIX)?.split('.').map(str::parse::<u64>);
    let mut number = || numbers.next()?.ok();
    let (pid, mono_ns, reason) = (number()?, number()?, number()?);
    let reason = UnrecordedReason::from_number(u32::try_from(reason).ok()?);
    Some(UnrecordedProgram { pid: u32::try_from(pid).ok()?, mono_ns, reason, name: Vec::new() })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_say_pid_time_reason_and_name() {
        let base = tempfile::tempdir().unwrap();
        let link = |target: &str, name: &str| symlink(target, base.path().join(name)).unwrap();
        link("/opt/app", "unrecorded.7.99.5");
        link("?", "unrecorded.8.100.9");
        link("/x", "unrecorded.8.100");
        link("/x", "unrecorded.8.100.x");
        link("/x", "7.99");
        fs::write(base.path().join("unrecorded.1.2.3"), "").unwrap();
        let mut found = unrecorded_in_base(base.path());
        found.truncate(10);
        let program =
            |pid, mono_ns, reason, name: &str| UnrecordedProgram { pid, mono_ns, reason, name: name.into() };
        let expected = [
            program(7, 99, UnrecordedReason::Descriptors, "/opt/app"),
            program(8, 100, UnrecordedReason::Room, ""),
        ];
        assert_eq!(found.programs, expected);
    }
}
