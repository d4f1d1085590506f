//! Functions and their callers against sums that are made here, of the lines of a flame graph.

use std::collections::{BTreeMap, BTreeSet};

use heapscribe_units::short_bytes;
use heapscribe_views::text::estimate;

use crate::sample;
use crate::see::{Place, file};

/// Function and, for one of its callers, that caller: the weight.
type Weights = BTreeMap<(String, Option<String>), u64>;

/// What is to be shown of stacks, `outer;inner weight`: memtrace's definition.
fn expected(folded: &str) -> Weights {
    let stack = |line: &str| {
        let (stack, weight) = line.rsplit_once(' ').unwrap();
        (stack.split(';').map(str::to_owned).collect::<Vec<_>>(), weight.parse::<u64>().unwrap())
    };
    let stacks: Vec<_> = folded.lines().map(stack).collect();
    let (mut of_function, mut of_pair, mut below) = (Weights::new(), Weights::new(), BTreeMap::new());
    for (stack, weight) in &stacks {
        let function = stack.last().unwrap();
        *of_function.entry((function.clone(), None)).or_default() += weight;
        for caller in stack.iter().collect::<BTreeSet<_>>() {
            *below.entry(caller.clone()).or_insert(0) += weight;
            if caller != function && !caller.starts_with("[stack cut") {
                *of_pair.entry((function.clone(), Some(caller.clone()))).or_default() += weight;
            }
        }
    }
    let whole: u64 = stacks.iter().map(|(_, weight)| weight).sum();
    of_pair.retain(|(function, caller), weight| {
        let share = of_function[&(function.clone(), None)] as f64 / whole as f64;
        let of_caller = *weight as f64 / below[caller.as_ref().unwrap()] as f64;
        of_caller > 0.1 && of_caller > 1.2 * share
    });
    of_function.extend(of_pair);
    of_function.retain(|_, weight| *weight * 200 > whole);
    of_function
}

/// What stands behind the percentage: a number without separators, or an estimate as it is.
fn amount(line: &str) -> String {
    let text = line.split_once(" %  ").unwrap().1;
    match text.strip_prefix("\u{2248} ") {
        Some(_) => text.split(" in ").next().unwrap().split(" through ").next().unwrap().to_owned(),
        None => text.split(' ').next().unwrap().replace(',', ""),
    }
}

/// How a sum is shown.
fn as_shown(weight: u64, of: &str, is_sampled: bool) -> String {
    match (is_sampled, of) {
        (false, _) => weight.to_string(),
        (true, "count") => estimate::about_counted(weight, "block", true),
        (true, _) => format!("\u{2248} {}", short_bytes(weight)),
    }
}

fn shown(text: &str) -> BTreeMap<(String, Option<String>), String> {
    let (mut shown, mut function) = (BTreeMap::new(), String::new());
    for line in text.lines().skip(1).filter(|line| !line.contains(" called by ")) {
        let caller =
            line.split_once(" through ").map(|(_, rest)| rest.rsplit_once(", ").unwrap().0.to_owned());
        if caller.is_none() {
            let name = line.split_once(" in ").unwrap().1;
            function = name.split(" (/").next().unwrap().split(" (app.").next().unwrap().to_owned();
        }
        shown.insert((function.clone(), caller), amount(line));
    }
    shown
}

fn check(trace: &[u8], of: &str, is_sampled: bool) {
    let place = Place::with_trace(trace);
    place.all(&format!("flame run.hst --merge-processes -o x.folded --metric {of}"));
    let text = place.all(&format!("hotspots run.hst --metric {of} --top 99 --callers 99")).1;
    let expected = expected(&file(&place.path("x.folded"))).into_iter();
    let expected = expected.map(|(who, weight)| (who, as_shown(weight, of, is_sampled))).collect();
    assert_eq!(shown(&text), expected, "{of}\n{text}");
    assert_eq!(text.lines().next().unwrap().contains("estimated from samples"), is_sampled, "{text}");
}

#[test]
fn functions_and_callers_are_those_of_the_stacks() {
    for of in ["allocated", "count", "peak"] {
        check(&sample::trace(), of, false);
        check(&sample::sampled(), of, true);
    }
}

/// Of a range, too, figures are not given to the byte.
#[test]
fn ranges_of_samples_are_estimates() {
    let place = Place::with_trace(&sample::sampled());
    let text = place.all("hotspots run.hst --from 0%").1;
    assert!(text.lines().next().unwrap().contains("(estimated from samples)"), "{text}");
    assert!(!text.contains("bytes"), "{text}");
}

#[test]
fn text() {
    let place = Place::with_trace(&sample::trace());
    insta::assert_snapshot!(place.all("hotspots run.hst --metric count").1);
}
