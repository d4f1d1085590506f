//! Rules that forbid findings. What was found breaks them. That nothing was found proves something only where the
//! recording has all that findings are made of: no event is missing, and samples are not too coarse.

use heapscribe_analyze::answer::Answer;
use heapscribe_analyze::estimate::Figure;
use heapscribe_analyze::findings::{Evidence, Kind};

use super::rule::Rule;
use super::unit::Unit;
use super::unwanted::Unwanted;
use super::verdict::{Culprit, Finding, Reason, Verdict};
use crate::losses;
use crate::open_end::OpenEnd;

/// What findings are judged by.
pub struct Judged<'a> {
    /// The answer that they are of.
    pub answer: &'a Answer,
    /// All that was found.
    pub seen: &'a [Reason],
    /// Whether the recording has times.
    pub has_times: bool,
    /// What is missing from it, in words.
    pub gaps: &'a [String],
}

impl Judged<'_> {
    /// Judges a rule; shows so many stacks at most.
    pub fn judge(&self, rule: &Rule, unwanted: Unwanted, top: usize) -> Finding {
        let is_forbidden = |seen: &&Reason| unwanted.forbids(&seen.finding);
        let reasons: Vec<Reason> = self.seen.iter().filter(is_forbidden).cloned().collect();
        let gaps = self.gaps_of(unwanted);
        let verdict = match reasons.iter().any(|reason| self.is_certain(reason)) {
            true => Verdict::Broken,
            false if reasons.is_empty() && gaps.is_empty() => Verdict::Holds,
            false => Verdict::Undecided,
        };
        let culprits: Vec<Culprit> = reasons.iter().filter_map(|reason| reason.culprit).collect();
        let count = reasons.len() as f64;
        Finding {
            rule: rule.clone(),
            process: None,
            verdict,
            found: (verdict != Verdict::Undecided).then_some(Figure {
                value: count,
                variance: 0.0,
                low: count,
                high: count,
            }),
            is_bounded: false,
            limit: 0.0,
            unit: Unit::Findings,
            why: gaps,
            more: culprits.len().saturating_sub(top),
            culprits: culprits.into_iter().take(top).collect(),
            reasons,
        }
    }

    /// A leak beside missing events may have been freed unseen, what a signal killed is not seen to leak, and what grows
    /// to the end of an unfinished trace is not seen to be never freed. Of other kinds nothing is found that may be so.
    fn is_certain(&self, one: &Reason) -> bool {
        let least = self.answer.bounds.as_ref().map(|bounds| bounds.leaked.bytes.low);
        match one.finding.evidence {
            Evidence::Leak { killed_by, .. } => killed_by.is_none() && least != Some(0),
            // What a trace that was cut has live may be freed in the next instant.
            Evidence::Growth { .. } => OpenEnd::of_any(self.answer).is_none(),
            _ => true,
        }
    }

    /// Why it proves nothing that there is no such finding.
    fn gaps_of(&self, unwanted: Unwanted) -> Vec<String> {
        let Judged { answer, seen, .. } = self;
        let mut gaps = self.gaps.to_vec();
        gaps.extend(losses::causes(answer));
        if answer.processes.is_empty() {
            gaps.push("no matching process was recorded".to_owned());
        }
        if answer.evicted.is_of_ring() {
            gaps.push("a ring does not have all events".to_owned());
        }
        gaps.extend(unwanted.gaps(answer, self.has_times));
        let too_coarse = seen.iter().find(|one| one.finding.kind == Kind::Sampling);
        gaps.extend(too_coarse.map(|one| one.summary.trim_end_matches('.').to_owned()));
        gaps
    }
}
