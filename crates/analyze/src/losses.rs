//! What losses leave of the figures that they touch: one definition for whoever has such figures.
//!
//! | lost | what that does |
//! |---|---|
//! | events | what they allocated or freed is in no sum |
//! | slots of the live table (`live_table`) | the frees of these blocks are unknown ones: sums of what is live are too high |
//! | frees that nobody saw (`replaced_block`) | the same, as far as their addresses were not used again |
//! | what was allocated while recording was off | sums, leaks and the peak may be larger; what was recorded is followed to its end |
//! | events in damaged blocks (`damaged`) | as lost ones; where only a scan finds blocks nobody knows how many there were, so nobody knows either what was freed there: the peak was at least the largest block |
//! | the end of a process (a trace that was not finished) | nobody knows how much there was: every figure is a least one, and all may have been freed |
//! | events before the rest of a recording | sums are larger; what these events left live follows from the table |
//! | events that a ring evicted | how large the heap was before is not known, but for a process whose events came in their order |
//!
//! A block that the process's own table of live blocks has at the end was allocated and, but for frees that
//! nobody saw, never freed. So the table is the lower bound of what leaked, and the events are the upper one.

mod estimates;

use heapscribe_units::count;
use heapscribe_wire::head::{DROP_COUNTERS, LossReason};

pub(crate) use self::estimates::EstimateLosses;
use crate::answer::{Amount, Bounds, FigureBounds, Range};

/// What is missing of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Losses {
    /// Events that are missing.
    events: u64,
    /// Those of them that the live table does not know either, so that it may have blocks which were freed.
    unseen: u64,
    /// Blocks that have no slot in the live table.
    untracked: u64,
    /// Blocks whose address was allocated again before their free was seen.
    replaced: u64,
    /// Frees of blocks that are not known.
    unknown_frees: u64,
    /// Whether a ring evicted events.
    is_ring: bool,
    /// Whether nobody counted the events before the ring: then only what they left live is known.
    is_uncounted: bool,
    /// Whether nothing was recorded for a time.
    is_off: bool,
    /// Whether the most that was live before its window is known.
    knows_peak: bool,
    /// Whether its end is not in the trace, nor the counters that come with it, or nobody knows how many events were in
    /// damaged parts.
    is_unfinished: bool,
    /// Whether these parts are between others, so that blocks which seem to be live later may have been freed in them.
    has_gap: bool,
}

/// What the events of a process add up to, and its table, where there is one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// Blocks allocated, by events that a ring evicted, too.
    pub allocated: Amount,
    /// Blocks freed, the same way.
    pub freed: Amount,
    /// The most that was live at a time, as far as that is known.
    pub peak: Amount,
    /// What the events, those that a ring evicted too, leave live.
    pub net: Amount,
    /// What is in the table.
    pub table: Option<Amount>,
    /// Size of the largest block, of the events and of the table.
    pub largest_bytes: u64,
}

/// What is missing of a process, by reason, and events among it: what its recorder counted, or at least what its chunks
/// do, and besides what a reader finds damaged.
pub fn counted(
    recorder: &[u64; DROP_COUNTERS],
    in_chunks: &[u64; DROP_COUNTERS],
) -> ([u64; DROP_COUNTERS], u64) {
    const DAMAGED: usize = LossReason::Damaged as usize;
    let counters: [u64; DROP_COUNTERS] = std::array::from_fn(|reason| match reason {
        DAMAGED => recorder[DAMAGED].saturating_add(in_chunks[DAMAGED]),
        _ => recorder[reason].max(in_chunks[reason]),
    });
    let events = LossReason::lost_events(&counters);
    (counters, events.max(in_chunks.iter().copied().fold(0, u64::saturating_add)))
}

