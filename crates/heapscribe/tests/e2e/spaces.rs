//! Programs in name spaces of their own, where a pid means another process than it does to `record`.

use crate::support::{Counted, Place, Report, Run, has, may_mount_or_skip};

/// A container's first process is pid 1 there: `record` must not take it for the machine's init, and wait
/// for that for ever; and the container's calls are in the trace.
#[test]
fn pid_name_space() {
    if !may_mount_or_skip("unshare") || !has("unshare") {
        return;
    }
    let place = Place::new();
    let program = place.compile("worker.c");
    let run = Run::new(&place, "unshare").args(["-pf"]).args([&program]).args(["-n", "200000"]);
    let run = run.env("COUNTS", place.path("counts"));
    let started = run.start();
    // Until it hangs, which is no matter of seconds on a machine that is busy.
    let ended = started.wait();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "work done\n"));
    let counted = Counted::read(&place.path("counts")).calls.all();
    assert!(Report::of(&run.trace()).calls().all() >= counted);
}
