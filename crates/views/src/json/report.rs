//! `heapscribe report --json`: everything that the text has, and all stacks.

use std::cmp::Reverse;

use heapscribe_analyze::answer::{Answer, Ended, Exit, Process, Stack};
use serde::Serialize;

use super::annotations::{self, MarkJson, PoolsJson, SectionJson};
use super::coverage::GrowthJson;
use super::early_times::EarlyTimesJson;
use super::findings::{FindingJson, LongLivedJson};
use super::heap::HeapJson;
use super::latency::{self, LatencyJson, RealTimeJson};
use super::mappings::MappingsJson;
use super::parts::{
    BlocksJson, BoundsJson, CountJson, DrainerJson, DroppedJson, FrameJson, InterpreterJson, LeakedJson,
    PeakJson, RestJson, RingJson, StackBoundsJson, TotalsJson,
};
use super::rates::RatesJson;
use super::resident::ResidentJson;
use super::runtime::RuntimeJson;
use super::sampling::{SamplingJson, StackSamplingJson};
use super::timeline::{TimelineJson, timeline};
use super::unrecorded::{PeriodJson, UnrecordedJson};
use crate::check::calls::RuleOutcome;
use heapscribe_symbols::{NamedStacks, lossy};

/// Changes when a key changes its name or meaning.
const FORMAT: u32 = 1;

/// The whole object.
#[derive(Serialize)]
pub struct Report<'a> {
    format: u32,
    recorded_by: String,
    command: Vec<String>,
    host: String,
    begin_real_ns: u64,
    duration_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    early_times: Option<EarlyTimesJson>,
    exit: Option<ExitJson>,
    drainer: DrainerJson,
    complete: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<SamplingJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ring: Option<RingJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rest: Option<RestJson>,
    #[serde(flatten)]
    totals: TotalsJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    rates: Option<RatesJson>,
    peak: PeakJson,
    leaked: BlocksJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_by_runtime: Option<RuntimeJson>,
    temporary: CountJson,
    dropped: DroppedJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    bounds: Option<BoundsJson>,
    findings: Vec<FindingJson>,
    long_lived: Option<LongLivedJson>,
    unresolved: Unresolved,
    stack_check: StackCheckJson,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    interpreters: Vec<InterpreterJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    latency: Vec<LatencyJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    real_time: Option<RealTimeJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    marks: Vec<MarkJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sections: Vec<SectionJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pools: Option<PoolsJson>,
    stacks: Stacks<'a>,
    processes: Vec<ProcessJson>,
    threads: Vec<ThreadJson>,
    histogram: Vec<ClassJson>,
    lifetimes: Vec<ClassJson>,
    timeline: TimelineJson,
    unrecorded: UnrecordedJson,
    problems: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum ExitJson {
    Code(i32),
    Signal(i32),
}

#[derive(Serialize)]
struct Unresolved {
    stacks: u64,
    frames: u64,
    modules: Vec<UnnamedJson>,
}

#[derive(Serialize)]
struct StackCheckJson {
    verified: u64,
    different: u64,
}

#[derive(Serialize)]
struct UnnamedJson {
    module: String,
    why: String,
}

/// The stacks with their frames, made one at a time: written out they are many times what they are here.
struct Stacks<'a> {
    answer: &'a Answer,
    stacks: &'a [&'a Stack],
    names: &'a NamedStacks<'a>,
}

impl Serialize for Stacks<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.stacks.iter().map(|s| stack(self.answer, s, self.names)))
    }
}

#[derive(Serialize)]
struct StackJson {
    id: u32,
    frames: Vec<FrameJson>,
    count: u64,
    bytes: u64,
    peak: BlocksJson,
    leaked: LeakedJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    bounds: Option<StackBoundsJson>,
    temporary: CountJson,
    freed: CountJson,
    freed_by_other_threads: u64,
    failed: u64,
    lifetime_ns: Range<f64>,
    size: Range<()>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<StackSamplingJson>,
}

#[derive(Serialize)]
struct Range<M> {
    min: u64,
    #[serde(skip_serializing_if = "is_nothing")]
    mean: M,
    max: u64,
}

fn is_nothing<M>(_: &M) -> bool {
    size_of::<M>() == 0
}