/// What a reader has to know of so many missing events, and of other losses, to trust figures as far as they go.
pub fn problems(lost_events: u64, dropped: &[u64; DROP_COUNTERS]) -> Vec<String> {
    let of_reason = |reason: LossReason| dropped[reason as usize];
    [
        (lost_events, "events are missing"),
        (of_reason(LossReason::LiveTable), "blocks were not followed, so their frees are not known"),
        (of_reason(LossReason::ReplacedBlock), "blocks were freed unseen, and others may have been"),
    ]
    .into_iter()
    .filter(|(n, _)| *n != 0)
    .map(|(n, what)| format!("{} {what}: what is live or leaked is not known exactly", count(n)))
    .collect()
}

impl Losses {
    /// By the counters of a recorder, of which so many events are missing.
    pub fn of(counters: &[u64; DROP_COUNTERS], lost_events: u64, unknown_frees: u64) -> Losses {
        let count = |reason: LossReason| counters[reason as usize];
        // A free that finds no room in the log has left the table all the same, and before there is a session
        // there is nothing in it.
        let seen = [LossReason::LogFull, LossReason::NoSession, LossReason::NotWritten, LossReason::Damaged];
        let known = seen.map(count).iter().fold(0, |sum: u64, n| sum.saturating_add(*n));
        Losses {
            events: lost_events,
            unseen: lost_events.saturating_sub(known),
            untracked: count(LossReason::LiveTable),
            replaced: count(LossReason::ReplacedBlock),
            unknown_frees,
            is_ring: false,
            is_uncounted: false,
            is_off: false,
            knows_peak: false,
            is_unfinished: false,
            has_gap: false,
        }
    }

    /// The same of a process of which a ring evicted events, and whether its peak is known all the same.
    pub fn in_ring(self, is_ring: bool, knows_peak: bool) -> Losses {
        Losses { is_ring, knows_peak, ..self }
    }

    /// The same of a process whose earlier events nobody counted.
    pub fn in_rest(self, is_uncounted: bool) -> Losses {
        Losses { is_uncounted, ..self }
    }

    /// The same of a process of which nothing was recorded for a time.
    pub fn while_off(self, is_off: bool) -> Losses {
        Losses { is_off, ..self }
    }

    /// The same of a process whose end is not in the trace.
    pub fn unfinished(self, is_unfinished: bool) -> Losses {
        Losses { is_unfinished: self.is_unfinished || is_unfinished, ..self }
    }

    /// The same of a process of which nobody knows how many events were in damaged parts.
    pub fn with_gap(self, has_gap: bool) -> Losses {
        Losses { has_gap, is_unfinished: self.is_unfinished || has_gap, ..self }
    }

    /// The same for blocks of its pools, of which so many frees are unknown; events of pools that a ring evicts are in
    /// none of the sums that it keeps.
    pub(crate) fn of_pools(self, unknown_frees: u64, is_evicted: bool) -> Losses {
        let is_uncounted = self.is_uncounted || is_evicted;
        Losses { unknown_frees, is_uncounted, knows_peak: false, ..self }
    }

    /// What is known of a sampled process. Estimates have no bounds, but for those of a rest of which nobody knows what was
    /// live before it: they may be any part of the truth.
    pub fn bounds_of_samples(&self, seen: &Seen) -> Option<FigureBounds> {
        (self.is_uncounted && seen.table.is_none()).then(nothing_known)
    }

    /// These bounds, or those of samples: of one process nothing where losses touch them.
    pub fn bounds_as(
        &self,
        is_sampled: bool,
        bounds: Option<FigureBounds>,
        seen: &Seen,
    ) -> Option<FigureBounds> {
        if !is_sampled {
            return bounds;
        }
        self.bounds_of_samples(seen).or_else(|| self.touches_leaks().then(nothing_known))
    }

    /// How estimates are touched, of a process with a table of what was live at its end or without one.
    pub(crate) fn touch_estimates(&self, has_table: bool) -> EstimateLosses {
        let is_open = self.events > 0 || self.is_unfinished;
        let is_any = self.touches_leaks();
        EstimateLosses {
            is_any,
            is_open,
            has_least: !is_any || (has_table && !is_open && self.replaced == 0),
        }
    }

    /// Whether the peak is the one that the events have.
    pub fn bounds_peak(&self) -> bool {
        !self.is_off && !self.touches_leaks()
    }

