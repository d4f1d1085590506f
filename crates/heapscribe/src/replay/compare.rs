//! Compares heaps. One run of each heap measures memory; further rounds over all heaps time the calls, so that
//! a busy machine affects each of them. Each figure is the median of the rounds.

use heapscribe_replay::{Compiled, Footprint, Latency, Moment, Timed, Touch};
use serde::Serialize;

use super::child::{Look, Measurement, Task, measure};
use super::chosen::Chosen;
use super::prepare::Prepared;
use super::subject::Subject;
use super::trim::Trim;

/// How heaps are run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) heaps: Vec<Subject>,
    pub(crate) rounds: u32,
    pub(crate) touch: Touch,
    pub(crate) pool_bytes: u64,
    pub(crate) grow_bytes: u64,
}

/// The results of all heaps.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Comparison {
    /// Changes when a key changes its name or meaning.
    pub(crate) format: u32,
    pub(crate) process: Chosen,
    pub(crate) threads: usize,
    pub(crate) calls: u64,
    pub(crate) blocks: u64,
    pub(crate) peak_live_bytes: u64,
    pub(crate) peak_live_blocks: u64,
    pub(crate) peak_ns: u64,
    pub(crate) out_of_order: u64,
    pub(crate) rounds: u32,
    pub(crate) heaps: Vec<Heap>,
}

/// The results of a heap.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Heap {
    pub(crate) name: String,
    /// Why there are no results; none when there are.
    pub(crate) error: Option<String>,
    /// Failed requests.
    pub(crate) failures: u64,
    pub(crate) failed_max_bytes: u64,
    pub(crate) pools: u64,
    pub(crate) pool_bytes: u64,
    pub(crate) peak_footprint_bytes: u64,
    /// Peak footprint per byte of peak live memory.
    pub(crate) peak_ratio: f64,
    /// Mean footprint per mean live byte.
    pub(crate) mean_ratio: f64,
    /// Largest amount of free bytes outside the largest free block; none if the heap does not say.
    pub(crate) torn_max_bytes: Option<u64>,
    pub(crate) latency: Latency,
    pub(crate) footprint: Footprint,
}

/// Runs all heaps.
pub(crate) fn compare(plan: &Plan, chosen: Chosen, prepared: &Prepared) -> Comparison {
    let Compiled { allocs, frees, reallocs, .. } = prepared.compiled;
    let (peak_live_bytes, peak_live_blocks) = prepared.peak_live();
    let mut runs: Vec<Result<Vec<Measurement>, String>> = plan.heaps.iter().map(|_| Ok(Vec::new())).collect();
    for round in 0..=plan.rounds {
        // The first one is for memory.
        let look = if round == 0 { Look::Memory } else { Look::Time };
        for (heap, runs) in plan.heaps.iter().zip(&mut runs) {
            let Ok(found) = runs else { continue };
            match measure(&task(plan, heap, look, prepared), prepared) {
                Ok(one) => found.push(one),
                Err(e) => *runs = Err(format!("{e:#}")),
            }
        }
    }
    let heaps = plan.heaps.iter().zip(runs).map(|(heap, runs)| Heap::of(heap, runs, peak_live_bytes));
    Comparison {
        format: 1,
        process: chosen,
        threads: prepared.threads,
        calls: allocs + frees + reallocs,
        blocks: allocs,
        peak_live_bytes,
        peak_live_blocks,
        peak_ns: prepared.peak.ns,
        out_of_order: prepared.compiled.out_of_order,
        rounds: plan.rounds,
        heaps: heaps.collect(),
    }
}

fn task(plan: &Plan, heap: &Subject, look: Look, prepared: &Prepared) -> Task {
    Task {
        heap: heap.clone(),
        look,
        touch: plan.touch,
        pool_bytes: plan.pool_bytes,
        grow_bytes: plan.grow_bytes,
        slots: prepared.compiled.slots,
        moments: prepared.compiled.moments,
        threads: 0,
        trim: Trim::Never,
        environment: Vec::new(),
    }
}

