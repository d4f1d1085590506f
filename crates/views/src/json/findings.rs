//! Findings as JSON, and what lives long and is large.

use heapscribe_analyze::answer::{Amount, Answer, NodeId};
use heapscribe_analyze::findings::{Culprit, Evidence, LARGE_BYTES, LONG_PERCENT};
use heapscribe_symbols::NamedStacks;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::parts::{BlocksJson, FrameJson};
use crate::own::Folded;
use crate::text::findings::{Described, LongLivedBlocks, Who, describe, describe_long_lived};

/// A finding.
#[derive(Serialize)]
pub struct FindingJson {
    kind: &'static str,
    severity: &'static str,
    confidence: &'static str,
    summary: String,
    evidence: Map<String, Value>,
    stacks: Vec<CulpritJson>,
    more: u64,
    r#try: String,
}

#[derive(Serialize)]
struct CulpritJson {
    function: String,
    file: Option<String>,
    line: Option<u32>,
    blocks: u64,
    bytes: u64,
    stacks: u64,
    id: u32,
    frames: Vec<FrameJson>,
}

/// Large blocks that lived for long.
#[derive(Serialize)]
pub struct LongLivedJson {
    size_min_bytes: u64,
    age_min_percent: u64,
    blocks: u64,
    bytes: u64,
    freed: BlocksJson,
    exact: bool,
    summary: String,
    stacks: Vec<LongLivedStackJson>,
    more: u64,
}

#[derive(Serialize)]
struct LongLivedStackJson {
    #[serde(flatten)]
    of: CulpritJson,
    freed: BlocksJson,
}

/// Of an answer of which all stacks have names; `None` where a ring has lost the allocations of old blocks.
pub fn of_long_lived(answer: &Answer, names: &NamedStacks<'_>, folded: &Folded) -> Option<LongLivedJson> {
    let LongLivedBlocks { found, sentence, owners, more } = describe_long_lived(answer, names, folded)?;
    let row = |(culprit, freed, who): (Culprit, Amount, Who)| LongLivedStackJson {
        of: stack(&culprit, who, names),
        freed: freed.into(),
    };
    Some(LongLivedJson {
        size_min_bytes: LARGE_BYTES,
        age_min_percent: LONG_PERCENT,
        blocks: found.all.blocks,
        bytes: found.all.bytes,
        freed: found.freed.into(),
        exact: found.is_exact,
        summary: sentence,
        stacks: owners.into_iter().map(row).collect(),
        more,
    })
}

/// All findings of an answer, of which all stacks have names.
pub fn findings(answer: &Answer, names: &NamedStacks<'_>, trace: &str, folded: &Folded) -> Vec<FindingJson> {
    let described = describe(answer, names, trace, folded);
    described.into_iter().map(|finding| object(finding, names)).collect()
}

/// The stacks that need names: owners are found by name, so all of them.
pub fn wanted(answer: &Answer) -> impl Iterator<Item = NodeId> + '_ {
    answer.stacks.iter().map(|stack| stack.node)
}

fn object(described: Described, names: &NamedStacks<'_>) -> FindingJson {
    let Described { finding, summary, culprits, remedy } = described;
    FindingJson {
        kind: finding.kind.name(),
        severity: finding.severity.name(),
        confidence: finding.confidence.name(),
        summary,
        evidence: evidence(&finding.evidence),
        stacks: culprits.into_iter().map(|(culprit, who)| stack(&culprit, who, names)).collect(),
        more: finding.more,
        r#try: remedy,
    }
}

fn stack(culprit: &Culprit, who: Who, names: &NamedStacks<'_>) -> CulpritJson {
    CulpritJson {
        function: who.name,
        file: who.frame.file,
        line: who.frame.line,
        blocks: culprit.amount.blocks,
        bytes: culprit.amount.bytes,
        stacks: culprit.stacks,
        id: culprit.node.0,
        frames: names.frames(culprit.node).into_iter().map(FrameJson::from).collect(),
    }
}

/// To a tenth: more digits would say more than is known.
fn tenth(figure: f64) -> f64 {
    (figure * 10.0).round() / 10.0
}

fn evidence(evidence: &Evidence) -> Map<String, Value> {
    let value = match *evidence {
        Evidence::Sampling { samples, peak_bytes, low_bytes, high_bytes, wanted_mean_bytes } => json!({
            "samples": samples, "peak_bytes": peak_bytes, "low_bytes": low_bytes, "high_bytes": high_bytes,
            "wanted_mean_bytes": wanted_mean_bytes,
        }),
        Evidence::Growth {
            process,
            from_bytes,
            to_bytes,
            over_ns,
            bytes_per_second,
            error,
            rising_steps,
        } => json!({
            "process": process, "from_bytes": from_bytes, "to_bytes": to_bytes, "over_ns": over_ns,
            "bytes_per_second": tenth(bytes_per_second), "standard_error": tenth(error), "rising_steps": rising_steps,
        }),
        Evidence::Leak { left, owners, oldest_ns, killed_by, .. } => json!({
            "bytes": left.bytes, "blocks": left.blocks, "callers": owners, "oldest_ns": oldest_ns,
            "killed_by": killed_by,
        }),
        Evidence::Burst { rose_bytes, within_ns, peak_bytes, there_bytes, there } => json!({
            "rose_bytes": rose_bytes, "within_ns": within_ns, "peak_bytes": peak_bytes, "there_bytes": there_bytes,
            "there_stack": there.map(|there| there.node.0),
        }),
        Evidence::Arenas { process, threads, anonymous_bytes, time_ns, heap_bytes_max, arenas_bytes_max } => {
            json!({
                "process": process, "threads": threads, "anonymous_bytes": anonymous_bytes, "time_ns": time_ns,
                "heap_bytes_max": heap_bytes_max, "arenas_bytes_max": arenas_bytes_max,
            })
        }
        Evidence::ResidentExcess { anonymous_bytes, heap_bytes, time_ns, freed_bytes_max } => json!({
            "anonymous_bytes": anonymous_bytes, "heap_bytes": heap_bytes, "time_ns": time_ns,
            "freed_bytes_max": freed_bytes_max,
        }),
        Evidence::Section { section, at_peak, left } => json!({
            "section": section, "peak_bytes": at_peak.bytes, "peak_blocks": at_peak.blocks,
            "left_bytes": left.bytes, "left_blocks": left.blocks,
        }),
        Evidence::LateFree { process, freed, largest_bytes } => json!({
            "process": process, "bytes": freed.bytes, "blocks": freed.blocks, "largest_bytes": largest_bytes,
        }),
        Evidence::Rounding { at_peak, heap_bytes, wasted_bytes, over_aligned, is_exact } => json!({
            "bytes": at_peak.bytes, "blocks": at_peak.blocks, "heap_bytes": heap_bytes, "wasted_bytes": wasted_bytes,
            "over_aligned": over_aligned, "exact": is_exact,
        }),
        Evidence::Temporary { temporary, allocations, timed_calls, took_ns } => json!({
            "blocks": temporary.blocks, "bytes": temporary.bytes, "allocations": allocations,
            "timed_calls": timed_calls, "took_ns": took_ns,
        }),
        Evidence::ReallocGrowth { steps, copied_bytes_max, largest_bytes } => json!({
            "steps": steps, "copied_bytes_max": copied_bytes_max, "largest_bytes": largest_bytes,
        }),
        Evidence::ForeignFree { freed, by_others } => json!({ "freed": freed, "by_others": by_others }),
    };
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