    /// Whether any figure is touched.
    pub fn is_any(&self) -> bool {
        self.is_ring || self.is_off || self.touches_leaks()
    }

    /// Whether what was never freed is told by the live table, not by the events.
    pub fn touches_leaks(&self) -> bool {
        self.events > 0 || self.untracked > 0 || self.replaced > 0 || self.is_unfinished
    }

    /// Whether only blocks without a slot are missing, so that events and table bound each stack.
    pub(crate) fn bounds_stacks(&self) -> bool {
        let is_open = self.is_ring || self.is_off || self.is_unfinished;
        self.events == 0 && !is_open && !self.has_unseen_frees()
    }

    /// Whether more frees went unseen than events were lost: nobody knows how many.
    fn has_unseen_frees(&self) -> bool {
        self.replaced > self.unseen
    }

    /// How many blocks without a slot may have been freed: of a ring, unknown frees are counted in its window only.
    fn untracked_frees(&self) -> u64 {
        if self.is_ring { self.untracked } else { self.untracked.min(self.unknown_frees) }
    }

    /// By how much what the events leave live may be too much, at any moment.
    pub fn excess(&self, seen: &Seen) -> Amount {
        if self.has_unseen_frees() || self.has_gap {
            return seen.net.max(seen.peak);
        }
        if let (0, Some(table)) = (self.events, seen.table) {
            return seen.net.minus(table);
        }
        let frees = self.untracked_frees().saturating_add(self.events);
        Amount { blocks: frees, bytes: frees.saturating_mul(seen.largest_bytes) }
    }

    /// The bounds of the figures of a process.
    pub fn bounds(&self, seen: &Seen) -> FigureBounds {
        let leaked = self.leaked(seen);
        let is_peak_open = self.events > 0 || (self.is_ring && !self.knows_peak);
        let one_block = if self.has_gap { seen.largest_bytes.min(seen.peak.bytes) } else { 0 };
        let least =
            seen.peak.bytes.saturating_sub(self.excess(seen).bytes).max(leaked.bytes.low).max(one_block);
        let frees = self.events.saturating_add(self.untracked_frees());
        let mut bounds = FigureBounds {
            allocated: and_others(seen.allocated, self.events),
            freed: and_others(seen.freed, frees),
            peak: Bounds::of_peak(seen.peak, least, is_peak_open),
            leaked,
            stacks: Vec::new(),
        };
        if self.is_uncounted {
            [&mut bounds.allocated, &mut bounds.freed].into_iter().for_each(open);
            if seen.table.is_none() {
                bounds.leaked = Bounds::between(Amount::default(), None);
            }
        }
        if self.is_unfinished {
            (bounds.leaked.blocks.low, bounds.leaked.bytes.low) = (0, 0);
        }
        if self.is_off || self.is_unfinished { without_ends(bounds) } else { bounds }
    }

    fn leaked(&self, seen: &Seen) -> Bounds {
        let (least, most) = match seen.table {
            Some(table) if self.has_unseen_frees() => (Amount::default(), table),
            Some(table) => {
                let stale =
                    Amount { blocks: self.unseen, bytes: self.unseen.saturating_mul(seen.largest_bytes) };
                (table.minus(stale), if self.untracked > 0 { table.max(seen.net) } else { table })
            }
            None => (seen.net.minus(self.excess(seen)), seen.net),
        };
        Bounds {
            blocks: Range { low: least.blocks, high: Some(most.blocks.saturating_add(self.events)) },
            bytes: Range { low: least.bytes, high: (self.events == 0).then_some(most.bytes) },
        }
    }
}

/// Of figures of which nothing is known.
pub(crate) fn nothing_known() -> FigureBounds {
    let unknown = Bounds::between(Amount::default(), None);
    FigureBounds { allocated: unknown, freed: unknown, peak: unknown, leaked: unknown, stacks: Vec::new() }
}

/// The same when nobody knows how much more there was.
fn without_ends(mut bounds: FigureBounds) -> FigureBounds {
    let FigureBounds { allocated, freed, peak, leaked, .. } = &mut bounds;
    [allocated, freed, peak, leaked].into_iter().for_each(open);
    bounds
}