impl Heap {
    fn of(heap: &Subject, runs: Result<Vec<Measurement>, String>, peak_live_bytes: u64) -> Heap {
        let name = heap.name();
        let runs = match runs {
            Ok(runs) => runs,
            Err(error) => return Heap { name, error: Some(error), ..Heap::default() },
        };
        let first = runs.first().cloned().unwrap_or_default();
        let footprint = first.footprint.unwrap_or_default();
        let timed: Vec<&Latency> = runs.iter().filter_map(|run| run.latency.as_ref()).collect();
        let sum = |of: fn(&Moment) -> u64| footprint.moments.iter().map(|m| of(m) as f64).sum::<f64>();
        let says = footprint.moments.iter().any(|moment| moment.free_bytes > 0);
        Heap {
            name,
            error: None,
            failures: first.outcome.failures,
            failed_max_bytes: first.outcome.failed_max_bytes,
            pools: first.pools,
            pool_bytes: first.pool_bytes,
            peak_footprint_bytes: footprint.peak_bytes,
            peak_ratio: footprint.peak_bytes as f64 / peak_live_bytes.max(1) as f64,
            mean_ratio: sum(|m| m.footprint_bytes) / sum(|m| m.live_bytes).max(1.0),
            torn_max_bytes: says
                .then(|| footprint.moments.iter().map(Moment::torn_bytes).max().unwrap_or_default()),
            latency: median(&timed),
            footprint,
        }
    }
}

/// The median of each figure.
fn median(rounds: &[&Latency]) -> Latency {
    let Some(first) = rounds.first() else { return Latency::default() };
    let kinds = first.kinds.iter().map(|(kind, _)| {
        let of =
            |round: &&Latency| round.kinds.iter().find(|(name, _)| name == kind).map(|(_, timed)| *timed);
        let all: Vec<Timed> = rounds.iter().filter_map(of).collect();
        let middle = |figure: fn(&Timed) -> u64| middle(all.iter().map(figure).collect());
        let timed = Timed {
            calls: middle(|t| t.calls),
            p50_ns: middle(|t| t.p50_ns),
            p90_ns: middle(|t| t.p90_ns),
            p99_ns: middle(|t| t.p99_ns),
            p999_ns: middle(|t| t.p999_ns),
            p9999_ns: middle(|t| t.p9999_ns),
            max_ns: middle(|t| t.max_ns),
        };
        (kind.clone(), timed)
    });
    Latency {
        kinds: kinds.collect(),
        left_out: rounds.iter().map(|round| round.left_out).sum(),
        clock_ns: middle(rounds.iter().map(|round| round.clock_ns).collect()),
        clock: first.clock.clone(),
    }
}

/// The value in the middle, the lower one of two.
fn middle(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_taken_figure_by_figure() {
        let round = |p50_ns, max_ns| Latency {
            kinds: vec![("free".to_owned(), Timed { calls: 9, p50_ns, max_ns, ..Timed::default() })],
            left_out: 1,
            ..Latency::default()
        };
        let rounds = [round(30, 500), round(10, 900), round(20, 700)];
        let found = median(&rounds.iter().collect::<Vec<_>>());
        let (_, timed) = &found.kinds[0];
        assert_eq!((timed.calls, timed.p50_ns, timed.max_ns, found.left_out), (9, 20, 700, 3));
        assert_eq!([middle(vec![]), middle(vec![4]), middle(vec![9, 4])], [0, 4, 4]);
        assert_eq!(median(&[]), Latency::default());
    }

    #[test]
    fn figures_of_a_heap_come_from_its_moments() {
        let at = |live_bytes, footprint_bytes, free_bytes| Moment {
            live_bytes,
            footprint_bytes,
            free_bytes,
            largest_free_bytes: 5,
            ..Moment::default()
        };
        let moments = vec![at(100, 200, 20), at(300, 400, 50)];
        let footprint = Footprint { peak_bytes: 450, moments, ..Footprint::default() };
        let found = Measurement { footprint: Some(footprint), ..Measurement::default() };
        let heap = Heap::of(&Subject::Tlsf, Ok(vec![found]), 300);
        assert_eq!((heap.peak_ratio, heap.mean_ratio, heap.torn_max_bytes), (1.5, 1.5, Some(45)));
        let heap = Heap::of(&Subject::System, Err("why".to_owned()), 300);
        assert_eq!((heap.name.as_str(), heap.error.as_deref()), ("system", Some("why")));
    }
}
