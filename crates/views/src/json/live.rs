//! `heapscribe report --json` of a snapshot.

use heapscribe_analyze::answer::Amount;
use heapscribe_analyze::snapshot::{LiveStack, Snapshot};
use serde::Serialize;

use super::parts::{BlocksJson, CountJson, DroppedJson, FrameJson, RangesJson};
use super::sampling::EstimateJson;
use crate::live::Largest;
use crate::losses::{of_cut, of_lost, of_off};
use heapscribe_symbols::{NamedStacks, lossy};

/// Changes when a key changes its name or meaning.
const FORMAT: u32 = 1;

/// The whole object.
#[derive(Serialize)]
pub struct LiveReport {
    format: u32,
    kind: &'static str,
    host: String,
    pid: u32,
    exe: String,
    command: Vec<String>,
    name: String,
    taken_real_ns: u64,
    taken_mono_ns: u64,
    age_ns: u64,
    ended: bool,
    exact: bool,
    inexact_because: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<SamplingJson>,
    live: BlocksJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    bounds: Option<RangesJson>,
    pools: PoolsJson,
    allocated: CountJson,
    freed: CountJson,
    stacks: Vec<StackJson>,
    threads: Vec<ThreadJson>,
    sizes: Vec<ClassJson>,
    ages_ns: Vec<ClassJson>,
    dropped: DroppedJson,
    problems: Vec<String>,
}

#[derive(Serialize)]
struct SamplingJson {
    mean_bytes: Vec<u64>,
    live: EstimateJson,
}

#[derive(Serialize)]
struct PoolsJson {
    #[serde(flatten)]
    live: BlocksJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    bounds: Option<RangesJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<EstimateJson>,
    stacks: Vec<StackJson>,
}

#[derive(Serialize)]
struct StackJson {
    id: u32,
    frames: Vec<FrameJson>,
    live: BlocksJson,
    age_ns: Range,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<EstimateJson>,
}

#[derive(Serialize)]
struct Range {
    min: u64,
    max: u64,
}

#[derive(Serialize)]
struct ThreadJson {
    id: u32,
    tid: u32,
    name: String,
    live: BlocksJson,
}

#[derive(Serialize)]
struct ClassJson {
    from: u64,
    to: u64,
    count: u64,
    bytes: u64,
}

impl LiveReport {
    /// A snapshot with the names of these stacks.
    pub fn new(s: &Snapshot, largest: &Largest<'_>, names: &NamedStacks<'_>) -> LiveReport {
        let info = s.process.info.clone().unwrap_or_default();
        let t = &s.table;
        let counted = |blocks, bytes| CountJson::from(Amount { blocks, bytes });
        let stacks = |of: &[&LiveStack]| of.iter().map(|stack| of_stack(stack, names)).collect();
        LiveReport {
            format: FORMAT,
            kind: "snapshot",
            host: s.host.clone(),
            pid: info.pid,
            exe: lossy(&info.exe),
            command: info.command.iter().map(|part| lossy(part)).collect(),
            name: t.name.clone(),
            taken_real_ns: t.real_ns,
            taken_mono_ns: t.mono_ns,
            age_ns: s.age_ns,
            ended: s.has_ended(),
            exact: t.inexact.is_empty() && !s.is_cut() && !s.was_off() && of_lost(s).is_none(),
            inexact_because: Some(&t.inexact)
                .filter(|why| !why.is_empty())
                .cloned()
                .or_else(|| of_cut(s).or_else(|| of_off(s)).or_else(|| of_lost(s))),
            sampling: s.sampling.as_ref().map(|sampling| SamplingJson {
                mean_bytes: sampling.mean_bytes.clone(),
                live: (&sampling.live).into(),
            }),
            live: s.live.into(),
            bounds: s.bounds().as_ref().map(Into::into),
            pools: PoolsJson {
                live: s.pools.into(),
                bounds: s.pool_bounds().as_ref().map(Into::into),
                sampling: s.pools_estimate.as_ref().map(EstimateJson::from),
                stacks: stacks(&largest.pools),
            },
            allocated: counted(t.allocated_blocks, t.allocated_bytes),
            freed: counted(t.freed_blocks, t.freed_bytes),
            stacks: stacks(&largest.heap),
            threads: s.threads.iter().map(of_thread).collect(),
            sizes: classes(s.sizes.iter().map(|c| (c.from_bytes, c.to_bytes, c.count, c.bytes))),
            ages_ns: classes(s.ages.iter().map(|c| (c.from_ns, c.to_ns, c.count, c.bytes))),
            dropped: DroppedJson::new(&s.dropped, 0),
            problems: s.problems.clone(),
        }
    }
}

fn of_stack(stack: &LiveStack, names: &NamedStacks<'_>) -> StackJson {
    StackJson {
        id: stack.node.0,
        frames: names.frames(stack.node).into_iter().map(FrameJson::from).collect(),
        live: stack.live.into(),
        age_ns: Range { min: stack.youngest_ns, max: stack.oldest_ns },
        sampling: stack.estimate.as_ref().map(EstimateJson::from),
    }
}

fn of_thread(thread: &heapscribe_analyze::snapshot::LiveThread) -> ThreadJson {
    ThreadJson { id: thread.id, tid: thread.tid, name: lossy(&thread.name), live: thread.live.into() }
}

fn classes(all: impl Iterator<Item = (u64, u64, u64, u64)>) -> Vec<ClassJson> {
    all.map(|(from, to, count, bytes)| ClassJson { from, to, count, bytes }).collect()
}
