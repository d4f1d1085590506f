//! Which pool is enough. The smallest that serves every request is found by trying pools of the pool heap, that
//! do not grow. A program that runs again is not the same to the byte, so the recording is also run with its
//! threads in other orders, its sizes changed by up to 5 % and its pool elsewhere in memory; of the pools that
//! these need the largest counts, and a margin comes on top.

use anyhow::{Context, Result};
use heapscribe_replay::smallest::{Range, readable, smallest};
use heapscribe_replay::{Bed, PoolRun, Program, Tightest, Touch, Vary};
use serde::Serialize;

use super::child::{Look, Task, measure};
use super::chosen::Chosen;
use super::prepare::{Prepared, prepare};
use super::subject::Subject;
use crate::convert::in_order::Shuffle;
use crate::message::Problem;
use crate::trace_file::Opened;

const PAGE_BYTES: u64 = 4096;
/// Pools are told apart to this part of the largest live heap.
const FINENESS: u64 = 1024;
/// No pool larger than the live bytes by this factor, and by some, is tried.
const MOST_FACTOR: u64 = 5;
const MOST_MORE_BYTES: u64 = 16 << 20;
/// How often a recommendation that some other run does not fit into is raised.
const RAISES_MAX: u32 = 8;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// On top of the largest need, in hundredths.
    pub(crate) margin_percent: u64,
    /// Runs besides the recorded one.
    pub(crate) trials: u64,
    /// By how much threads may be late in these.
    pub(crate) window_ns: u64,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PoolSize {
    /// Changes when a key changes its name or meaning.
    pub(crate) format: u32,
    pub(crate) process: Chosen,
    pub(crate) threads: usize,
    pub(crate) requests: u64,
    /// Bytes live at the most, and blocks then.
    pub(crate) peak_live_bytes: u64,
    pub(crate) peak_live_blocks: u64,
    /// What these and others took of the pool at the most, with headers and rounded up.
    pub(crate) peak_used_bytes: u64,
    /// The smallest pool that serves the recording.
    pub(crate) smallest_bytes: u64,
    /// The largest one below it that was tried, and did not.
    pub(crate) fails_bytes: u64,
    /// The smallest pool when least of it could be had in one piece.
    pub(crate) tightest: Tightest,
    /// Runs besides the recorded one, and the pool that serves all of them.
    pub(crate) trials: u64,
    pub(crate) window_ns: u64,
    pub(crate) needed_bytes: u64,
    pub(crate) margin_percent: u64,
    pub(crate) recommended_bytes: u64,
    /// Why the pool heap itself did not serve the recording in a pool of that size; none when it did.
    pub(crate) not_verified: Option<String>,
}

/// A run: operations, and what is different from the recording.
struct Trial {
    /// Operations in another order; none when the order is the recorded one.
    other: Option<Prepared>,
    vary: Vary,
}

/// Finds it.
pub(crate) fn find(trace: &Opened, mut chosen: Chosen, asked: Asked) -> Result<PoolSize> {
    let recorded = prepare(trace, chosen.process(trace), None)?;
    chosen.estimate.extend_from_slice(&recorded.doubts);
    let compiled = recorded.compiled;
    if compiled.allocs == 0 {
        return Err(Problem::new("the process asked for no block", "any pool will do").into());
    }
    let trials = (1..=asked.trials).map(|seed| trial(trace, &chosen, &recorded, seed, asked.window_ns));
    let trials: Vec<Trial> = trials.collect::<Result<_>>()?;
    let mut search = Search::new(compiled.peak_bytes)?;
    let as_recorded = Trial { other: None, vary: Vary::default() };
    let (smallest_bytes, fails_bytes) = search.smallest(&recorded, &as_recorded, 0)?;
    let in_smallest = search.run(smallest_bytes, &recorded, &as_recorded)?;
    let mut needed_bytes = smallest_bytes;
    for trial in &trials {
        if !search.run(needed_bytes, &recorded, trial)?.is_served() {
            needed_bytes = search.smallest(&recorded, trial, needed_bytes)?.0;
        }
    }
    let all = || std::iter::once(&as_recorded).chain(&trials);
    let recommended_bytes = search.recommend(needed_bytes, asked.margin_percent, &recorded, all)?;
    Ok(PoolSize {
        format: 1,
        threads: recorded.threads,
        requests: compiled.allocs + compiled.reallocs,
        peak_live_bytes: compiled.peak_bytes,
        peak_live_blocks: compiled.peak_blocks,
        peak_used_bytes: in_smallest.peak_used_bytes,
        smallest_bytes,
        fails_bytes,
        tightest: in_smallest.tightest,
        trials: asked.trials,
        window_ns: asked.window_ns,
        needed_bytes,
        margin_percent: asked.margin_percent,
        recommended_bytes,
        not_verified: verify(recommended_bytes, &recorded).err().map(|e| format!("{e:#}")),
        process: chosen,
    })
}

