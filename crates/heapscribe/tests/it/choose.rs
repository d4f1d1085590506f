//! `--pid`, `--process` and `--thread`: what of a trace is looked at.

use crate::sample;
use crate::see::Place;

#[track_caller]
fn lines(place: &Place, command: &str, code: Option<i32>, words: &[&str]) -> String {
    let (exit, out, err) = place.all(command);
    assert!(code.is_none() || exit == code, "{command}: {exit:?}: {err}");
    let all = format!("{out}{err}");
    all.lines().filter(|line| words.iter().any(|word| line.contains(word))).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_part_of_the_trace() {
    let place = Place::with_trace(&sample::trace());
    let mut all = String::new();
    for choice in ["", "--pid 101", "--process a?p --pid 100", "--thread work*", "--thread 100 --pid 101"] {
        let report = lines(
            &place,
            &format!("report run.hst --full {choice}"),
            None,
            &["a part of", "largest", "Never", "(thread", "calls,"],
        );
        let hotspots = lines(&place, &format!("hotspots run.hst {choice}"), None, &["in total"]);
        let dump = lines(&place, &format!("dump run.hst {choice}"), None, &[" + ", "# process"]);
        all.push_str(&format!("== {choice}\n{report}\n{hotspots}\n{dump}\n"));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn nothing_that_is_chosen() {
    let place = Place::with_trace(&sample::trace());
    for command in ["report", "hotspots", "dump"] {
        let shown = lines(&place, &format!("{command} run.hst --pid 7"), Some(1), &["error: ", "hint: "]);
        assert!(shown.starts_with("error: the trace has no such process\nhint: list processes"), "{shown}");
        assert!(shown.contains("`heapscribe report TRACE --full`"), "{shown}");
        let shown = lines(&place, &format!("{command} run.hst --thread x"), Some(1), &["error: "]);
        assert_eq!(shown, "error: the trace has no such thread");
    }
}
