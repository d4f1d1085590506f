//! The heap over time as bands: of each of the processes, or of the threads, that held most; the rest is one band.

use std::cmp::Reverse;

use heapscribe_analyze::input::{History, ProcessFacts};
use heapscribe_convert::ranges::Ranges;
use heapscribe_index::Key;
use serde::Serialize;

use crate::model::{BANDS_MAX, program};

/// The bands, the highest first.
#[derive(Clone, Serialize, PartialEq, Eq, Debug, Default)]
pub(super) struct Bands {
    /// When each stretch of time begins, ns from the start.
    from_ns: Vec<u64>,
    bands: Vec<Band>,
    /// What all others hold together, and how many these are.
    rest_bytes: Vec<u64>,
    others: usize,
}

/// What a process or a thread holds at the end of each stretch.
#[derive(Clone, Serialize, PartialEq, Eq, Debug, Default)]
struct Band {
    process: u32,
    /// Its number in questions; none of a process, and of threads that are not told apart.
    thread: Option<u32>,
    name: String,
    pid: u32,
    max_bytes: u64,
    bytes: Vec<u64>,
}

/// Those of processes, as the heap over time has them.
pub(super) fn of_processes<H: History>(ranges: &Ranges<'_, H>, processes: &[ProcessFacts]) -> Bands {
    let heap = ranges.heap();
    let steps = heap.timeline.steps.len();
    let mut levels: Vec<Vec<u64>> = vec![Vec::new(); processes.len()];
    for row in &heap.processes {
        let Some(level) = levels.get_mut(row.process as usize) else { continue };
        // It is as high as it was until the step in which it changes.
        let before = level.last().copied().unwrap_or(0);
        level.resize(steps.min(row.step as usize), before);
        level.push(row.heap_end_bytes);
    }
    let band = |(process, mut bytes): (usize, Vec<u64>)| {
        let last = bytes.last().copied().unwrap_or(0);
        bytes.resize(steps, last);
        band(process as u32, None, processes, bytes)
    };
    let begin_ns = heap.timeline.begin_ns;
    let from_ns = (0..steps as u64).map(|step| begin_ns + step * heap.timeline.step_ns).collect();
    highest(from_ns, levels.into_iter().enumerate().map(band).collect())
}

/// Those of threads.
pub(super) fn of_threads<H: History>(ranges: &Ranges<'_, H>, processes: &[ProcessFacts]) -> Bands {
    let curves = ranges.heap_of_threads();
    let of_each = curves.threads.into_iter().map(|((process, thread), bytes)| {
        band(process, (thread != Key::ANY_THREAD).then_some(thread), processes, bytes)
    });
    highest(curves.from_ns, of_each.collect())
}

fn band(process: u32, thread: Option<u32>, processes: &[ProcessFacts], bytes: Vec<u64>) -> Band {
    let facts = processes.get(process as usize);
    Band {
        process,
        thread,
        name: facts.map(program).unwrap_or_default(),
        pid: facts.map_or(0, |facts| facts.pid),
        max_bytes: bytes.iter().copied().max().unwrap_or(0),
        bytes,
    }
}

/// Those that held most; the others are added up.
fn highest(from_ns: Vec<u64>, mut bands: Vec<Band>) -> Bands {
    bands.retain(|band| band.max_bytes > 0);
    bands.sort_by_key(|band| (Reverse(band.max_bytes), band.process, band.thread));
    let others = bands.split_off(bands.len().min(BANDS_MAX));
    let mut rest_bytes = vec![0; if others.is_empty() { 0 } else { from_ns.len() }];
    for band in &others {
        rest_bytes.iter_mut().zip(&band.bytes).for_each(|(sum, bytes): (&mut u64, _)| *sum += bytes);
    }
    Bands { from_ns, bands, rest_bytes, others: others.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_are_told_apart_and_the_rest_is_one() {
        let processes = [ProcessFacts { pid: 7, exe: b"/bin/app".to_vec(), ..ProcessFacts::default() }];
        let of = |thread: u32| band(0, Some(thread), &processes, vec![u64::from(thread), 1]);
        let all = highest(vec![0, 5], (0..10).map(of).collect());
        let shown: Vec<_> = all.bands.iter().map(|band| (band.thread, band.max_bytes)).collect();
        assert_eq!(shown[0], (Some(9), 9));
        assert_eq!((shown.len(), all.others, &all.rest_bytes[..]), (BANDS_MAX, 3, &[3, 3][..]));
        assert_eq!((all.bands[0].name.as_str(), all.bands[0].pid), ("app", 7));
        assert_eq!(highest(vec![0, 5], vec![of(1)]).rest_bytes, Vec::<u64>::new());
    }
}