fn trial(trace: &Opened, chosen: &Chosen, recorded: &Prepared, seed: u64, window_ns: u64) -> Result<Trial> {
    let shuffle = Shuffle { seed, window_ns };
    let other = (recorded.threads > 1).then(|| prepare(trace, chosen.process(trace), Some(shuffle)));
    Ok(Trial { other: other.transpose()?, vary: Vary { seed } })
}

struct Search {
    bed: Bed,
    peak_bytes: u64,
    step_bytes: u64,
}

impl Search {
    fn new(peak_bytes: u64) -> Result<Search> {
        let most = peak_bytes.saturating_mul(MOST_FACTOR).saturating_add(MOST_MORE_BYTES);
        let bed = usize::try_from(most.next_multiple_of(PAGE_BYTES)).ok().and_then(Bed::new);
        let bed = bed.context("there is no room to try pools of five times what was live")?;
        let step_bytes = (peak_bytes / FINENESS).next_multiple_of(PAGE_BYTES).max(PAGE_BYTES);
        Ok(Search { bed, peak_bytes, step_bytes })
    }

    fn run(&mut self, pool_bytes: u64, recorded: &Prepared, trial: &Trial) -> Result<PoolRun> {
        let prepared = trial.other.as_ref().unwrap_or(recorded);
        let program = Program::new(&prepared.file, prepared.compiled.slots);
        let pool_bytes = usize::try_from(pool_bytes).unwrap_or(usize::MAX);
        PoolRun::of(&mut self.bed, pool_bytes, &program, trial.vary).context("the program of operations")
    }

    /// The smallest pool that serves a run, and the largest below it that was tried and did not; of pools
    /// larger than `low_bytes`, which did not either.
    fn smallest(&mut self, recorded: &Prepared, trial: &Trial, low_bytes: u64) -> Result<(u64, u64)> {
        let step_bytes = self.step_bytes;
        // What was live does not fit into as many bytes of pool, which has a few of its own.
        let live = if low_bytes == 0 { self.peak_bytes } else { low_bytes };
        let range = Range {
            low_bytes: live / step_bytes * step_bytes,
            first_bytes: live + live / 8 + PAGE_BYTES,
            most_bytes: self.bed.most_bytes() as u64,
            step_bytes,
        };
        let found = smallest(range, |bytes| self.run(bytes, recorded, trial).map(|run| run.is_served()))?;
        let found = found.with_context(|| {
            format!("no pool of up to {MOST_FACTOR} times what was live serves all requests")
        })?;
        Ok((found.bytes, found.fails_bytes))
    }

    /// What is needed and the margin, in a round number that serves every run.
    fn recommend<'t, I: Iterator<Item = &'t Trial>>(
        &mut self,
        needed_bytes: u64,
        margin_percent: u64,
        recorded: &Prepared,
        all: impl Fn() -> I,
    ) -> Result<u64> {
        let wanted = needed_bytes.saturating_add(needed_bytes.saturating_mul(margin_percent) / 100);
        let mut bytes = readable(wanted);
        for _ in 0..RAISES_MAX {
            let mut is_served = true;
            for trial in all() {
                is_served &= self.run(bytes, recorded, trial)?.is_served();
            }
            if is_served {
                return Ok(bytes);
            }
            bytes = readable(bytes + 1);
        }
        Err(Problem::new(
            format!("pools of up to {bytes} bytes serve some orders of the calls and not others"),
            "let the pool grow: heapscribe run --heap tlsf --grow SIZE",
        )
        .into())
    }
}

/// The pool heap itself, with its lock and all memory touched, in a process of its own.
fn verify(pool_bytes: u64, recorded: &Prepared) -> Result<()> {
    let task = Task {
        heap: Subject::Tlsf,
        look: Look::Nothing,
        touch: Touch::Pages,
        pool_bytes,
        grow_bytes: 0,
        slots: recorded.compiled.slots,
        moments: recorded.compiled.moments,
    };
    let found = measure(&task, recorded)?;
    anyhow::ensure!(found.outcome.failures == 0, "{} requests got nothing", found.outcome.failures);
    Ok(())
}
