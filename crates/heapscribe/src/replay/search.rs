//! Searches for pool sizes: the smallest pool that serves the operations, and one that serves variations too.
//! Each pool is tried in its own memory ([`PoolMemory`]), so several are tried in parallel with the same results.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{panic, thread};

use anyhow::{Context, Result};
use heapscribe_replay::smallest::{Range, readable, smallest};
use heapscribe_replay::{PoolMemory, PoolRun, Program, Variation, floor_bytes};

use super::prepare::Prepared;
use heapscribe_diagnostics::Problem;

const PAGE_BYTES: u64 = 4096;
/// Resolution of the search: this part of the peak.
const FINENESS: u64 = 1024;
/// The largest pool that is tried: the peak times this factor, plus a constant.
const MOST_FACTOR: u64 = 5;
const MOST_MORE_BYTES: u64 = 16 << 20;
/// How many pools are tried in parallel, and how much memory they may take together.
const BESIDE_MAX: usize = 4;
const BESIDE_BYTES_MAX: u64 = 1 << 30;
/// How often a recommendation is raised that does not serve every variation.
const RAISES_MAX: u32 = 8;

/// A run: operations, and how they differ from the recording.
pub(super) struct Trial {
    /// Operations in another order; none when the order is the recorded one.
    other: Option<Prepared>,
    vary: Variation,
    /// No smaller pool serves it.
    floor_bytes: u64,
}

impl Trial {
    pub(super) fn new(other: Option<Prepared>, vary: Variation, recorded: &Prepared) -> Result<Trial> {
        let mut trial = Trial { other, vary, floor_bytes: 0 };
        trial.floor_bytes = floor_bytes(&trial.program(recorded), vary).context(PROGRAM)?;
        Ok(trial)
    }

    fn program<'p>(&'p self, recorded: &'p Prepared) -> Program<'p> {
        let prepared = self.other.as_ref().unwrap_or(recorded);
        Program::new(&prepared.file, prepared.compiled.slots)
    }
}

const PROGRAM: &str = "cannot replay the operations";

/// How many pools may be tried in parallel if each uses all its memory.
fn beside(peak_bytes: u64, cores: usize) -> usize {
    let of_memory = BESIDE_BYTES_MAX / peak_bytes.saturating_mul(2).max(1);
    cores.min(BESIDE_MAX).min(usize::try_from(of_memory).unwrap_or(usize::MAX)).max(1)
}

/// Tries pools.
pub(super) struct Search {
    /// One for each pool that is tried in parallel.
    beds: Vec<PoolMemory>,
    peak_bytes: u64,
    step_bytes: u64,
}

impl Search {
    pub(super) fn new(peak_bytes: u64) -> Result<Search> {
        let most = peak_bytes.saturating_mul(MOST_FACTOR).saturating_add(MOST_MORE_BYTES);
        let most = most.checked_next_multiple_of(PAGE_BYTES).and_then(|most| usize::try_from(most).ok());
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let beds: Vec<PoolMemory> =
            (0..beside(peak_bytes, cores)).map_while(|_| PoolMemory::new(most?)).collect();
        anyhow::ensure!(!beds.is_empty(), "not enough memory to try pools of five times the peak");
        let step_bytes = (peak_bytes / FINENESS).next_multiple_of(PAGE_BYTES).max(PAGE_BYTES);
        Ok(Search { beds, peak_bytes, step_bytes })
    }

    /// A run with all its figures.
    pub(super) fn look(&mut self, pool_bytes: u64, recorded: &Prepared, trial: &Trial) -> Result<PoolRun> {
        let pool_bytes = usize::try_from(pool_bytes).unwrap_or(usize::MAX);
        PoolRun::of(&mut self.beds[0], pool_bytes, &trial.program(recorded), trial.vary).context(PROGRAM)
    }

    /// Which of some pools serve their runs; each bed takes the next one when it is done with one.
    fn serve(&mut self, runs: &[(u64, &Trial)], recorded: &Prepared) -> Result<Vec<bool>> {
        let (next, mut served) = (AtomicUsize::new(0), vec![false; runs.len()]);
        let work = &|bed: &mut PoolMemory| -> Result<Vec<(usize, bool)>> {
            let mut found = Vec::new();
            loop {
                let n = next.fetch_add(1, Relaxed);
                let Some((bytes, trial)) = runs.get(n) else { return Ok(found) };
                found.push((n, serves(bed, *bytes, trial, recorded)?));
            }
        };
        let found: Vec<Result<Vec<(usize, bool)>>> = thread::scope(|scope| {
            let beds = self.beds.iter_mut().take(runs.len());
            let workers: Vec<_> = beds.map(|bed| scope.spawn(move || work(bed))).collect();
            workers.into_iter().map(|w| w.join().unwrap_or_else(|why| panic::resume_unwind(why))).collect()
        });
        for one in found {
            one?.into_iter().for_each(|(n, is_served)| served[n] = is_served);
        }
        Ok(served)
    }

