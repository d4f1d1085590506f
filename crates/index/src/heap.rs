//! The heap over time as sections: the peak, the steps of the timeline, and those of each process.

use std::io::{self, Write};

use heapscribe_analyze::answer::{Step, Timeline};
use heapscribe_analyze::{HeapOverTime, Highest, ProcessStep};
use heapscribe_formats::Source;

use crate::file::{IndexError, Kind, SectionReader, SectionWriter};

/// Writes it.
pub(crate) fn write<W: Write>(heap: &HeapOverTime, out: &mut SectionWriter<W>) -> io::Result<()> {
    let HeapOverTime { peak, timeline, processes } = heap;
    let step = |step: &Step| {
        [
            step.heap_max_bytes,
            step.heap_end_bytes,
            step.allocations,
            step.allocated_bytes,
            step.frees,
            step.freed_bytes,
        ]
    };
    let of_process = |step: &ProcessStep| {
        [
            u64::from(step.step),
            u64::from(step.process),
            step.heap_end_bytes,
            step.allocations,
            step.allocated_bytes,
            step.frees,
            step.freed_bytes,
        ]
    };
    out.section(Kind::Peak, 0, &[[peak.bytes, peak.time_ns, timeline.begin_ns, timeline.step_ns]])?;
    out.section(Kind::Steps, 0, &timeline.steps.iter().map(step).collect::<Vec<_>>())?;
    out.section(Kind::ProcessSteps, 0, &processes.iter().map(of_process).collect::<Vec<_>>())
}

/// Reads it; of so many processes.
pub(crate) fn read<S: Source>(
    sections: &SectionReader<S>,
    processes: usize,
) -> Result<HeapOverTime, IndexError> {
    let damaged = || IndexError::Damaged(0);
    let whole = sections.rows::<4>(Kind::Peak, 0)?.iter().next().ok_or_else(damaged)?;
    let [bytes, time_ns, begin_ns, step_ns] = whole;
    let step = |[max, end, allocations, allocated_bytes, frees, freed_bytes]: [u64; 6]| Step {
        heap_max_bytes: max,
        heap_end_bytes: end,
        allocations,
        allocated_bytes,
        frees,
        freed_bytes,
        ..Step::default()
    };
    let steps: Vec<Step> = sections.rows::<6>(Kind::Steps, 0)?.iter().map(step).collect();
    let of_process = |row: [u64; 7]| {
        let [number, process, heap_end_bytes, allocations, allocated_bytes, frees, freed_bytes] = row;
        let is_known = number < steps.len() as u64 && process < processes as u64;
        let (step, process) = (number as u32, process as u32);
        let row =
            ProcessStep { step, process, heap_end_bytes, allocations, allocated_bytes, frees, freed_bytes };
        is_known.then_some(row).ok_or_else(damaged)
    };
    let rows = sections.rows::<7>(Kind::ProcessSteps, 0)?;
    let processes = rows.iter().map(of_process).collect::<Result<Vec<ProcessStep>, _>>()?;
    if !processes.is_sorted_by_key(|row| (row.step, row.process)) {
        return Err(damaged());
    }
    let timeline = Timeline { begin_ns, step_ns, steps };
    Ok(HeapOverTime { peak: Highest { bytes, time_ns }, timeline, processes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heap_over_time_is_read_as_it_was_written() {
        let step = |n: u64| Step {
            heap_max_bytes: n,
            heap_end_bytes: n + 1,
            allocations: 2,
            allocated_bytes: n << 40,
            frees: 3,
            freed_bytes: 4,
            ..Step::default()
        };
        let of_process = |step, process| ProcessStep { step, process, freed_bytes: 9, ..Default::default() };
        let heap = HeapOverTime {
            peak: Highest { bytes: 77, time_ns: 88 },
            timeline: Timeline { begin_ns: 5, step_ns: 6, steps: (0..3).map(step).collect() },
            processes: vec![of_process(0, 1), of_process(2, 0)],
        };
        for (processes, is_refused) in [(2, false), (1, true)] {
            let mut out = SectionWriter::new(Vec::new()).unwrap();
            write(&heap, &mut out).unwrap();
            let sections = SectionReader::open(out.finish().unwrap().0).unwrap();
            assert_eq!(read(&sections, processes).ok(), (!is_refused).then(|| heap.clone()));
        }
    }
}
