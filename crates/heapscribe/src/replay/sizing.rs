//! Finds the pool size that a program needs: the smallest pool of the pool heap that serves every request without
//! growing. No two runs of a program are the same, so variations are tried too: other thread orders, sizes
//! changed by up to 5 %, other pool addresses. The largest size counts, plus a margin.

use anyhow::Result;
use heapscribe_replay::{Tightest, Touch, Variation};
use serde::Serialize;

use super::child::{Look, Task, measure};
use super::chosen::Chosen;
use super::prepare::{Prepared, prepare};
use super::search::{Search, Trial};
use super::subject::Subject;
use super::trim::Trim;
use heapscribe_convert::Opened;
use heapscribe_convert::in_order::Shuffle;
use heapscribe_diagnostics::Problem;

/// How a size is found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SizingOptions {
    /// On top of the largest size, in percent.
    pub(crate) margin_percent: u64,
    /// Variations of the recording.
    pub(crate) trials: u64,
    /// How late threads may be in variations.
    pub(crate) window_ns: u64,
}

/// The result.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PoolSize {
    /// Changes when a key changes its name or meaning.
    pub(crate) format: u32,
    pub(crate) process: Chosen,
    pub(crate) threads: usize,
    pub(crate) requests: u64,
    /// Peak live bytes, and the blocks then.
    pub(crate) peak_live_bytes: u64,
    pub(crate) peak_live_blocks: u64,
    /// Peak use of the pool, with headers and rounding.
    pub(crate) peak_used_bytes: u64,
    /// The smallest pool that serves the recording.
    pub(crate) smallest_bytes: u64,
    /// The largest pool that was tried and does not serve it.
    pub(crate) fails_bytes: u64,
    /// The smallest pool when its largest free block was smallest.
    pub(crate) tightest: Tightest,
    /// Variations, and the pool that serves all of them.
    pub(crate) trials: u64,
    pub(crate) window_ns: u64,
    pub(crate) needed_bytes: u64,
    pub(crate) margin_percent: u64,
    pub(crate) recommended_bytes: u64,
    /// Why the pool heap itself did not serve the recording in a pool of that size, or why that says little; none when
    /// it did.
    pub(crate) not_verified: Option<String>,
}

/// Finds the size.
pub(crate) fn find(trace: &Opened, mut chosen: Chosen, options: SizingOptions) -> Result<PoolSize> {
    let recorded = prepare(trace, chosen.process(trace), None)?;
    chosen.doubt(&recorded.doubts, recorded.may_lack_frees);
    let compiled = recorded.compiled;
    if compiled.allocs == 0 {
        return Err(Problem::new("the process allocated nothing", "any pool size works").into());
    }
    let trials = (1..=options.trials).map(|seed| trial(trace, &chosen, &recorded, seed, options.window_ns));
    let trials: Vec<Trial> = trials.collect::<Result<_>>()?;
    let mut search = Search::new(compiled.peak_bytes)?;
    let as_recorded = Trial::new(None, Variation::default(), &recorded)?;
    let (smallest_bytes, fails_bytes) = search.smallest(&recorded, &as_recorded, 0)?;
    let in_smallest = search.look(smallest_bytes, &recorded, &as_recorded)?;
    let needed_bytes = search.needed(smallest_bytes, &recorded, &trials)?;
    let all: Vec<&Trial> = std::iter::once(&as_recorded).chain(&trials).collect();
    let recommended_bytes = search.recommend(needed_bytes, options.margin_percent, &recorded, &all)?;
    let (peak_live_bytes, peak_live_blocks) = recorded.peak_live();
    Ok(PoolSize {
        format: 1,
        threads: recorded.threads,
        requests: compiled.allocs + compiled.reallocs,
        peak_live_bytes,
        peak_live_blocks,
        peak_used_bytes: in_smallest.peak_used_bytes,
        smallest_bytes,
        fails_bytes,
        tightest: in_smallest.tightest,
        trials: options.trials,
        window_ns: options.window_ns,
        needed_bytes,
        margin_percent: options.margin_percent,
        recommended_bytes,
        not_verified: match verify(recommended_bytes, &recorded) {
            Err(e) => Some(format!("the pool heap itself does not serve the recording: {e:#}")),
            Ok(()) if chosen.estimate.is_empty() => None,
            Ok(()) => Some("not everything that the program did was recorded".to_owned()),
        },
        process: chosen,
    })
}

fn trial(trace: &Opened, chosen: &Chosen, recorded: &Prepared, seed: u64, window_ns: u64) -> Result<Trial> {
    let shuffle = Shuffle { seed, window_ns };
    let other = (recorded.threads > 1).then(|| prepare(trace, chosen.process(trace), Some(shuffle)));
    Trial::new(other.transpose()?, Variation { seed }, recorded)
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
        threads: 0,
        trim: Trim::Never,
        environment: Vec::new(),
    };
    let found = measure(&task, recorded)?;
    anyhow::ensure!(found.outcome.failures == 0, "{} requests failed", found.outcome.failures);
    Ok(())
}
