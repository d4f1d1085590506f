//! `heapscribe check --json`: everything that the text has, with whole stacks.

use heapscribe_analyze::estimate::Figure;
use serde_json::{Value, json};

use super::annotations::KindsJson;
use super::parts::{BlocksJson, FrameJson};
use crate::check::rule::Rule;
use crate::check::suppress::Suppression;
use crate::check::unit::Unit;
use crate::check::{Checked, Culprit, Evidence, Finding, Reason};
use heapscribe_symbols::NamedStacks;

/// Changes when a key changes its name or meaning.
const FORMAT: u32 = 1;

/// The whole object.
pub fn object(checked: &Checked, names: &NamedStacks<'_>) -> Value {
    let unused = checked.suppressions.all.iter().filter(|one| one.stacks == 0).count();
    let (runtime, purposes) = checked.suppressions.of_runtime();
    json!({
        "format": FORMAT,
        "trace": checked.trace,
        "verdict": checked.verdict().name(),
        "rules": checked.findings.iter().map(|of| finding(checked, of, names)).collect::<Vec<_>>(),
        "suppressions": checked.suppressions.all.iter().map(suppression).collect::<Vec<_>>(),
        "unused_suppressions": unused,
        "runtime": { "stacks": runtime.stacks, "suppressed": BlocksJson::from(runtime.amount), "for": purposes },
        "problems": checked.problems,
    })
}

fn finding(checked: &Checked, finding: &Finding, names: &NamedStacks<'_>) -> Value {
    let process = finding.process.and_then(|n| checked.processes.get(n));
    let of_culprit = |culprit: &Culprit| self::culprit(checked, finding, culprit, names);
    let mut object = json!({
        "rule": finding.rule.name(),
        "of": finding.rule.place(),
        "threads": if let Rule::NoCalls(_, threads) = &finding.rule { threads.as_slice() } else { &[] },
        "process": process.map(|whose| json!({ "pid": whose.pid, "program": whose.program })),
        "verdict": finding.verdict.name(),
        "unit": finding.unit.name(),
        "limit": number(finding.limit, finding.unit),
        "found": finding.found.map(|figure| found(&figure, finding)),
        "why": finding.why,
        "stacks": finding.culprits.iter().map(of_culprit).collect::<Vec<_>>(),
        "more_stacks": finding.more,
    });
    if matches!(finding.rule, Rule::NoFindings(_)) {
        let mut stacks = 0..finding.culprits.len();
        let with_stack = |of: &Reason| reason(of, of.culprit.and_then(|_| stacks.next()));
        object["findings"] = finding.reasons.iter().map(with_stack).collect();
    }
    object
}

/// A finding that the rule forbids, and which of the rule's stacks is its.
fn reason(reason: &Reason, stack: Option<usize>) -> Value {
    json!({
        "kind": reason.finding.kind.name(),
        "severity": reason.finding.severity.name(),
        "confidence": reason.finding.confidence.name(),
        "summary": reason.summary,
        "try": reason.remedy,
        "stack": stack,
    })
}

/// Whole numbers of what can be counted.
fn number(value: f64, unit: Unit) -> Value {
    match unit {
        Unit::Bytes | Unit::Blocks | Unit::Calls | Unit::Ns | Unit::Findings => {
            json!(value.round().max(0.0) as u64)
        }
        Unit::BlocksPerSecond | Unit::Part => json!((value * 1e4).round() / 1e4),
    }
}

/// A figure without an upper bound has a `high` of null.
fn found(figure: &Figure, finding: &Finding) -> Value {
    let number = |value: f64| if value.is_finite() { number(value, finding.unit) } else { Value::Null };
    let [value, low, high] = [figure.value, figure.low, figure.high].map(number);
    let is_range = figure.high > figure.low;
    json!({ "value": value, "low": low, "high": high, "estimated": is_range && !finding.is_bounded })
}

fn culprit(checked: &Checked, finding: &Finding, culprit: &Culprit, names: &NamedStacks<'_>) -> Value {
    let frames: Vec<_> = names.frames(culprit.stack).into_iter().map(FrameJson::from).collect();
    let begin_ns = finding.process.and_then(|n| checked.processes.get(n)).map_or(0, |p| p.begin_mono_ns);
    match culprit.what {
        Evidence::Blocks(amount) => json!({
            "amount": BlocksJson::from(amount),
            "estimated": culprit.is_estimated,
            "frames": frames,
        }),
        Evidence::Calls(calls) => json!({
            "calls": KindsJson::from(&calls.kinds),
            "bytes": calls.bytes,
            "first_ns": checked.has_times.then(|| calls.first_ns.saturating_sub(begin_ns)),
            "worst_ns": calls.worst_ns,
            "frames": frames,
        }),
        Evidence::Grew(growth, now) => json!({
            "growth": growth.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64,
            "amount": BlocksJson::from(now),
            "estimated": culprit.is_estimated,
            "frames": frames,
        }),
    }
}

fn suppression(one: &Suppression) -> Value {
    json!({
        "line": one.line,
        "text": one.text(),
        "stacks": one.stacks,
        "suppressed": BlocksJson::from(one.amount),
    })
}
