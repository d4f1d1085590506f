//! All findings of an answer, described.

use std::collections::BTreeSet;

use heapscribe_analyze::answer::{Answer, NodeId};
use heapscribe_analyze::findings::{Culprit, Finding, Kind, Owners, find};
use heapscribe_symbols::NamedStacks;

use super::remedy::remedy;
use super::summary::{Facts, leak_bounds, summary};
use super::who::Who;
use crate::own::{Folded, OwnCallers};
use crate::runtime;

/// Frames that are enough to know which library a block is of.
const INNERMOST: usize = 64;

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
    let left = answer.stacks.iter().filter(|stack| stack.leaked.blocks > 0).map(|stack| stack.node);
    let is_runtimes = |node: &NodeId| runtime::purpose(&names.innermost(*node, INNERMOST)).is_some();
    let mut own = OwnCallers::folding(names, folded);
    with(answer, names, trace, &mut own, left.filter(is_runtimes).collect())
}

/// The same, where other blocks may be left at the end than those of runtime libraries.
pub fn describe_but(
    answer: &Answer,
    names: &NamedStacks<'_>,
    trace: &str,
    accepted: &BTreeSet<NodeId>,
) -> Vec<Described> {
    with(answer, names, trace, &mut OwnCallers::folding(names, &Folded::default()), accepted.clone())
}

fn with(
    answer: &Answer,
    names: &NamedStacks<'_>,
    trace: &str,
    own: &mut OwnCallers<'_>,
    may_stay: BTreeSet<NodeId>,
) -> Vec<Described> {
    let owners = Owners { of_runtime: may_stay, ..owners(answer, own) };
    let findings = find(answer, &owners);
    findings.into_iter().map(|finding| described(finding, answer, names, trace, own)).collect()
}

fn described(
    finding: Finding,
    answer: &Answer,
    names: &NamedStacks<'_>,
    trace: &str,
    own: &mut OwnCallers<'_>,
) -> Described {
    let culprits: Vec<(Culprit, Who)> =
        finding.culprits.iter().map(|culprit| (*culprit, Who::of(culprit.node, own, names))).collect();
    let first = culprits.first().map_or_else(|| "the program".to_owned(), |(_, who)| who.in_sentence());
    let other = |node: NodeId, own: &mut OwnCallers<'_>| Who::of(node, own, names).in_sentence();
    let facts = Facts { answer, who: &first };
    let sentence = summary(&finding, &facts, |node| other(node, own));
    let remedy = remedy(&finding, &facts, trace);
    Described { summary: format!("{sentence}{}.", losses(&finding, answer)), remedy, culprits, finding }
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
    let causes = crate::losses::causes(answer);
    let is_ring = answer.evicted.is_of_ring();
    let has_bounds = finding.kind == Kind::Leak && leak_bounds(answer).is_some();
    match (causes.is_empty(), is_ring) {
        (true, false) => String::new(),
        (true, true) => "; this is of what the ring still has".to_owned(),
        (false, _) if has_bounds => format!("; {}", causes.join(", ")),
        (false, _) => format!("; {}, so this is of what was recorded", causes.join(", ")),
    }
}
