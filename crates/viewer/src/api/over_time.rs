//! The heap over time, its peak, and what programs said of themselves: what the page draws before any event is read, as
//! the index has it.

use std::collections::{BTreeMap, HashMap};

use heapscribe_analyze::answer::Answer;
use heapscribe_analyze::input::{History, ProcessFacts};
use heapscribe_analyze::moments::{NoteKind, NoteMoment};
use heapscribe_analyze::{Highest, ProcessStep};
use heapscribe_convert::ranges::Ranges;
use heapscribe_symbols::lossy;
use serde::Serialize;

use super::columns::TimelineColumns;
use crate::model::{LANE_PARTS, LANES_MAX, NOTES_MAX, program};

/// The heap over time.
#[derive(Serialize, Default)]
pub(super) struct OverTime {
    duration_ns: u64,
    peak: Peak,
    timeline: TimelineColumns,
    /// Of several processes those that held most.
    lanes: Vec<Lane>,
    notes: NoteColumns,
}

/// The moment with most live bytes.
#[derive(Clone, Copy, Serialize, Default)]
pub(super) struct Peak {
    bytes: u64,
    pub(super) time_ns: u64,
}

impl OverTime {
    /// Of a recording that has ranges.
    pub(super) fn of_ranges<H: History>(ranges: &Ranges<'_, H>, processes: &[ProcessFacts]) -> OverTime {
        let heap = ranges.heap();
        let Highest { bytes, time_ns } = heap.peak;
        OverTime {
            duration_ns: ranges.extent().duration_ns,
            peak: Peak { bytes, time_ns },
            timeline: TimelineColumns::of(&heap.timeline),
            lanes: if processes.len() > 1 { lanes(&heap.processes, processes) } else { Vec::new() },
            notes: NoteColumns::of(ranges),
        }
    }

    /// Of one that has none.
    pub(super) fn of_answer(answer: &Answer) -> OverTime {
        let Answer { duration_ns, peak, timeline, .. } = answer;
        OverTime {
            duration_ns: *duration_ns,
            peak: Peak { bytes: peak.bytes, time_ns: peak.time_ns },
            timeline: TimelineColumns::of(timeline),
            ..OverTime::default()
        }
    }

    /// Its highest moment.
    pub(super) fn peak(&self) -> Peak {
        self.peak
    }
}

/// The heap of a process at the ends of the steps in which it did anything: it is as high until the next of them.
#[derive(Serialize, PartialEq, Eq, Debug)]
struct Lane {
    process: u32,
    pid: u32,
    name: String,
    max_bytes: u64,
    step: Vec<u32>,
    heap_end_bytes: Vec<u64>,
}

/// Those that held most, the most first.
fn lanes(steps: &[ProcessStep], processes: &[ProcessFacts]) -> Vec<Lane> {
    let mut by_process = BTreeMap::<u32, Lane>::new();
    for row in steps {
        let Some(facts) = processes.get(row.process as usize) else { continue };
        let lane = by_process.entry(row.process).or_insert_with(|| Lane {
            process: row.process,
            pid: facts.pid,
            name: program(facts),
            max_bytes: 0,
            step: Vec::new(),
            heap_end_bytes: Vec::new(),
        });
        lane.max_bytes = lane.max_bytes.max(row.heap_end_bytes);
        lane.step.push(row.step);
        lane.heap_end_bytes.push(row.heap_end_bytes);
    }
    let mut lanes: Vec<Lane> = by_process.into_values().collect();
    lanes.sort_by_key(|lane| (std::cmp::Reverse(lane.max_bytes), lane.process));
    lanes.truncate(LANES_MAX);
    let most_bytes = lanes.first().map_or(0, |lane| lane.max_bytes);
    lanes.retain(|lane| lane.max_bytes >= most_bytes / LANE_PARTS);
    lanes
}

/// Marks, and sections from their begin to their end, by name and time.
#[derive(Serialize, PartialEq, Eq, Debug, Default)]
struct NoteColumns {
    name: Vec<String>,
    is_section: Vec<bool>,
    process: Vec<usize>,
    from_ns: Vec<u64>,
    to_ns: Vec<u64>,
    /// How many there are beside these.
    left_out: usize,
}

impl NoteColumns {
    fn of<H: History>(ranges: &Ranges<'_, H>) -> NoteColumns {
        let mut columns = NoteColumns::default();
        for name in ranges.note_names().unwrap_or_default() {
            columns.add(&lossy(&name), &ranges.notes(&name), ranges.extent().begin_ns);
        }
        columns
    }

    /// Adds those of a name. A section that does not end is left out, and so is an end without a begin.
    fn add(&mut self, name: &str, notes: &[NoteMoment], begin_ns: u64) {
        let mut open = HashMap::<(usize, u32), Vec<u64>>::new();
        for note in notes {
            let ns = note.ns.saturating_sub(begin_ns);
            let of_thread = open.entry((note.process, note.thread)).or_default();
            match note.kind {
                NoteKind::Mark => self.push(name, note.process, false, ns, ns),
                NoteKind::Begin => of_thread.push(ns),
                NoteKind::End => {
                    if let Some(from_ns) = of_thread.pop() {
                        self.push(name, note.process, true, from_ns, ns);
                    }
                }
            }
        }
    }

    fn push(&mut self, name: &str, process: usize, is_section: bool, from_ns: u64, to_ns: u64) {
        if self.name.len() == NOTES_MAX {
            self.left_out += 1;
            return;
        }
        self.name.push(name.to_owned());
        self.is_section.push(is_section);
        self.process.push(process);
        self.from_ns.push(from_ns);
        self.to_ns.push(to_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_of_threads_are_paired_and_what_is_too_much_is_counted() {
        let note = |ns, thread, kind| NoteMoment { ns, process: 0, thread, kind };
        let (mark, begin, end) = (NoteKind::Mark, NoteKind::Begin, NoteKind::End);
        let notes = [(5, 1, begin), (6, 2, begin), (7, 1, begin), (8, 1, end), (9, 2, end), (9, 3, end)];
        let mut columns = NoteColumns::default();
        columns.add("load", &notes.map(|(ns, thread, kind)| note(ns, thread, kind)), 5);
        assert_eq!((&columns.from_ns[..], &columns.to_ns[..]), (&[2, 1][..], &[3, 4][..]));
        columns.add("m", &vec![note(9, 1, mark); NOTES_MAX], 5);
        assert_eq!((columns.name.len(), columns.left_out), (NOTES_MAX, 2));
        assert_eq!((columns.name[2].as_str(), columns.is_section[2], columns.to_ns[2]), ("m", false, 4));
    }

    #[test]
    fn processes_that_held_most_have_a_lane() {
        let facts = |pid| ProcessFacts { pid, exe: b"/bin/cc1".to_vec(), ..ProcessFacts::default() };
        let processes: Vec<_> = (0..LANES_MAX as u32 + 2).map(facts).collect();
        let row = |step, process, heap_end_bytes| ProcessStep {
            step,
            process,
            heap_end_bytes,
            ..ProcessStep::default()
        };
        let steps: Vec<_> = (0..processes.len() as u32)
            .flat_map(|process| [row(1, process, 10 * u64::from(process)), row(4, process, 0)])
            .collect();
        let lanes = lanes(&steps, &processes);
        assert_eq!((lanes.len(), lanes[0].process, lanes[0].name.as_str()), (LANES_MAX, 9, "cc1"));
        assert_eq!((&lanes[0].step[..], &lanes[0].heap_end_bytes[..]), (&[1, 4][..], &[90, 0][..]));
    }
}
