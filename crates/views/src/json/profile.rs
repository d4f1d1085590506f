//! `heapscribe report --json` of a profile of another program. What the profile does not know has no key.

use std::cmp::Reverse;

use heapscribe_analyze::answer::{Amount, Stack};
use heapscribe_convert::profile_sums::Sums;
use heapscribe_formats::profile::{About, Rate, Unit};
use serde::Serialize;

use super::parts::FrameJson;
use crate::text::profile::unknown;
use heapscribe_symbols::{NamedStacks, lossy};

/// Changes when a key changes its name or meaning.
const FORMAT: u32 = 1;

/// The whole object.
#[derive(Serialize)]
pub struct ProfileReport {
    format: u32,
    kind: &'static str,
    origin: &'static str,
    command: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    written_real_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample_mean_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    heap_max_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    curve: Option<CurveJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lifetime_unit: Option<String>,
    #[serde(flatten)]
    whole: SumsJson,
    stacks: Vec<StackJson>,
    cannot_answer: Vec<String>,
    problems: Vec<String>,
}

/// The size of the heap at moments.
#[derive(Serialize)]
struct CurveJson {
    time_unit: String,
    times: Vec<u64>,
    heap_bytes: Vec<u64>,
}

impl CurveJson {
    fn of(about: &About) -> Option<CurveJson> {
        let (times, heap_bytes): (Vec<u64>, Vec<u64>) = about.curve.iter().copied().unzip();
        (!times.is_empty()).then(|| CurveJson { time_unit: about.curve_unit.clone(), times, heap_bytes })
    }
}

/// The sums of all, or of a stack.
#[derive(Serialize)]
struct SumsJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    at_peak: Option<SumJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<SumJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocated: Option<SumJson>,
}

#[derive(Serialize)]
struct SumJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    blocks: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

#[derive(Serialize)]
struct StackJson {
    id: u32,
    frames: Vec<FrameJson>,
    #[serde(flatten)]
    sums: SumsJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_lifetime: Option<u64>,
}

/// The stacks to print: those with most of the figure that the profile shows first.
pub fn chosen(sums: &Sums, top: usize) -> Vec<&Stack> {
    let by = sums.measures().first().copied();
    let figure = |stack: &Stack| by.map_or(stack.leaked.blocks, |measure| measure.of(stack));
    let mut stacks: Vec<_> = sums.answer.stacks.iter().collect();
    stacks.sort_by_key(|stack| (Reverse(figure(stack)), Reverse(stack.allocated.bytes), stack.node));
    stacks.truncate(top);
    stacks
}

impl ProfileReport {
    /// A profile with the names of these stacks.
    pub fn new(sums: &Sums, stacks: &[&Stack], names: &NamedStacks<'_>) -> ProfileReport {
        let (about, answer) = (&sums.about, &sums.answer);
        let is_known = |ns: u64| (ns != 0).then_some(ns);
        let whole = Stack {
            at_peak: Amount { blocks: answer.peak.blocks, bytes: answer.peak.bytes },
            leaked: answer.leaked,
            allocated: Amount { blocks: answer.totals.allocations, bytes: answer.totals.allocated_bytes },
            ..Stack::default()
        };
        let stack = |stack: &&Stack| StackJson {
            id: stack.node.0,
            frames: names.frames(stack.node).into_iter().map(FrameJson::from).collect(),
            sums: SumsJson::of(sums, stack),
            mean_lifetime: sums.mean_lifetime(stack),
        };
        let (exact, sample_mean_bytes) = match about.rate {
            Rate::Unknown => (None, None),
            Rate::Exact => (Some(true), None),
            Rate::Sampled { mean_bytes } => (Some(false), Some(mean_bytes)),
        };
        ProfileReport {
            format: FORMAT,
            kind: "profile",
            origin: about.origin.key(),
            command: answer.command.iter().map(|part| lossy(part)).collect(),
            written_real_ns: is_known(about.real_ns),
            duration_ns: is_known(about.duration_ns),
            heap_max_bytes: is_known(about.heap_max_bytes),
            counts: about.counts_pages.then_some("pages"),
            curve: CurveJson::of(about),
            lifetime_unit: Some(about.lived_unit.clone()).filter(|unit| !unit.is_empty()),
            exact,
            sample_mean_bytes,
            whole: SumsJson::of(sums, &whole),
            stacks: stacks.iter().map(stack).collect(),
            cannot_answer: unknown(sums),
            problems: answer.problems.clone(),
        }
    }
}

impl SumsJson {
    fn of(sums: &Sums, stack: &Stack) -> SumsJson {
        let known = &sums.about.known;
        let sum = |unit: Unit, amount: Amount| {
            let (blocks, bytes) = (amount.blocks, amount.bytes);
            let sum = SumJson { blocks: unit.blocks.then_some(blocks), bytes: unit.bytes.then_some(bytes) };
            unit.is_any().then_some(sum)
        };
        SumsJson {
            at_peak: sum(known.at_peak, stack.at_peak),
            live: sum(known.live, stack.leaked),
            allocated: sum(known.allocated, stack.allocated),
        }
    }
}
