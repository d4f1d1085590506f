//! What only all events together say: the peak, the heap over time, findings.

use heapscribe_analyze::answer::{Amount, Answer, SizeClass};
use heapscribe_analyze::snapshot::{self, Snapshot};
use heapscribe_convert::Opened;
use heapscribe_convert::profile_sums::Sums;
use heapscribe_symbols::{NamedStacks, Resolver, Unnamed};
use heapscribe_views::losses::causes;
use heapscribe_views::text::early_times;
use heapscribe_views::text::live::live_bounds;
use heapscribe_views::text::losses;
use heapscribe_views::text::profile::unknown;
use heapscribe_views::text::ring;

use super::findings::{FindingRow, LongLivedRow, findings, long_lived};

/// The whole recording, explained.
pub(super) struct Analysis {
    pub(super) answer: Answer,
    /// Whether it is of a moment: what is live is what was never freed.
    pub(super) is_snapshot: bool,
    /// Whether it is known of a moment what had been allocated until then.
    pub(super) has_allocated: bool,
    /// Whether anything is known of who held or allocated what.
    pub(super) has_stacks: bool,
    pub(super) sizes: Vec<SizeClass>,
    pub(super) findings: Vec<FindingRow>,
    /// What lives long and is large, where that is known.
    pub(super) long_lived: Option<LongLivedRow>,
    /// What has to be known to read the figures, in sentences.
    pub(super) caveats: Vec<String>,
    /// Which files have no names, in sentences.
    pub(super) notes: Vec<String>,
}

impl Analysis {
    /// Reads all events.
    pub(super) fn of(trace: &Opened, shown: &str, resolver: &Resolver) -> Analysis {
        if let Some(sums) = &trace.profile {
            return Analysis::of_profile(sums);
        }
        let first = || snapshot::analyze(&**trace).into_iter().next();
        match snapshot::is_one(&**trace).then(first).flatten() {
            Some(snapshot) => Analysis::of_snapshot(&snapshot),
            None => Analysis::of_events(trace, shown, resolver),
        }
    }

    /// What was held when the heap was largest stands for what is live, where nothing else is known.
    fn of_profile(sums: &Sums) -> Analysis {
        let (mut answer, known) = (sums.answer.clone(), &sums.about.known);
        if !known.live.bytes && known.at_peak.is_any() {
            answer.stacks.iter_mut().for_each(|stack| stack.leaked = stack.at_peak);
            answer.leaked = Amount { blocks: answer.peak.blocks, bytes: answer.peak.bytes };
        }
        let estimated = "Blocks were sampled: all figures are estimates.".to_owned();
        let missing: Vec<_> = unknown(sums).iter().map(|what| in_a_sentence(what)).collect();
        let missing = format!("This file does not say: {}.", missing.join("; "));
        let mut caveats = caveats(&answer);
        caveats.extend(sums.is_estimated().then_some(estimated));
        caveats.push(missing);
        Analysis {
            is_snapshot: true,
            has_allocated: known.allocated.is_any(),
            has_stacks: known.is_any(),
            sizes: Vec::new(),
            findings: Vec::new(),
            long_lived: None,
            caveats,
            notes: Vec::new(),
            answer,
        }
    }

    fn of_snapshot(snapshot: &Snapshot) -> Analysis {
        let answer = snapshot.to_answer();
        let open = live_bounds(snapshot).filter(|_| snapshot.is_cut()).map(|live| format!("In all, {live}."));
        Analysis {
            is_snapshot: true,
            has_allocated: false,
            has_stacks: true,
            sizes: snapshot.sizes.clone(),
            findings: Vec::new(),
            long_lived: None,
            // Of the process nothing else is to be seen.
            caveats: caveats(&Answer { complete: true, ..answer.clone() }).into_iter().chain(open).collect(),
            notes: Vec::new(),
            answer,
        }
    }

    fn of_events(trace: &Opened, shown: &str, resolver: &Resolver) -> Analysis {
        let answer = trace.analyze();
        let names = NamedStacks::look_up(&answer.tree, answer.stacks.iter().map(|of| of.node), resolver);
        let findings = findings(&answer, &names, shown);
        let long_lived = long_lived(&answer, &names);
        let notes = notes(&names.unnamed());
        let nothing = losses::nothing(&answer).map(|why| format!("{}.", one_line(&why)));
        Analysis {
            is_snapshot: false,
            has_allocated: true,
            has_stacks: true,
            sizes: answer.sizes.clone(),
            findings,
            long_lived,
            caveats: nothing.into_iter().chain(caveats(&answer)).collect(),
            notes,
            answer,
        }
    }
}

/// What may make figures wrong.
fn caveats(answer: &Answer) -> Vec<String> {
    let mut caveats: Vec<String> = answer.problems.iter().map(|problem| format!("{problem}.")).collect();
    caveats.extend(ring::caveat(answer));
    let causes = causes(answer);
    if !causes.is_empty() {
        caveats.push(format!("Figures may be too low or too high: {}.", causes.join("; ")));
    }
    if answer.sampling.is_some() {
        caveats.push("Blocks were sampled: all figures are estimates.".to_owned());
    }
    if !answer.complete {
        let why =
            "Not every process was seen to its end: what was never freed here may have been freed later.";
        caveats.push(why.to_owned());
    }
    caveats.extend(early_times::sentence(answer.early_times));
    if answer.counts_calls {
        caveats.push("Nothing is known of times: a nanosecond stands for a call.".to_owned());
    }
    caveats
}

/// Where names are missing.
fn notes(unnamed: &[Unnamed]) -> Vec<String> {
    let mut text = Vec::new();
    let _ = losses::names(&mut text, unnamed); // a Vec takes all
    String::from_utf8_lossy(&text).lines().map(one_line).collect()
}

/// What begins a line, within one.
fn in_a_sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Without the line breaks and the indent of a report.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use heapscribe_formats::Evicted;

    use super::*;

    #[test]
    fn a_ring_says_that_it_is_one() {
        let evicted = Evicted { chunks: 1, events: 5, ..Evicted::default() };
        let ring = Answer { evicted, complete: true, ..Answer::default() };
        assert!(caveats(&ring)[0].starts_with("This is a ring: "), "{:?}", caveats(&ring));
        assert_eq!(caveats(&Answer { complete: true, ..Answer::default() }), [""; 0]);
    }
}
