//! How much was lost, as every view and every rule takes it.

use heapscribe_analyze::answer::Answer;
use heapscribe_analyze::snapshot::Snapshot;
use heapscribe_formats::{Evicted, Process};
use heapscribe_units::counted;
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
    /// Whether blocks were sampled, at least for some time.
    is_sampled: bool,
    /// Processes whose ends are not in the trace, and with them what else there was.
    unfinished: u64,
    /// Where the file is damaged so that nobody knows how many events were there.
    gap_at: Option<u64>,
    /// Whether recorders lost events.
    has_unseen_events: bool,
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
            is_sampled: answer.sampling.is_some(),
            unfinished: unfinished(answer),
            gap_at: gap_at(answer),
            has_unseen_events: lose_allocations(answer.dropped.iter().map(|of| (of.reason, of.count))),
            is_rest: answer.processes.iter().any(|process| !process.evicted.is_counted()),
        }
    }

    /// Of a process, by what its trace says of its end.
    pub fn of_process(process: &Process) -> Missing {
        let Some(end) = &process.end else { return Missing { unfinished: 1, ..Missing::default() } };
        let count = |reason: LossReason| end.drops[reason as usize];
        let off: Vec<(u64, u64)> = end.off_periods().collect();
        Missing {
            events: LossReason::lost_events(&end.drops),
            untracked: count(LossReason::LiveTable),
            replaced: count(LossReason::ReplacedBlock),
            off_ns: off::total_ns(&off).into_iter().collect(),
            is_sampled: false,
            unfinished: 0,
            gap_at: None,
            has_unseen_events: lose_allocations((0..).zip(end.drops)),
            is_rest: !process.evicted.is_counted(),
        }
    }

    /// What was lost and why that leaves figures open.
    pub fn causes(&self) -> Vec<String> {
        self.causes_with(self.uncounted())
    }

    /// The same where it stands more than once on a screen.
    pub fn causes_briefly(&self) -> Vec<String> {
        self.causes_with(self.uncounted_briefly())
    }

    fn causes_with(&self, uncounted: Option<String>) -> Vec<String> {
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
        .chain(uncounted)
        .chain(self.off())
        .chain(self.before())
        .collect()
    }

    /// Whether events are missing, counted or not.
    pub fn lacks_events(&self) -> bool {
        self.events > 0 || self.uncounted().is_some()
    }

    /// That the trace was not finished, or is damaged, where nobody knows how much else there was.
    pub fn uncounted(&self) -> Option<String> {
        if let Some(at) = self.gap_at {
            return Some(format!(
                "the file is damaged at byte {at}, and how many events are missing is not known"
            ));
        }
        let whose = match self.unfinished {
            0 => return None,
            1 => "a process".to_owned(),
            n => format!("{} processes", heapscribe_units::count(n)),
        };
        Some(format!("the end of the trace is missing, and how much of {whose} was in it is not known"))
    }

    /// The same; of a missing end without what follows from it.
    pub fn uncounted_briefly(&self) -> Option<String> {
        let is_damaged = self.gap_at.is_some();
        self.uncounted()
            .map(|why| if is_damaged { why } else { "the end of the trace is missing".to_owned() })
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
        self.events > 0 || self.untracked > 0 || self.replaced > 0 || self.uncounted().is_some()
    }

    /// Where a block may have been allocated whose free alone was seen.
    pub fn unseen_allocations(&self) -> String {
        unseen_allocations(BlindTimes {
            was_off: !self.off_ns.is_empty(),
            was_sampled: self.is_sampled,
            was_table_full: self.untracked > 0,
            has_unseen_events: self.has_unseen_events,
        })
    }
}

/// Which blocks of pools nothing is known of.
pub const NO_POOL_ALLOC: &str = "for which no heapscribe_pool_alloc was recorded";

/// Times in which blocks were allocated that are not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlindTimes {
    /// Recording was off.
    pub was_off: bool,
    /// Blocks were sampled: those that no sample hit.
    pub was_sampled: bool,
    /// The table of live blocks was full.
    pub was_table_full: bool,
    /// Recorders lost events.
    pub has_unseen_events: bool,
}

/// Whether recorders lost events by such counts of reasons, so that blocks may have been allocated by them. What they
/// recorded and is missing of the trace they knew when it was freed.
pub fn lose_allocations(counts: impl IntoIterator<Item = (u8, u64)>) -> bool {
    let is_recorded = |reason| matches!(reason, LossReason::NotWritten | LossReason::Damaged);
    let is_lost = |reason: LossReason| reason.loses_events() && !is_recorded(reason);
    counts.into_iter().any(|(reason, n)| n > 0 && LossReason::from_number(reason).is_some_and(is_lost))
}

/// The same of a recording with such times.
pub fn unseen_allocations(times: BlindTimes) -> String {
    let at_times: String = [
        (times.was_off, ", while recording was off"),
        (times.was_sampled, ", between two samples"),
        (times.was_table_full, ", while the block table was full"),
        (times.has_unseen_events, ", among the events that were lost"),
    ]
    .iter()
    .filter(|(is_so, _)| *is_so)
    .map(|(_, words)| *words)
    .collect();
    format!("before the recording, in a parent before it forked{at_times}, or in another heap")
}

