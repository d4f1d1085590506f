//! A trace compared with an older one: no figure of all processes together may have grown by more than the
//! tolerance. The evidence against a rule is the stacks that grew most, by the names of their functions.
//!
//! Of samples both sides are estimates; a rule is broken when the growth is beyond the tolerance by more than
//! samples differ by chance, and holds when even chance does not explain so little.

use heapscribe_analyze::answer::Answer;
use heapscribe_analyze::diff::{Change, Diff};
use heapscribe_analyze::estimate::Figure;
use heapscribe_analyze::gathered::Gathered;
use heapscribe_analyze::measure::Measure;

use super::judge::{self, Doubt};
use super::rule::Rule;
use super::suppress::{Kind, Suppressions};
use super::unit::Unit;
use super::verdict::{Culprit, Evidence, Finding, Verdict};
use crate::losses;
use crate::open_end::OpenEnd;
use heapscribe_symbols::NamedStacks;

/// 95 % of a normal distribution lie within this many standard deviations.
const Z: f64 = 1.96;

/// Judges a rule by the growth of its measure. Culprits get their stacks in `gathered`, at most `top` of them.
pub fn grew(
    rule: &Rule,
    diff: &Diff,
    answers: &[Answer; 2],
    gaps: &[String],
    top: usize,
    gathered: &mut Gathered,
) -> Option<Finding> {
    let Rule::Grew(measure, tolerance) = *rule else { return None };
    let [was, is] = [&diff.whole.before, &diff.whole.after];
    let value = |amount| measure.figure(amount) as f64;
    let limit = value(was.amount) * (1.0 + tolerance);
    let unit = if measure.counts_blocks() { Unit::Blocks } else { Unit::Bytes };
    // The uncertainty of both sides on one of them, so that it can be held against the other.
    let ranges = [
        range(measure, &answers[0], value(was.amount), was.variance),
        range(measure, &answers[1], value(is.amount), is.variance),
    ];
    let mut figure = held_against(ranges, tolerance);
    let mut all_gaps = gaps.to_vec();
    let open = answers.iter().filter(|_| measure == Measure::Leaked).find_map(OpenEnd::of_any);
    all_gaps.extend(open.map(|open| open.gap().to_owned()));
    let is_least = all_gaps.len() == 1 && measure != Measure::Temporary && only_the_new_was_off(answers);
    if is_least {
        figure.high = f64::INFINITY;
    }
    let is_bounded = is_least && answers[1].sampling.is_none();
    let doubt = if is_bounded { Doubt::Losses(&[]) } else { Doubt::Samples };
    let (verdict, mut why) = judge::decide(&figure, limit, &all_gaps, doubt, is_least, unit);
    why.push(format!("it was {}", unit.shown(measure.figure(was.amount) as f64)));
    let grew = if verdict == Verdict::Holds { &[] } else { diff.grew() };
    let culprit = |change: &Change| Culprit {
        stack: gathered.stack(&answers[1].tree, change.after.node.unwrap_or_default()),
        what: Evidence::Grew(change.growth, change.after.amount),
        is_estimated: change.before.variance + change.after.variance > 0.0,
    };
    let culprits: Vec<_> = grew.iter().take(top).map(culprit).collect();
    let more = grew.len() - culprits.len();
    Some(Finding {
        rule: rule.clone(),
        process: None,
        verdict,
        found: Some(figure),
        is_bounded,
        limit,
        unit,
        why,
        culprits,
        more,
        reasons: Vec::new(),
    })
}

/// Whether all that is missing is what the new program did while its recording was off: then it did at least what was
/// recorded, which is followed to its end.
fn only_the_new_was_off([was, is]: &[Answer; 2]) -> bool {
    let off = losses::Missing::of(is).off();
    losses::causes(was).is_empty() && off.is_some() && losses::causes(is).len() == 1
}

/// In what range the truth of a side lies. The highest of many estimates is not off by as much either way.
fn range(measure: Measure, answer: &Answer, value: f64, variance: f64) -> Figure {
    let error = Z * variance.sqrt();
    match (&answer.sampling, measure) {
        (Some(sampling), Measure::Peak) => sampling.peak.bytes,
        // 27,000 leaked bytes of which none was sampled: "0 bytes, limit 0 bytes", which held.
        (Some(sampling), _) if value == 0.0 && sampling.has_estimates() => {
            Figure { value, variance, low: 0.0, high: sampling.unseen_below_bytes() as f64 }
        }
        _ => Figure { value, variance, low: (value - error).max(0.0), high: value + error },
    }
}

/// The second side with the uncertainty of both, a growth by `tolerance` allowed: distances to the ends of ranges add
/// up like standard errors.
fn held_against([was, is]: [Figure; 2], tolerance: f64) -> Figure {
    let distance = |of_is: f64, of_was: f64| of_is.hypot(of_was * (1.0 + tolerance));
    let below = distance(is.value - is.low, was.high - was.value);
    let above = distance(is.high - is.value, was.value - was.low);
    Figure { low: (is.value - below).max(0.0), high: is.value + above, ..is }
}

/// Why two traces cannot be compared for good.
pub fn gaps(answers: &[Answer; 2], names: [&str; 2]) -> Vec<String> {
    let of = |(answer, name): (&Answer, &str)| {
        let causes = losses::causes(answer);
        let mut gaps = Vec::new();
        if answer.processes.is_empty() {
            gaps.push(format!("{name} has no matching process"));
        }
        if !causes.is_empty() {
            gaps.push(format!("{name}: {}", causes.join("; ")));
        } else if let Some(problem) = answer.problems.first() {
            gaps.push(format!("{name}: {problem}"));
        }
        if answer.processes.iter().any(|process| process.evicted.is_of_ring()) {
            gaps.push(format!("{name} is a ring and does not have all events"));
        }
        gaps
    };
    answers.iter().zip(names).flat_map(of).collect()
}

/// Removes suppressed leaks from an answer.
pub fn let_stay(answer: &mut Answer, names: &NamedStacks<'_>, suppressions: &Suppressions) {
    if !suppressions.has(Kind::Leak) {
        return;
    }
    for (n, stack) in answer.stacks.iter_mut().enumerate() {
        let is_leak = stack.leaked.blocks > 0;
        if is_leak && suppressions.find(Kind::Leak, &names.frames(stack.node)).is_some() {
            stack.leaked = Default::default();
            if let Some(of) = answer.sampling.as_mut().and_then(|sampling| sampling.stacks.get_mut(n)) {
                of.leaked = Default::default();
            }
        }
    }
}
