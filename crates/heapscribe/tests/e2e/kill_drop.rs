//! A program that is told to drop events, when its `record` is killed.

use std::fs;

use crate::kill::{printed, without_record};
use crate::support::{Place, Report, until};

/// It drops events until it knows that nobody drains them, and then writes them itself.
#[test]
fn writes_its_events_itself_when_told_to_drop_and_record_was_killed() {
    let (place, sessions) = (Place::new(), Place::new());
    let (worker, left) = without_record(&place, &sessions, 2, &["--when-full", "drop", "--log-chunks", "2"]);
    let directories = || fs::read_dir(&left).unwrap().map(|entry| entry.unwrap().path().join("spill"));
    until("events that it writes itself", || {
        directories().any(|spill| fs::metadata(spill).is_ok_and(|spill| spill.len() > 1 << 20))
    });
    worker.kill();
    let trace = worker.run.trace();
    printed(&["recover", "-o"], &[&trace, &left], 3);
    let report = Report::of(&trace);
    let (all, told) = (worker.counted().calls.all(), report.calls().all() + report.dropped("total"));
    assert!((all - 10..all + 100).contains(&told), "{told} recorded or dropped of {all}");
}
