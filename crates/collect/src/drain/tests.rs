//! Which sessions a drainer takes up, and when.

use std::fs;

use heapscribe_wire::head::{HEAD_FILE_BYTES, MAGIC};

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
