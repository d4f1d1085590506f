//! What a file has not that a command wants, and which commands take it.

use std::path::Path;

use heapscribe_diagnostics::Problem;

/// A Go trace where blocks are wanted.
pub fn go_has_no_blocks(path: &Path) -> Problem {
    let shown = path.display();
    Problem::new(
        format!("{shown} is a Go trace, which has no blocks with stacks"),
        format!("use report, plot, flame, view or dump: heapscribe report {shown}"),
    )
}

/// A profile where events are wanted.
pub fn profile_has_no_events(path: &Path) -> Problem {
    let shown = path.display();
    Problem::new(
        format!("{shown} is a profile: sums by stack, without events"),
        format!("use report, flame, diff, hotspots, view, or convert to folded: heapscribe report {shown}"),
    )
}

/// A part of a message log where blocks are wanted.
pub(crate) fn part_has_no_blocks(path: &Path) -> Problem {
    let what = format!("{} is a message log, not a heap trace", path.display());
    Problem::new(what, "`report`, `dump` and `convert --to aos` read message logs")
}

/// A bundle of symbols where blocks are wanted.
pub(crate) fn bundle_has_no_blocks(path: &Path) -> Problem {
    let shown = path.display();
    let hint = format!("read a trace with it: heapscribe report TRACE --symbols {shown}");
    Problem::new(format!("{shown} is a symbol bundle, not a heap trace"), hint)
}
