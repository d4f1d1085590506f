//! How much was lost, as every view and every rule takes it.

use heapscribe_analyze::answer::Answer;
use heapscribe_formats::Process;
use heapscribe_wire::head::LossReason;

use crate::off;

/// What is missing that touches figures: the one place that puts it in words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Missing {
    /// Events.
    events: u64,
    /// Blocks without a slot in the table of live blocks.
    untracked: u64,
    /// Blocks that nobody saw freed.
    replaced: u64,
    /// For how long nothing was recorded, ns, of each process that this is true of.
    off_ns: Vec<u64>,
    /// Whether these are the rest of a recording, of which nobody counted the events before.
    is_rest: bool,
}

impl Missing {
    /// Of all processes of an answer.
    pub fn of(answer: &Answer) -> Missing {
        let count = |reason: LossReason| {
            let of_reason = answer.dropped.iter().filter(|dropped| dropped.reason == reason as u8);
            of_reason.map(|dropped| dropped.count).fold(0, u64::saturating_add)
        };
        Missing {
            events: lost_events(answer),
            untracked: count(LossReason::LiveTable),
            replaced: count(LossReason::ReplacedBlock),
            off_ns: answer.processes.iter().filter_map(|process| off::total_ns(&process.off)).collect(),
            is_rest: answer.processes.iter().any(|process| !process.evicted.is_counted()),
        }
    }

    /// Of a process, by what its trace says of its end.
    pub fn of_process(process: &Process) -> Missing {
        let Some(end) = &process.end else { return Missing::default() };
        let count = |reason: LossReason| end.drops[reason as usize];
        let off: Vec<(u64, u64)> = end.off_periods().collect();
        Missing {
            events: LossReason::lost_events(&end.drops),
            untracked: count(LossReason::LiveTable),
            replaced: count(LossReason::ReplacedBlock),
            off_ns: off::total_ns(&off).into_iter().collect(),
            is_rest: !process.evicted.is_counted(),
        }
    }

    /// What was lost and why that leaves figures open.
    pub fn causes(&self) -> Vec<String> {
        [
            (self.events, "event is missing", "events are missing"),
            (
                self.untracked,
                "block was not followed, so its free is not known",
                "blocks were not followed, so their frees are not known",
            ),
            (
                self.replaced,
                "block was freed unseen, and others may have been",
                "blocks were freed unseen, and others may have been",
            ),
        ]
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(n, one, more)| format!("{} {}", heapscribe_units::count(n), if n == 1 { one } else { more }))
        .chain(self.off())
        .chain(self.before())
        .collect()
    }

    /// `recording was off for 300 ms`, where it was.
    pub fn off(&self) -> Option<String> {
        off::cause(&self.off_ns)
    }

    /// That earlier events are not in the trace, where nobody counted them.
    pub fn before(&self) -> Option<String> {
        self.is_rest.then(|| "the events before the rest of this recording are not in the trace".to_owned())
    }

    /// Whether frees may be missing, so that less may have been live than the trace says.
    pub fn may_lack_frees(&self) -> bool {
        self.events > 0 || self.untracked > 0 || self.replaced > 0
    }

    /// Where a block may have been allocated whose free alone was seen.
    pub fn unseen_allocations(&self) -> String {
        unseen_allocations(!self.off_ns.is_empty(), self.untracked > 0)
    }
}

/// The same of a recording that was off for a time, or whose table of live blocks was full.
pub fn unseen_allocations(was_off: bool, was_table_full: bool) -> String {
    let at_times =
        [(was_off, ", while recording was off"), (was_table_full, ", while the block table was full")];
    let at_times: String = at_times.iter().filter(|(is_so, _)| *is_so).map(|(_, words)| *words).collect();
    format!("before the recording, in a parent before it forked{at_times}, or in another heap")
}

/// What of the losses touches figures, in words.
pub fn causes(answer: &Answer) -> Vec<String> {
    Missing::of(answer).causes()
}

/// Events that are not in the trace: what the recorder counted, or at least those that the trace itself counts.
pub fn lost_events(answer: &Answer) -> u64 {
    let loses = |reason| LossReason::from_number(reason).is_some_and(LossReason::loses_events);
    let counted: u64 =
        answer.dropped.iter().filter(|d| loses(d.reason)).map(|d| d.count).fold(0, u64::saturating_add);
    counted.max(answer.totals.lost_events)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_unknown_frees_are_named_where_they_happened() {
        for (was_off, was_table_full, expected) in [
            (false, false, "forked, or in another heap"),
            (true, false, "forked, while recording was off, or in another heap"),
            (false, true, "forked, while the block table was full, or in another heap"),
        ] {
            let shown = unseen_allocations(was_off, was_table_full);
            assert_eq!(shown, format!("before the recording, in a parent before it {expected}"));
        }
    }
}