#[derive(Serialize)]
struct ProcessJson {
    pid: u32,
    parent: u32,
    exe: String,
    command: Vec<String>,
    forked: bool,
    begin_ns: u64,
    end_ns: u64,
    ended: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ring: Option<RingJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rest: Option<RestJson>,
    #[serde(flatten)]
    totals: TotalsJson,
    peak: PeakJson,
    leaked: BlocksJson,
    temporary: CountJson,
    rss_peak_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<GrowthJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mappings: Option<MappingsJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    memory_over_time: Vec<ResidentJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    heap: Option<HeapJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    off: Vec<PeriodJson>,
    recorder_bytes: u64,
    dropped: DroppedJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    bounds: Option<BoundsJson>,
}

#[derive(Serialize)]
struct ThreadJson {
    pid: u32,
    process: usize,
    id: u32,
    tid: u32,
    name: String,
    #[serde(flatten)]
    totals: TotalsJson,
    temporary: CountJson,
}

#[derive(Serialize)]
struct ClassJson {
    from: u64,
    to: u64,
    count: u64,
    bytes: u64,
}

/// The stacks to print, most bytes first: all of them, or those at the head of the list.
pub fn chosen(answer: &Answer, top: Option<usize>) -> Vec<&Stack> {
    let mut stacks: Vec<&Stack> = answer.stacks.iter().collect();
    stacks.sort_by_key(|s| (Reverse(s.allocated.bytes), Reverse(s.allocated.blocks), s.node));
    stacks.truncate(top.unwrap_or(usize::MAX));
    stacks
}

impl<'a> Report<'a> {
    /// The answer with these of its stacks.
    pub fn new(
        a: &'a Answer,
        (outcomes, findings, long_lived): (&[RuleOutcome], Vec<FindingJson>, Option<LongLivedJson>),
        stacks: &'a [&'a Stack],
        names: &'a NamedStacks<'a>,
    ) -> Self {
        Report {
            format: FORMAT,
            recorded_by: a.version.clone(),
            command: texts(&a.command),
            host: a.host.clone(),
            begin_real_ns: a.begin_real_ns,
            duration_ns: a.duration_ns,
            clock: a.counts_calls.then_some("calls"),
            early_times: a.early_times.map(Into::into),
            exit: a.exit.map(exit),
            drainer: (&a.drainer).into(),
            complete: a.complete,
            sampling: a.sampling.as_ref().map(Into::into),
            ring: RingJson::of_all(a),
            rest: RestJson::of(&a.evicted, a.begin_mono_ns),
            totals: (&a.totals).into(),
            rates: (!a.counts_calls).then(|| a.into()),
            peak: (&a.peak).into(),
            leaked: a.leaked.into(),
            kept_by_runtime: RuntimeJson::of(a, names),
            temporary: a.temporary.into(),
            dropped: DroppedJson::new(&a.dropped, a.totals.lost_events),
            bounds: a.bounds.as_ref().map(Into::into),
            findings,
            long_lived,
            unresolved: unresolved(a, names),
            interpreters: a.interpreters.iter().map(InterpreterJson::from).collect(),
            stack_check: StackCheckJson {
                verified: a.stack_check.verified,
                different: a.stack_check.different,
            },
            latency: latency::latency(a, names),
            real_time: latency::real_time(a, outcomes, names),
            marks: annotations::marks(a),
            sections: annotations::sections(a, names),
            pools: annotations::pools(a, names),
            stacks: Stacks { answer: a, stacks, names },
            processes: a.processes.iter().map(|p| process(p, a.begin_mono_ns, names)).collect(),
            threads: threads(a),
            histogram: histogram(a),
            lifetimes: lifetimes(a),
            timeline: timeline(a),
            unrecorded: (&a.unrecorded).into(),
            problems: a.problems.clone(),
        }
    }
}

fn texts(parts: &[Vec<u8>]) -> Vec<String> {
    parts.iter().map(|part| lossy(part)).collect()
}

fn exit(exit: Exit) -> ExitJson {
    match exit {
        Exit::Code(code) => ExitJson::Code(code),
        Exit::Signal(signal) => ExitJson::Signal(signal),
    }
}

