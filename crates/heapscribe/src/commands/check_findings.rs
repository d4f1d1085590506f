//! Rules of `check` that forbid findings: looks for findings as `report` does, in all processes that are checked together.

use std::collections::BTreeSet;

use heapscribe_analyze::answer::{Answer, NodeId};
use heapscribe_analyze::estimate::Sampling;
use heapscribe_analyze::gathered::Gathered;
use heapscribe_symbols::{NamedStacks, Resolver};
use heapscribe_views::check::no_findings::Judged;
use heapscribe_views::check::rule::Rule;
use heapscribe_views::check::suppress::{Kind, Suppressions};
use heapscribe_views::check::{Checked, Culprit, Evidence, Finding, Reason};
use heapscribe_views::text::findings::{Described, describe_but};

/// The outcome of each rule that forbids findings. Suppressed leaks are none; they are counted as suppressed only where
/// no other rule does that.
pub(super) fn judged(
    rules: &[Rule],
    answer: impl FnOnce() -> Answer,
    gaps: &[String],
    top: usize,
    (checked, counts_leaks): (&mut Checked, bool),
    resolver: &Resolver,
) -> Vec<Finding> {
    if !rules.iter().any(|rule| matches!(rule, Rule::NoFindings(_))) {
        return Vec::new();
    }
    let answer = answer();
    let names = NamedStacks::look_up(&answer.tree, answer.stacks.iter().map(|stack| stack.node), resolver);
    let accepted = accepted(&answer, &names, &mut checked.suppressions, counts_leaks);
    let described = describe_but(&answer, &names, &checked.trace, &accepted);
    let seen: Vec<Reason> =
        described.into_iter().map(|one| reason(one, &answer, &mut checked.gathered)).collect();
    let judged = Judged { answer: &answer, seen: &seen, has_times: checked.has_times, gaps };
    let of_rule = |rule: &Rule| match rule {
        Rule::NoFindings(unwanted) => Some(judged.judge(rule, *unwanted, top)),
        _ => None,
    };
    rules.iter().filter_map(of_rule).collect()
}

/// With its stack among those of other rules.
fn reason(one: Described, answer: &Answer, gathered: &mut Gathered) -> Reason {
    let culprit = one.culprits.first().map(|(culprit, _)| Culprit {
        stack: gathered.stack(&answer.tree, culprit.node),
        what: Evidence::Blocks(culprit.amount),
        is_estimated: answer.sampling.as_ref().is_some_and(Sampling::has_estimates),
    });
    Reason { finding: one.finding, summary: one.summary, remedy: one.remedy, culprit }
}

/// Stacks whose blocks may be left at the end.
fn accepted(
    answer: &Answer,
    names: &NamedStacks<'_>,
    suppressions: &mut Suppressions,
    counts: bool,
) -> BTreeSet<NodeId> {
    let mut accepted = BTreeSet::new();
    for stack in answer.stacks.iter().filter(|stack| stack.leaked.blocks > 0) {
        let Some(by) = suppressions.find(Kind::Leak, &names.frames(stack.node)) else { continue };
        accepted.insert(stack.node);
        if counts {
            suppressions.used(by, stack.leaked);
        }
    }
    accepted
}