    /// The pool that serves other runs, too: at least as large as the one given.
    pub(super) fn needed(&mut self, mut bytes: u64, recorded: &Prepared, trials: &[Trial]) -> Result<u64> {
        let mut left = trials;
        while !left.is_empty() {
            let runs: Vec<_> = left.iter().take(self.beds.len()).map(|trial| (bytes, trial)).collect();
            let served = self.serve(&runs, recorded)?;
            match served.iter().position(|is_served| !is_served) {
                Some(at) => {
                    bytes = self.smallest(recorded, &left[at], bytes)?.0;
                    left = &left[at + 1..];
                }
                None => left = &left[runs.len()..],
            }
        }
        Ok(bytes)
    }

    /// The smallest pool that serves a run, and the largest below it that was tried and did not; of pools
    /// larger than `low_bytes`, which did not either.
    pub(super) fn smallest(
        &mut self,
        recorded: &Prepared,
        trial: &Trial,
        low_bytes: u64,
    ) -> Result<(u64, u64)> {
        let step_bytes = self.step_bytes;
        // What was live does not fit into as many bytes of pool, which has a few of its own.
        let live = if low_bytes == 0 { self.peak_bytes } else { low_bytes };
        let range = Range {
            low_bytes: live / step_bytes * step_bytes,
            first_bytes: live + live / 8 + PAGE_BYTES,
            most_bytes: self.beds[0].most_bytes() as u64,
            step_bytes,
        };
        let found = smallest(range, |sizes| {
            self.serve(&sizes.iter().map(|bytes| (*bytes, trial)).collect::<Vec<_>>(), recorded)
        })?;
        let found = found
            .with_context(|| format!("no pool of up to {MOST_FACTOR} times the peak serves all requests"))?;
        Ok((found.bytes, found.fails_bytes))
    }

    /// What is needed and the margin, in a round number that serves every run.
    pub(super) fn recommend(
        &mut self,
        needed_bytes: u64,
        margin_percent: u64,
        recorded: &Prepared,
        all: &[&Trial],
    ) -> Result<u64> {
        let wanted = needed_bytes.saturating_add(needed_bytes.saturating_mul(margin_percent) / 100);
        let mut bytes = readable(wanted);
        for _ in 0..RAISES_MAX {
            let runs: Vec<_> = all.iter().map(|trial| (bytes, *trial)).collect();
            if self.serve(&runs, recorded)?.into_iter().all(|is_served| is_served) {
                return Ok(bytes);
            }
            bytes = readable(bytes + 1);
        }
        Err(Problem::new(
            format!("pools of up to {bytes} bytes serve only some orders of the calls"),
            "use a pool that grows: heapscribe run --heap tlsf --grow SIZE",
        )
        .into())
    }
}

/// Whether a pool serves a run; of one that is too small for certain without trying.
fn serves(bed: &mut PoolMemory, pool_bytes: u64, trial: &Trial, recorded: &Prepared) -> Result<bool> {
    if pool_bytes < trial.floor_bytes {
        return Ok(false);
    }
    let pool_bytes = usize::try_from(pool_bytes).unwrap_or(usize::MAX);
    PoolRun::serves(bed, pool_bytes, &trial.program(recorded), trial.vary).context(PROGRAM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_of_large_heaps_are_tried_one_by_one() {
        for (peak_bytes, cores, expected) in [
            (0, 1, 1),
            (1 << 20, 2, 2),
            (1 << 20, 64, 4),
            (200 << 20, 4, 2),
            (300 << 20, 4, 1),
            (u64::MAX, 8, 1),
        ] {
            assert_eq!(beside(peak_bytes, cores), expected, "{peak_bytes} {cores}");
        }
    }

    #[test]
    fn a_peak_beyond_all_memory_has_no_room() {
        for peak_bytes in [u64::MAX, u64::MAX / 4, u64::MAX / 5 - (16 << 20)] {
            assert!(Search::new(peak_bytes).is_err_and(|e| e.to_string().contains("not enough memory")));
        }
    }
}
