//! Programs in name spaces of their own, where a pid means another process than it does to `record`.

mod support;

use std::time::Duration;

use rustix::process::Signal;
use support::{Counted, Place, Report, Run, has, is_root_or_skip};

/// A container's first process is pid 1 there: `record` must not take it for the machine's init, and wait
/// for that for ever; and the container's calls are in the trace.
#[test]
fn pid_name_space() {
    if !is_root_or_skip("unshare") || !has("unshare") {
        return;
    }
    let place = Place::new();
    let program = place.compile("worker.c");
    let run = Run::new(&place, "unshare").args(["-pf"]).args([&program]).args(["-n", "200000"]);
    let run = run.env("COUNTS", place.path("counts"));
    let mut started = run.start();
    let ended_by_itself = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        started.child.try_wait().unwrap().is_some()
    });
    if !ended_by_itself {
        started.signal(Signal::INT);
    }
    let ended = started.wait();
    assert!(ended_by_itself, "record waits for a process that has ended: {}", ended.stderr);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "work done\n"));
    let counted = Counted::read(&place.path("counts")).calls.all();
    assert!(Report::of(&run.trace()).calls().all() >= counted);
}
