//! Which sessions a drainer takes up, and when.

use std::fs;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;

use heapscribe_formats::Trace;
use heapscribe_wire::chunk::{Header, State, header_offset, payload_offset};
use heapscribe_wire::head::{HEAD_FILE_BYTES, MAGIC, SharedHead};
use heapscribe_wire::limits::EVENT_BYTES_MAX;
use heapscribe_wire::record::{Call, Event};

use super::*;

/// A session whose process has ended.
fn leave_session(base: &Path, pid: u32) {
    let session = base_directory::session_path(base, SessionKey { pid, created_mono_ns: 1 });
    fs::create_dir(&session).unwrap();
    let mut head = [0; HEAD_FILE_BYTES];
    head[..8].copy_from_slice(&MAGIC.to_le_bytes());
    head[8..12].copy_from_slice(&heapscribe_wire::ABI_VERSION.to_le_bytes());
    fs::write(session.join("head"), head).unwrap();
    for name in ["defs", "live", "log", "threads"] {
        fs::write(session.join(name), "").unwrap();
    }
}

#[test]
fn a_process_that_comes_and_ends_while_others_are_looked_for_is_drained() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path().join("base");
    fs::create_dir(&base).unwrap();
    let trace = place.path().join("run.hst");
    let mut drain = Drain::new(&base, &trace, 1, None, &SessionInfo::default(), None).unwrap();
    drain.pass();
    let mut looks = 0;
    assert!(drain.is_over_unless(|_| {
        looks += 1;
        if looks == 1 {
            leave_session(&base, 0x7fff_fff0);
        }
        false
    }));
    assert_eq!((looks, drain.finish(None).0.processes), (2, 1));
}

/// Sealed chunks of a session, by thread and the moments that they were sealed at: each with one event.
fn leave_chunks(base: &Path, pid: u32, sealed: &[(u32, &[u64])]) {
    leave_session(base, pid);
    let session = base_directory::session_path(base, SessionKey { pid, created_mono_ns: 1 });
    let mut event = [0; EVENT_BYTES_MAX];
    let committed = Event::UnknownFree { call: Call::Free }.encode(0, &mut event) as u32;
    let log = fs::File::options().write(true).open(session.join("log")).unwrap();
    let chunks =
        sealed.iter().flat_map(|(thread, moments)| moments.iter().enumerate().map(move |at| (*thread, at)));
    let mut in_use = 0;
    for (index, (thread, (sequence, end_mono_ns))) in chunks.enumerate() {
        let (state, sequence) = (State::Sealed as u32, sequence as u64);
        let header =
            Header { state, thread, committed, sequence, end_mono_ns: *end_mono_ns, ..Header::default() };
        log.write_all_at(&header.to_bytes(), header_offset(index) as u64).unwrap();
        log.write_all_at(&event, payload_offset(index) as u64).unwrap();
        in_use = index as u32 + 1;
    }
    let head = fs::File::options().write(true).open(session.join("head")).unwrap();
    head.write_all_at(&in_use.to_le_bytes(), offset_of!(SharedHead, chunks_in_use) as u64).unwrap();
}

/// A ring evicts what was written first, and tells nothing before the end of what it has evicted. The one chunk of a shell,
/// which ended last, was evicted before what the programs that it had run had done until then.
#[test]
fn chunks_are_written_in_the_order_of_being_sealed() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path().join("base");
    fs::create_dir(&base).unwrap();
    let (shell, program) = (0x7fff_fff0, 0x7fff_fff1);
    leave_chunks(&base, shell, &[(1, &[90])]);
    leave_chunks(&base, program, &[(1, &[10, 50, 80]), (2, &[5, 60, 0, 95])]);
    let trace = place.path().join("run.hst");
    let mut drain = Drain::new(&base, &trace, 1, None, &SessionInfo::default(), None).unwrap();
    drain.pass();
    assert_eq!(drain.finish(None).0.processes, 2);
    let trace = Trace::open(fs::read(&trace).unwrap()).unwrap();
    let sealed: Vec<_> =
        trace.chunks().iter().map(|chunk| (chunk.info.thread, chunk.info.end_mono_ns)).collect();
    // What a damaged header says does not change the order of a thread.
    assert_eq!(sealed, [(2, 5), (1, 10), (1, 50), (2, 60), (2, 0), (1, 80), (1, 90), (2, 95)]);
}

/// 2,000 programs of some seconds held up an agent for minutes: a directory of all was read for each.
#[test]
fn thousands_of_processes_are_taken_up_in_parts_and_the_directory_is_not_read_for_each() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path().join("base");
    fs::create_dir(&base).unwrap();
    let n = 3 * CHANGES_A_PASS as u32 / 2;
    (0..n).for_each(|i| leave_session(&base, 0x7fff_0000 + i));
    let trace = place.path().join("run.hst");
    let mut drain = Drain::new(&base, &trace, 1, None, &SessionInfo::default(), None).unwrap();
    drain.changes_a_pass = CHANGES_A_PASS;
    for left in [n - CHANGES_A_PASS as u32, 0] {
        drain.pass();
        assert_eq!(base_directory::sessions(&base).count(), left as usize);
    }
    assert!(drain.output.heaps.listings() <= 4, "{} listings", drain.output.heaps.listings());
    assert!(drain.is_over());
    assert_eq!(drain.finish(None).0.processes, u64::from(n));
    // As `recover` does: sessions that one pass did not take up would have been removed unread.
    (0..n).for_each(|i| leave_session(&base, 0x7fff_0000 + i));
    let mut drain = Drain::new(&base, &trace, 1, None, &SessionInfo::default(), None).unwrap();
    drain.keep_sessions();
    drain.pass();
    assert_eq!((drain.living(), drain.finish(None).0.written_sessions.len()), (0, n as usize));
}