/// Rates to a tenth: more digits would say more than is known.
fn unresolved(a: &Answer, names: &NamedStacks<'_>) -> Unresolved {
    let unnamed = names.unnamed().into_iter();
    Unresolved {
        stacks: a.unknown_stacks,
        frames: a.unresolved_frames,
        modules: unnamed.map(|u| UnnamedJson { module: u.module, why: u.failure.to_string() }).collect(),
    }
}

fn stack(a: &Answer, s: &Stack, names: &NamedStacks<'_>) -> StackJson {
    let at = a.stacks.binary_search_by_key(&s.node, |stack| stack.node).ok();
    let estimates = a.sampling.as_ref().zip(at).and_then(|(sampling, at)| sampling.stacks.get(at));
    let bounds = a.bounds.as_ref().zip(at).and_then(|(bounds, at)| bounds.stacks.get(at));
    StackJson {
        id: s.node.0,
        frames: names.frames(s.node).into_iter().map(FrameJson::from).collect(),
        count: s.allocated.blocks,
        bytes: s.allocated.bytes,
        peak: s.at_peak.into(),
        leaked: LeakedJson::of(s),
        bounds: bounds.map(Into::into),
        temporary: s.temporary.into(),
        freed: s.freed.into(),
        freed_by_other_threads: s.freed_by_others,
        failed: s.failed,
        lifetime_ns: Range { min: s.lifetime.min_ns, mean: s.lifetime.mean_ns, max: s.lifetime.max_ns },
        size: Range { min: s.size_min_bytes, mean: (), max: s.size_max_bytes },
        sampling: estimates.map(Into::into),
    }
}

fn process(p: &Process, begin_mono_ns: u64, names: &NamedStacks<'_>) -> ProcessJson {
    ProcessJson {
        pid: p.pid,
        parent: p.parent_pid,
        exe: lossy(&p.exe),
        command: texts(&p.command),
        forked: p.is_fork,
        begin_ns: p.begin_ns,
        end_ns: p.end_ns,
        ended: ended(p.ended),
        ring: RingJson::of(&p.evicted, p.whole_peak.as_ref(), begin_mono_ns),
        rest: RestJson::of(&p.evicted, begin_mono_ns),
        totals: (&p.totals).into(),
        peak: (&p.peak).into(),
        leaked: p.leaked.into(),
        temporary: p.temporary.into(),
        rss_peak_bytes: p.rss_peak_bytes,
        coverage: p.coverage.as_ref().map(Into::into),
        mappings: p.mappings.as_ref().map(|of| MappingsJson::new(of, names)),
        memory_over_time: ResidentJson::all(&p.resident, begin_mono_ns),
        heap: p.heap.as_ref().map(HeapJson::from),
        off: p.off.iter().map(Into::into).collect(),
        recorder_bytes: p.recorder_bytes,
        dropped: DroppedJson::new(&p.dropped, p.totals.lost_events),
        bounds: p.bounds.as_ref().map(Into::into),
    }
}

fn ended(how: Ended) -> &'static str {
    match how {
        Ended::Unknown => "unknown",
        Ended::Exited => "exited",
        Ended::Killed(_) => "killed",
        Ended::Unseen => "ended",
        Ended::Execed => "execed",
        Ended::Abandoned => "abandoned",
    }
}

fn threads(a: &Answer) -> Vec<ThreadJson> {
    let threads = a.threads.iter().map(|t| ThreadJson {
        pid: a.processes.get(t.process).map_or(0, |p| p.pid),
        process: t.process,
        id: t.id,
        tid: t.tid,
        name: lossy(&t.name),
        totals: (&t.totals).into(),
        temporary: t.temporary.into(),
    });
    threads.collect()
}

fn histogram(a: &Answer) -> Vec<ClassJson> {
    let classes = a.sizes.iter();
    classes
        .map(|c| ClassJson { from: c.from_bytes, to: c.to_bytes, count: c.count, bytes: c.bytes })
        .collect()
}

fn lifetimes(a: &Answer) -> Vec<ClassJson> {
    let classes = a.lifetimes.iter();
    classes.map(|c| ClassJson { from: c.from_ns, to: c.to_ns, count: c.count, bytes: c.bytes }).collect()
}