/// Why a table of live blocks does not have all that is live, in words.
pub fn of_table(untracked: u64, lost_events: u64) -> Vec<String> {
    let is_one = |n: u64, one: &str, more: &str| if n == 1 { one.to_owned() } else { more.to_owned() };
    let shown =
        |n, what, is: String, then: &str| format!("{} {is}{then}", heapscribe_units::counted(n, what));
    let were = is_one(untracked, "was", "were");
    let are = is_one(lost_events, "is", "are");
    [
        (
            untracked,
            shown(
                untracked,
                "block",
                were,
                " not followed, as there was no room in the table of live blocks",
            ),
        ),
        (lost_events, shown(lost_events, "event", are, " missing")),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(_, text)| text)
    .collect()
}

/// What of a table of live blocks is missing of its file, in words.
pub fn of_cut(snapshot: &Snapshot) -> Option<String> {
    let count = heapscribe_units::count;
    match (snapshot.missing_blocks, snapshot.lacks_end) {
        (0, false) => None,
        (0, true) => Some("the end of the file is missing, and with it what the recorder lost".to_owned()),
        (missing, _) => {
            let all = heapscribe_units::counted(snapshot.table.blocks, "block");
            Some(format!("{} of the {all} of its table are missing in the file", count(missing)))
        }
    }
}

/// What a table of live blocks lacks since nothing was recorded for a time, in words.
pub fn of_off(snapshot: &Snapshot) -> Option<String> {
    snapshot.was_off().then(|| "recording was off for a time before".to_owned())
}

/// That a ring has evicted events, where nothing else says so.
pub fn of_ring(evicted: &Evicted) -> Option<String> {
    let words = || format!("the ring has evicted {}", counted(evicted.events, "event"));
    evicted.is_of_ring().then(words)
}

/// What a table of live blocks lacks of what happened before it, in words.
pub fn of_lost(snapshot: &Snapshot) -> Option<String> {
    let lacks = [(snapshot.lost_events(), "event", "lost"), (snapshot.untracked(), "block", "not followed")];
    let lacks = lacks.into_iter().filter(|(n, ..)| *n > 0);
    let words: Vec<_> = lacks.map(|(n, what, how)| format!("{} {how}", counted(n, what))).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// What of the losses touches figures, in words.
pub fn causes(answer: &Answer) -> Vec<String> {
    Missing::of(answer).causes()
}

/// Processes whose ends are not in the trace.
fn unfinished(answer: &Answer) -> u64 {
    answer.processes.iter().filter(|process| process.is_unfinished).count() as u64
}

/// The first byte of damage of which nobody knows how many events were there.
fn gap_at(answer: &Answer) -> Option<u64> {
    answer.processes.iter().filter_map(|process| process.gap_at).min()
}

/// Lost events as a figure: more than were counted, where the trace was not finished or is damaged.
pub fn lost_events_shown(answer: &Answer) -> String {
    let counted = heapscribe_units::count(lost_events(answer));
    let is_empty = answer.processes.is_empty() && !answer.problems.is_empty();
    if unfinished(answer) == 0 && gap_at(answer).is_none() && !is_empty {
        counted
    } else {
        format!("at least {counted}")
    }
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
    use heapscribe_analyze::answer::Dropped;

    use super::*;

    /// `record --when-full drop`: a snapshot with bounds called itself exact.
    #[test]
    fn a_table_after_losses_says_what_it_lacks() {
        let lost = |reason, count| Dropped { reason: reason as u8, count };
        let snapshot = |dropped| Snapshot { dropped, ..Snapshot::default() };
        assert_eq!(of_lost(&snapshot(vec![])), None);
        let dropped = vec![lost(LossReason::LogFull, 1_200), lost(LossReason::LiveTable, 1)];
        assert_eq!(of_lost(&snapshot(dropped)).unwrap(), "1,200 events lost, 1 block not followed");
    }

    fn check(times: BlindTimes, expected: &str) {
        let shown = unseen_allocations(times);
        assert_eq!(
            shown,
            format!("before the recording, in a parent before it forked{expected}, or in another heap")
        );
    }

    #[test]
    fn reasons_of_unknown_frees_are_named_where_they_happened() {
        let none = BlindTimes::default();
        check(none, "");
        check(BlindTimes { was_off: true, ..none }, ", while recording was off");
        check(BlindTimes { was_sampled: true, ..none }, ", between two samples");
        check(BlindTimes { was_table_full: true, ..none }, ", while the block table was full");
        check(BlindTimes { has_unseen_events: true, ..none }, ", among the events that were lost");
    }

    #[test]
    fn events_that_were_recorded_and_lost_later_hide_no_allocation() {
        let check = |reason: LossReason, expected| {
            assert_eq!(lose_allocations([(reason as u8, 1)]), expected, "{reason:?}");
            assert!(!lose_allocations([(reason as u8, 0)]));
        };
        check(LossReason::LogFull, true);
        check(LossReason::Reentered, true);
        check(LossReason::NotWritten, false);
        check(LossReason::Damaged, false);
        check(LossReason::StackDepth, false);
    }
}
