//! `hotspots` of a memtrace file against memtrace's definition, summed here over the dump of memtrace's own reader.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use super::run::{run, unpack};

const LIMIT: Duration = Duration::from_secs(120);
/// Frames without a name that are taken for their callers.
const NAMELESS_MAX: usize = 2;

/// The parts of the whole that are shown, in percent of one digit: function, caller, part.
type Shown = Vec<(String, String, String)>;

pub(super) fn check(program: &Path, trace: &Path, dump: &Path) -> Result<(), String> {
    let text = String::from_utf8_lossy(&unpack("gzip", dump)?).into_owned();
    let expected = expected(&text);
    let trace = trace.to_str().ok_or("a path that is no text")?;
    let ran = run(program, &["hotspots", "--top", "99999", "--callers", "99999", trace], LIMIT)?;
    let ours = shown(&String::from_utf8_lossy(&ran.stdout));
    match expected.iter().zip(&ours).find(|(a, b)| a != b) {
        Some((expected, ours)) => Err(format!("{ours:?}, should be {expected:?}")),
        None if expected.len() != ours.len() => {
            Err(format!("{} lines, should be {}", ours.len(), expected.len()))
        }
        None => Ok(()),
    }
}

/// A frame's function with its file, so that equal names are different functions; none without a name.
fn function(frame: &str) -> Option<(&str, &str)> {
    let (name, place) = frame.rsplit_once('@')?;
    Some((name, place.rsplitn(3, ':').last()?))
}

fn expected(dump: &str) -> Shown {
    let mut stacks: BTreeMap<&str, u64> = BTreeMap::new();
    for line in
        dump.lines().filter(|line| line.split(' ').nth(2).is_some_and(|word| word.starts_with("alloc")))
    {
        let (head, stack) = line.split_once(": ").unwrap_or((line, ""));
        let samples: u64 = head.split(' ').nth(3).and_then(|n| n.parse().ok()).unwrap_or(0);
        *stacks.entry(stack).or_default() += samples;
    }
    let (mut direct, mut below, mut pairs) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (stack, samples) in &stacks {
        let frames: Vec<_> = stack.split_whitespace().collect();
        let near = frames.iter().rev().take(NAMELESS_MAX + 1).find_map(|frame| function(frame));
        let own = near.unwrap_or((frames.last().copied().unwrap_or("[unknown stack]"), ""));
        *direct.entry(own).or_insert(0) += samples;
        for caller in frames.iter().filter_map(|frame| function(frame)).collect::<BTreeSet<_>>() {
            *below.entry(caller).or_insert(0) += samples;
            if caller != own {
                *pairs.entry((own, caller)).or_insert(0) += samples;
            }
        }
    }
    let whole: u64 = stacks.values().sum();
    let is_heavy = |weight: u64| weight * 200 > whole;
    let part = |weight: u64| format!("{:.1}", weight as f64 * 100.0 / whole as f64);
    let mut shown: Shown = Vec::new();
    for (own, weight) in direct.iter().filter(|(_, weight)| is_heavy(**weight)) {
        shown.push((own.0.trim_start_matches('$').to_owned(), String::new(), part(*weight)));
        for ((_, caller), of_pair) in pairs.iter().filter(|((of, _), pair)| of == own && is_heavy(**pair)) {
            let of_caller = *of_pair as f64 / below[caller] as f64;
            if of_caller > 0.1 && of_caller > 1.2 * (*weight as f64 / whole as f64) {
                shown.push((own.0.to_owned(), caller.0.to_owned(), part(*of_pair)));
            }
        }
    }
    shown.sort();
    shown
}

fn shown(text: &str) -> Shown {
    let (mut shown, mut own) = (Shown::new(), String::new());
    for line in text.lines().skip(1) {
        let Some((part, rest)) = line.trim_start().split_once(" %  ") else { continue };
        // Not of memtrace's definition.
        if rest.contains(" called by ") {
            continue;
        }
        let caller =
            rest.split_once(" through ").and_then(|(_, rest)| rest.rsplit_once(", ")).map(|(name, _)| name);
        // One of two with the same name has its file, too.
        let caller = caller.map(|name| name.rsplit_once(" (").map_or(name, |(name, _)| name));
        if caller.is_none() {
            let name = rest.split_once(" in ").map_or(rest, |(_, name)| name);
            own = name.rsplit_once(" (").map_or(name, |(name, _)| name).to_owned();
        }
        shown.push((own.clone(), caller.unwrap_or_default().to_owned(), part.to_owned()));
    }
    shown.sort();
    shown
}
