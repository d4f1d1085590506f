//! How long calls took, and rules of real time.

use heapscribe_analyze::answer::{Answer, BrokenRule, CallLatency, NodeId, WorstCall};
use heapscribe_formats::{RealTimeRules, Why};
use serde::Serialize;

use super::annotations::KindsJson;
use super::parts::FrameJson;
use crate::check::calls::RuleOutcome;
use crate::check::rule::Rule;
use heapscribe_symbols::{NamedStacks, lossy};

/// Calls of one kind.
#[derive(Serialize)]
pub struct LatencyJson {
    call: &'static str,
    count: u64,
    min_ns: u64,
    mean_ns: f64,
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    p99_9_ns: u64,
    p99_99_ns: u64,
    max_ns: u64,
    worst: Vec<WorstJson>,
}

#[derive(Serialize)]
struct WorstJson {
    took_ns: u64,
    time_ns: u64,
    call: &'static str,
    size: u64,
    pid: u32,
    thread: u32,
    stack: u32,
    frames: Vec<FrameJson>,
}

/// Rules, and the calls for which programs were stopped.
#[derive(Serialize)]
pub struct RealTimeJson {
    sections: Vec<String>,
    after_mark: Option<String>,
    threads: Vec<String>,
    rules: Vec<RuleJson>,
    stopped: Vec<BrokenJson>,
}

/// A rule and the calls that broke it; `check --json` names rules the same.
#[derive(Serialize)]
struct RuleJson {
    rule: String,
    of: Option<String>,
    threads: Vec<String>,
    entered: u64,
    calls: KindsJson,
}

#[derive(Serialize)]
struct BrokenJson {
    rule: &'static str,
    name: String,
    call: &'static str,
    size: u64,
    time_ns: u64,
    pid: u32,
    thread: u32,
    stack: u32,
    frames: Vec<FrameJson>,
}

/// The stacks that are written, to be looked up.
pub fn wanted(a: &Answer) -> impl Iterator<Item = NodeId> {
    let worst = a.latency.iter().flat_map(|kind| kind.worst.iter().map(|call| call.node));
    worst.chain(a.broken.iter().map(|broken| broken.node))
}

fn pid(a: &Answer, process: usize) -> u32 {
    a.processes.get(process).map_or(0, |process| process.pid)
}

fn frames(node: NodeId, names: &NamedStacks<'_>) -> Vec<FrameJson> {
    names.frames(node).into_iter().map(FrameJson::from).collect()
}

/// How long calls took, by kind.
pub fn latency(a: &Answer, names: &NamedStacks<'_>) -> Vec<LatencyJson> {
    let worst = |call: &WorstCall| WorstJson {
        took_ns: call.took_ns,
        time_ns: call.time_ns,
        call: call.call.name(),
        size: call.size_bytes,
        pid: pid(a, call.process),
        thread: call.thread,
        stack: call.node.0,
        frames: frames(call.node, names),
    };
    let kind = |kind: &CallLatency| LatencyJson {
        call: kind.kind.name(),
        count: kind.count,
        min_ns: kind.min_ns,
        mean_ns: (kind.mean_ns * 10.0).round() / 10.0,
        p50_ns: kind.p50_ns,
        p90_ns: kind.p90_ns,
        p99_ns: kind.p99_ns,
        p99_9_ns: kind.p99_9_ns,
        p99_99_ns: kind.p99_99_ns,
        max_ns: kind.max_ns,
        worst: kind.worst.iter().map(worst).collect(),
    };
    a.latency.iter().map(kind).collect()
}

/// The rules, when there are any.
pub fn real_time(a: &Answer, outcomes: &[RuleOutcome], names: &NamedStacks<'_>) -> Option<RealTimeJson> {
    let RealTimeRules { sections, after_mark, threads } = &a.rules;
    let texts = |names: &[Vec<u8>]| names.iter().map(|name| lossy(name)).collect();
    let broken = |broken: &BrokenRule| BrokenJson {
        rule: match broken.why {
            Why::Section => "section",
            Why::Mark => "mark",
            Why::Thread => "thread",
        },
        name: lossy(&broken.name),
        call: broken.call.name(),
        size: broken.size_bytes,
        time_ns: broken.time_ns,
        pid: pid(a, broken.process),
        thread: broken.thread,
        stack: broken.node.0,
        frames: frames(broken.node, names),
    };
    let rule = |outcome: &RuleOutcome| RuleJson {
        rule: outcome.rule.name(),
        of: outcome.rule.place().map(str::to_owned),
        threads: match &outcome.rule {
            Rule::NoCalls(_, threads) => threads.clone(),
            _ => Vec::new(),
        },
        entered: outcome.entered,
        calls: KindsJson::from(&outcome.calls),
    };
    (!a.rules.is_empty()).then(|| RealTimeJson {
        sections: texts(sections),
        after_mark: after_mark.as_ref().map(|mark| lossy(mark)),
        threads: texts(threads),
        rules: outcomes.iter().map(rule).collect(),
        stopped: a.broken.iter().map(broken).collect(),
    })
}
