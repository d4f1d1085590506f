//! Runs of calls against counts that are made here, of the lines of a flame graph.

use std::collections::{BTreeMap, BTreeSet};

use crate::sample;
use crate::see::{Place, file};

/// The weight of every run of up to so many calls.
fn exact(folded: &str, length: usize) -> BTreeMap<String, u64> {
    let mut runs = BTreeMap::new();
    for line in folded.lines() {
        let (stack, weight) = line.rsplit_once(' ').unwrap();
        let frames: Vec<_> = stack.split(';').filter(|frame| *frame != "[unknown stack]").collect();
        let all: BTreeSet<_> =
            (1..=length).flat_map(|n| frames.windows(n)).map(|run| run.join(" > ")).collect();
        all.into_iter().for_each(|run| *runs.entry(run).or_default() += weight.parse::<u64>().unwrap());
    }
    runs
}

/// The first number of a text, without separators.
fn number(text: &str) -> u64 {
    let digits = text.trim().split(' ').next().unwrap();
    digits.replace(',', "").parse().unwrap()
}

/// What is told of each run, and the error.
fn told(text: &str) -> (BTreeMap<String, u64>, u64) {
    let (first, lines) = text.split_once('\n').unwrap();
    let error = number(first.split_once("up to ").unwrap().1.split_once("up to ").unwrap().1);
    let line = |line: &str| (line.split_once(" %  ").unwrap().1.to_owned(), number(line));
    (lines.lines().map(line).collect(), error)
}

fn check(trace: &[u8], of: &str) {
    let place = Place::with_trace(trace);
    place.all(&format!("flame run.hst -o x.folded --metric {of}"));
    let exact = exact(&file(&place.path("x.folded")), 3);
    let (all, none) = told(&place.all(&format!("hotspots run.hst --metric {of} --length 3 --top 99")).1);
    assert_eq!(none, 0);
    assert!(!all.is_empty());
    all.iter().for_each(|(run, weight)| assert_eq!(exact.get(run), Some(weight), "{of}: {run}"));
    for entries in [1, 2, 4] {
        let words = format!("hotspots run.hst --metric {of} --length 3 --top 99 --entries {entries}");
        let (some, error) = told(&place.all(&words).1);
        assert!(some.len() <= 2 * entries);
        for (run, weight) in some {
            assert!((weight..=weight + error).contains(&exact[&run]), "{of}: {run}: {weight} +{error}");
        }
    }
}

#[test]
fn true_weights_lie_within_the_error() {
    for of in ["allocated", "count", "peak"] {
        check(&sample::trace(), of);
    }
}

/// The analysis gives each sample a whole number of blocks, by chance the one below or above.
#[test]
fn samples_stand_for_about_what_they_stand_for_elsewhere() {
    let place = Place::with_trace(&sample::sampled());
    for of in ["count", "allocated"] {
        place.stdout(&format!("flame run.hst -o x.folded --metric {of}"));
        let exact = exact(&file(&place.path("x.folded")), 3);
        let (told, error) = told(&place.stdout(&format!("hotspots run.hst --metric {of} --length 3")));
        assert_eq!(error, 0);
        for (run, weight) in told {
            let (is, should) = (weight as f64, exact[&run] as f64);
            assert!((is - should).abs() <= 0.05 * should, "{of}: {run}: {is} {should}");
        }
    }
}
