//! All findings of an answer, described.

use std::collections::BTreeSet;

use heapscribe_analyze::answer::{Answer, Bounds, NodeId, Stack};
use heapscribe_analyze::findings::{Culprit, Finding, Kind, Owners, find};
use heapscribe_symbols::NamedStacks;

use super::remedy::remedy;
use super::summary::{Facts, leak_bounds, summary};
use super::who::{Who, through_most};
use crate::own::{Folded, Merged, OwnCallers};
use crate::runtime;
use crate::text::functions::Functions;

/// Why blocks may stay until the end, in reports and where suppressions accept them.
const KEPT: &str = "that runtime libraries keep on purpose";
const SUPPRESSED: &str = "that suppressions accept";

/// A finding in words.
#[derive(Clone, PartialEq, Debug)]
pub struct Described {
    /// The finding itself.
    pub finding: Finding,
    /// One sentence with its figures.
    pub summary: String,
    /// Whom it is about, the worst first.
    pub culprits: Vec<(Culprit, Who)>,
    /// What to do next.
    pub remedy: String,
}

/// Looks for all findings of an answer, of which all stacks have names.
pub fn describe(answer: &Answer, names: &NamedStacks<'_>, trace: &str, folded: &Folded) -> Vec<Described> {
    let mut own = OwnCallers::folding(names, folded);
    with(answer, names, trace, &mut own, (kept_on_purpose(answer.stacks.iter(), names), KEPT))
}

/// Those of some stacks whose blocks a runtime library keeps until a process ends.
pub(super) fn kept_on_purpose<'a>(
    stacks: impl Iterator<Item = &'a Stack>,
    names: &NamedStacks<'_>,
) -> BTreeSet<NodeId> {
    runtime::Purposes::new(names).kept(stacks).map(|(stack, _)| stack.node).collect()
}

/// The same, where other blocks may be left at the end than those of runtime libraries.
pub fn describe_but(
    answer: &Answer,
    names: &NamedStacks<'_>,
    trace: &str,
    accepted: &BTreeSet<NodeId>,
) -> Vec<Described> {
    let mut own = OwnCallers::folding(names, &Folded::default());
    with(answer, names, trace, &mut own, (accepted.clone(), SUPPRESSED))
}

