//! `section`: memory that one section of the program holds: blocks of stacks that allocated inside of it and nowhere
//! else, at the peak and at the end.

use std::collections::BTreeMap;

use super::finding::{Evidence, Finding, Kind};
use super::judge;
use super::limits::{SECTION_BYTES, SECTION_PERCENT};
use super::owners::{Owners, culprits};
use crate::answer::{Amount, Answer, NodeId, Section, Stack};

/// Looks for them.
pub(super) fn find(answer: &Answer, owners: &Owners) -> Vec<Finding> {
    let sections = answer.sections.iter().enumerate();
    sections.filter_map(|(number, section)| finding(answer, owners, number, section)).collect()
}

fn finding(answer: &Answer, owners: &Owners, number: usize, section: &Section) -> Option<Finding> {
    let inside: BTreeMap<NodeId, Amount> = section.stacks.iter().map(|of| (of.node, of.held)).collect();
    let is_only_here = |stack: &Stack| inside.get(&stack.node) == Some(&stack.allocated);
    let held = |stack: &Stack, of: Amount| if is_only_here(stack) { of } else { Amount::default() };
    let ranked = owners.ranked(answer, |stack| {
        let (at_peak, left) = (held(stack, stack.at_peak), held(stack, stack.leaked));
        if left.bytes > at_peak.bytes { left } else { at_peak }
    });
    let (mut at_peak, mut left) = (Amount::default(), Amount::default());
    for (stack, _) in ranked.iter().flat_map(|owned| &owned.stacks) {
        at_peak.add(&stack.at_peak);
        left.add(&stack.leaked);
    }
    if !is_much_of_one(at_peak.bytes, answer.peak.bytes) && !is_much_of_one(left.bytes, answer.leaked.bytes) {
        return None;
    }
    if judge::may_be_freed_by_any(at_peak.bytes.max(left.bytes), answer) {
        return None;
    }
    let (culprits, more) = culprits(&ranked);
    Some(Finding {
        kind: Kind::Section,
        severity: judge::of_bytes(at_peak.bytes.max(left.bytes), answer).less(),
        confidence: judge::confidence(answer),
        evidence: Evidence::Section { section: number, at_peak, left },
        culprits,
        more,
    })
}

/// Whether one section, or one message, holds much of all that is held.
pub fn is_much_of_one(bytes: u64, whole: u64) -> bool {
    bytes >= SECTION_BYTES && judge::is_part(bytes, SECTION_PERCENT, whole)
}
