//! The head of a session, copied and read: its process, and how far that is.

use std::fs::File;

use heapscribe_formats::model::{ProcessEnd, ProcessInfo, Stage};
use heapscribe_wire::head::{ClockKind, HEAD_FILE_BYTES, Head, stage};
use heapscribe_wire::operation::{RECORD_BYTES, RECORDS_MAX, Record};
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;

use crate::files::read_up_to;

/// Copies the head and hands it to `look`; `None` when it is not one, or not one yet.
pub fn read_head<T>(file: &File, look: impl FnOnce(&Head<'_>) -> T) -> Option<T> {
    let mut bytes = [0; HEAD_FILE_BYTES];
    let n = read_up_to(file, &mut bytes, 0);
    Head::parse(&bytes[..n]).ok().map(|head| look(&head))
}

/// Whether any process has this head mapped: its own, or one that was forked from it and has neither a session of
/// its own yet nor exec'd. False where the file system knows no such locks.
pub fn is_mapped(file: &File) -> bool {
    // The processes' lock is for reading, and lasts as long as their mappings do.
    match fcntl_lock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            let _ = fcntl_lock(file, FlockOperation::Unlock);
            false
        }
        Err(e) => matches!(e, Errno::AGAIN | Errno::ACCESS),
    }
}

/// A process by its head.
pub fn process_info(head: &Head<'_>) -> ProcessInfo {
    let arguments = head.command.strip_suffix(b"\0").unwrap_or(head.command);
    ProcessInfo {
        pid: head.pid,
        parent_pid: head.parent_pid,
        stage: if head.stage == stage::FORKED { Stage::Forked } else { Stage::Execed },
        created_mono_ns: head.created_mono_ns,
        created_real_ns: head.created_real_ns,
        parent_created_mono_ns: head.parent_created_mono_ns,
        created_ticks: head.created_ticks,
        clock_kind: if head.clock_kind == ClockKind::Tsc as u32 {
            ClockKind::Tsc
        } else {
            ClockKind::Monotonic
        },
        early_ns: head.early_ns,
        counts_calls: false,
        clock_shift: head.clock_shift.min(31), // more is no shift of a clock, and no reader takes it
        exe: head.exe.to_vec(),
        command: arguments.split(|&b| b == 0).map(<[u8]>::to_vec).collect(),
    }
}

/// The records of threads in a session's file of them: as many as the head has in use, or fewer when the file ends.
pub fn read_records(file: &File, head: &Head<'_>) -> Vec<Record> {
    let mut bytes = vec![0; (head.records as usize).min(RECORDS_MAX) * RECORD_BYTES];
    let n = read_up_to(file, &mut bytes, 0);
    bytes[..n].as_chunks().0.iter().map(Record::parse).collect()
}

/// The end of a process, or how far it is, by its head and the records of its threads.
pub fn process_end(head: &Head<'_>, records: &[Record]) -> ProcessEnd {
    let mut drops = head.drops;
    records.iter().for_each(|record| record.add_cut_stacks(&mut drops));
    ProcessEnd {
        drops,
        broke: head.broke,
        threads: head.threads,
        own_bytes: head.own_bytes,
        spilled_bytes: head.spilled_bytes,
        stacks_verified: head.stacks_verified,
        stacks_different: head.stacks_different,
        exact_from_ticks: head.exact_from_ticks,
        ..ProcessEnd::default()
    }
}