fn open(figure: &mut Bounds) {
    (figure.blocks.high, figure.bytes.high) = (None, None);
}

/// What was seen, and up to so many blocks of unknown sizes besides.
pub(crate) fn and_others(seen: Amount, blocks: u64) -> Bounds {
    Bounds {
        blocks: Range { low: seen.blocks, high: Some(seen.blocks.saturating_add(blocks)) },
        bytes: Range { low: seen.bytes, high: (blocks == 0).then_some(seen.bytes) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(blocks: u64, bytes: u64) -> Amount {
        Amount { blocks, bytes }
    }

    /// What was lost, by reason; what the events leave and what the table has; what may have leaked.
    fn check(lost: &[(LossReason, u64)], table: Option<Amount>, expected: Bounds) {
        let mut counters = [0; DROP_COUNTERS];
        lost.iter().for_each(|(reason, count)| counters[*reason as usize] = *count);
        let events = lost.iter().filter(|(reason, _)| reason.loses_events()).map(|(_, count)| count).sum();
        let seen =
            Seen { net: of(100, 1000), peak: of(120, 1200), table, largest_bytes: 20, ..Seen::default() };
        assert_eq!(Losses::of(&counters, events, 50).bounds(&seen).leaked, expected, "{lost:?} {table:?}");
    }

    #[test]
    fn what_leaked_lies_between_table_and_events() {
        let between = |low, high| Bounds::between(low, Some(high));
        let and_more = |low: Amount, blocks| Bounds {
            blocks: Range { low: low.blocks, high: Some(blocks) },
            bytes: Range { low: low.bytes, high: None },
        };
        check(&[], None, Bounds::exact(of(100, 1000)));
        check(&[(LossReason::LiveTable, 70)], Some(of(10, 60)), between(of(10, 60), of(100, 1000)));
        check(&[(LossReason::LiveTable, 30)], None, between(of(70, 400), of(100, 1000)));
        check(&[(LossReason::LogFull, 7)], Some(of(10, 60)), and_more(of(10, 60), 17));
        check(&[(LossReason::Reentered, 2)], Some(of(10, 60)), and_more(of(8, 20), 12));
        check(&[(LossReason::LogFull, 7)], None, and_more(of(93, 860), 107));
        check(&[(LossReason::ReplacedBlock, 1)], Some(of(10, 60)), between(of(0, 0), of(10, 60)));
        check(&[(LossReason::NotWritten, 7)], Some(of(10, 60)), and_more(of(10, 60), 17));
        check(&[(LossReason::Damaged, 7)], Some(of(10, 60)), and_more(of(10, 60), 17));
    }

    #[test]
    fn of_a_process_without_an_end_only_the_least_is_known() {
        let net = of(100, 1000);
        let seen = Seen {
            net,
            allocated: of(300, 3000),
            freed: of(200, 2000),
            peak: of(120, 1200),
            ..Seen::default()
        };
        let losses = Losses::of(&[0; DROP_COUNTERS], 0, 0).unfinished(true);
        let least = |seen: Amount| Bounds::between(seen, None);
        let FigureBounds { allocated, freed, peak, leaked, .. } = losses.bounds(&seen);
        assert_eq!([allocated, freed, leaked], [least(of(300, 3000)), least(of(200, 2000)), least(of(0, 0))]);
        assert_eq!(peak.bytes, Range { low: 1200, high: None });
        assert!(losses.is_any() && !losses.bounds_peak() && !losses.bounds_stacks());
        // In a gap blocks may have been freed that seem to be live at the peak.
        let in_gap =
            Losses::of(&[0; DROP_COUNTERS], 0, 0).with_gap(true).bounds(&Seen { largest_bytes: 70, ..seen });
        assert_eq!(in_gap.peak.bytes, Range { low: 70, high: None });
        assert_eq!([in_gap.allocated, in_gap.leaked], [least(of(300, 3000)), least(of(0, 0))]);
    }
}