fn with(
    answer: &Answer,
    names: &NamedStacks<'_>,
    trace: &str,
    own: &mut OwnCallers<'_>,
    (may_stay, why): (BTreeSet<NodeId>, &'static str),
) -> Vec<Described> {
    let owners = Owners { of_runtime: may_stay, ..owners(answer, own) };
    let findings = find(answer, &owners);
    findings.into_iter().map(|finding| described(finding, answer, names, (trace, why), own)).collect()
}

fn described(
    finding: Finding,
    answer: &Answer,
    names: &NamedStacks<'_>,
    (trace, accepted): (&str, &str),
    own: &mut OwnCallers<'_>,
) -> Described {
    let leaks = if finding.kind == Kind::Leak { leaks(answer, own) } else { Vec::new() };
    let mut functions = Functions::new(names);
    let who = |culprit: &Culprit| {
        let of = leaks.iter().find(|of| of.parts.iter().any(|(node, _)| *node == culprit.node));
        let most = of.and_then(|of| through_most(of, own, &mut functions)).unwrap_or(culprit.node);
        (Culprit { node: most, ..*culprit }, Who::of(most, own, names))
    };
    let culprits: Vec<(Culprit, Who)> = finding.culprits.iter().map(who).collect();
    let first = culprits.first().map_or_else(|| "the program".to_owned(), |(_, who)| who.in_sentence());
    let other = |node: NodeId, own: &mut OwnCallers<'_>| Who::of(node, own, names).in_sentence();
    let facts = Facts { answer, who: &first, accepted };
    let sentence = summary(&finding, &facts, |node| other(node, own));
    let remedy = remedy(&finding, &facts, trace);
    Described { summary: format!("{sentence}{}.", losses(&finding, answer)), remedy, culprits, finding }
}

/// Stacks of what was never freed, by their own callers.
fn leaks(answer: &Answer, own: &mut OwnCallers<'_>) -> Vec<Merged> {
    let left = answer.stacks.iter().filter(|stack| stack.leaked.blocks > 0);
    own.merge(left.map(|stack| (stack.node, stack.leaked.bytes)))
}

/// Which stacks have the same own caller.
fn owners(answer: &Answer, own: &mut OwnCallers<'_>) -> Owners {
    let mut owners = Owners::default();
    let all = answer.stacks.iter().map(|stack| (stack.node, stack.allocated.bytes));
    for (number, merged) in (0..).zip(own.merge(all)) {
        owners.of.extend(merged.parts.iter().map(|(node, _)| (*node, number)));
    }
    owners
}

/// What is to be said beside every figure when events are missing. Bounds need only the reason.
fn losses(finding: &Finding, answer: &Answer) -> String {
    let causes = crate::losses::Missing::of(answer).causes_briefly();
    let is_ring = answer.evicted.is_of_ring();
    let is_leak = finding.kind == Kind::Leak;
    let has_bounds = is_leak && leak_bounds(answer).is_some();
    let is_part = is_ring || !answer.evicted.is_counted();
    match (causes.is_empty(), is_ring) {
        _ if is_leak && is_part && is_whole(answer) => "; this is of the whole run".to_owned(),
        (true, false) => String::new(),
        (true, true) => "; this is of what the ring still has".to_owned(),
        (false, _) if has_bounds => format!("; {}", causes.join(", ")),
        (false, _) => format!("; {}, so this is of what was recorded", causes.join(", ")),
    }
}

/// Whether all that was never freed is known, whatever of the events before is missing: blocks that are live at the end
/// are in the trace however old they are.
fn is_whole(answer: &Answer) -> bool {
    let is_evicted = answer.leaked_by_evicted.blocks > 0;
    let leaked = answer.bounds.as_ref().map(|bounds| &bounds.leaked);
    !is_evicted && leaked.is_some_and(Bounds::is_exact)
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::{Amount, Exit, FigureBounds, Peak, Range};
    use heapscribe_analyze::findings::{Evidence, Level, There};
    use heapscribe_formats::Evicted;

    use super::*;

    fn leak(on_purpose: Amount) -> Finding {
        let left = Amount { blocks: 3, bytes: 4096 };
        Finding {
            kind: Kind::Leak,
            severity: Level::Medium,
            confidence: Level::Medium,
            evidence: Evidence::Leak { left, on_purpose, owners: 1, oldest_ns: None, killed_by: None },
            culprits: vec![Culprit { node: NodeId(1), stacks: 1, amount: left }],
            more: 0,
        }
    }

    fn words(finding: &Finding, answer: &Answer) -> String {
        let facts = Facts { answer, who: "main", accepted: KEPT };
        summary(finding, &facts, |_| "cache_new".to_owned()) + &losses(finding, answer)
    }

    #[test]
    fn what_was_never_freed_is_of_the_whole_run_where_it_is_known() {
        let evicted = Evicted { chunks: 1, events: 5, ..Evicted::default() };
        let mut ring = Answer { evicted, bounds: Some(FigureBounds::default()), ..Answer::default() };
        let leak = leak(Amount::default());
        assert_eq!(losses(&leak, &ring), "; this is of the whole run");
        let growth = Finding { kind: Kind::Growth, ..leak.clone() };
        assert_eq!(losses(&growth, &ring), "; this is of what the ring still has");
        // The rest of a recording, which nobody counted the events of before.
        ring.evicted.events = 0;
        assert_eq!(losses(&leak, &ring), "; this is of the whole run");
        ring.leaked_by_evicted.blocks = 1;
        assert_ne!(losses(&leak, &ring), "; this is of the whole run");
        ring.leaked_by_evicted.blocks = 0;
        ring.bounds.as_mut().unwrap().leaked.bytes = Range { low: 0, high: None };
        assert_ne!(losses(&leak, &ring), "; this is of the whole run");
    }

    #[test]
    fn a_leak_says_what_it_leaves_out() {
        let answer = Answer { exit: Some(Exit::Code(0)), ..Answer::default() };
        assert_eq!(
            words(&leak(Amount { blocks: 2, bytes: 72_704 }), &answer),
            "Never freed: 4.00 KiB in 3 blocks, besides 71.0 KiB in 2 blocks that runtime libraries keep on purpose; \
             main asked for all"
        );
        assert_eq!(
            words(&leak(Amount::default()), &answer),
            "Never freed: 4.00 KiB in 3 blocks, all of it asked for by main"
        );
    }

    #[test]
    fn a_burst_says_what_others_held() {
        let burst = |before_bytes, at_peak_bytes| Finding {
            kind: Kind::Burst,
            evidence: Evidence::Burst {
                rose_bytes: 4096,
                within_ns: 5,
                peak_bytes: 8192,
                there_bytes: 4096,
                there: Some(There { node: NodeId(2), before_bytes, at_peak_bytes }),
            },
            ..leak(Amount::default())
        };
        let answer = Answer { peak: Peak { bytes: 8192, ..Peak::default() }, ..Answer::default() };
        let still = words(&burst(2048, 3072), &answer);
        assert!(still.ends_with("main; cache_new held 2.00 KiB before and still does"), "{still}");
        let less = words(&burst(2048, 1024), &answer);
        assert!(less.ends_with("main; cache_new held 2.00 KiB before, and then 1.00 KiB"), "{less}");
    }
}
