//! From events to what was mapped when, and by whom.
//!
//! An event has the time at which its call was over. What a call unmaps may be another thread's before that, so it ends
//! when the call began; what it maps begins when it is over. At one tick mappings come first: a block that one thread
//! maps and another unmaps passes between them in no time, but a system call lies between an unmapping and the next use.

use std::collections::BTreeMap;

use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::{Mapping, MappingFlags, MappingKind};

use super::events::MappingEvents;
use super::ranges::{Ranges, State};
use crate::answer::Amount;

/// What a stack did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct OfStack {
    pub(crate) mapped: Amount,
    pub(crate) at_peak_bytes: u64,
    pub(crate) live_bytes: u64,
}

/// What was mapped, in ticks and by number of stack.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Followed {
    pub(crate) live_bytes: u64,
    pub(crate) break_bytes: u64,
    pub(crate) reserved_bytes: u64,
    pub(crate) peak_bytes: u64,
    pub(crate) peak_ticks: u64,
    pub(crate) mapped: Amount,
    pub(crate) stacks: BTreeMap<StackId, OfStack>,
}

/// The two halves of an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Half {
    Maps,
    Unmaps,
}

/// Follows the events; `None` when they are too many.
pub(crate) fn follow(events: MappingEvents) -> Option<Followed> {
    let events = events.sorted()?;
    let mut steps = Vec::new();
    for (number, (ticks, mapping)) in events.iter().enumerate() {
        let began = ticks.saturating_sub(u64::from(mapping.took_ticks));
        match mapping.kind {
            MappingKind::Map | MappingKind::Protect => steps.push((*ticks, Half::Maps, number)),
            MappingKind::Unmap => steps.push((began, Half::Unmaps, number)),
            MappingKind::Move => {
                // Of one tick: first what is moved, then where to.
                steps.push((began.min(ticks.saturating_sub(1)), Half::Unmaps, number));
                steps.push((*ticks, Half::Maps, number));
            }
        }
    }
    steps.sort_unstable();
    let mut first = Level::default();
    let mut peak = (0, None);
    for (at, step) in steps.iter().enumerate() {
        first.step(&events, step);
        if first.live_bytes > peak.0 {
            peak = (first.live_bytes, Some(at));
        }
    }
    Some(first.finish(&events, &steps, peak))
}

type Step = (u64, Half, usize);

/// What is mapped at a moment.
#[derive(Default)]
struct Level {
    ranges: Ranges,
    /// What a move has taken away and not put down yet, by number of its event.
    moved: BTreeMap<usize, State>,
    live_bytes: u64,
    break_bytes: u64,
    reserved_bytes: u64,
    mapped: Amount,
    stacks: BTreeMap<StackId, OfStack>,
}

impl Level {
    fn step(&mut self, events: &[(u64, Mapping)], (_, half, number): &Step) {
        let mapping = events[*number].1;
        let range = (mapping.address, mapping.address + mapping.len_bytes);
        match (mapping.kind, half) {
            (MappingKind::Map, _) => {
                let state = State {
                    stack: mapping.stack,
                    is_accessible: mapping.flags.has(MappingFlags::ACCESSIBLE),
                    is_break: mapping.flags.has(MappingFlags::BREAK),
                };
                self.map(range, Some(state).filter(|_| mapping.flags.has(MappingFlags::ANONYMOUS)));
            }
            (MappingKind::Unmap, _) => self.unmap(range),
            (MappingKind::Move, Half::Unmaps) => {
                if let Some(state) = self.ranges.at(mapping.old_address) {
                    self.moved.insert(*number, state);
                }
                if !mapping.flags.has(MappingFlags::KEEPS_OLD) {
                    self.unmap((mapping.old_address, mapping.old_address + mapping.old_len_bytes));
                }
            }
            (MappingKind::Move, Half::Maps) => {
                // Of memory that is not known it is not known what it is.
                let state = self.moved.remove(number);
                self.map(range, state.map(|state| State { stack: mapping.stack, ..state }));
            }
            (MappingKind::Protect, _) => self.protect(range, mapping.flags.has(MappingFlags::ACCESSIBLE)),
        }
    }

    fn unmap(&mut self, range: (u64, u64)) {
        let Level { ranges, live_bytes, break_bytes, reserved_bytes, stacks, .. } = self;
        ranges.remove(range, |bytes, state| {
            if state.is_accessible {
                *live_bytes -= bytes;
                stacks.entry(state.stack).or_default().live_bytes -= bytes;
            } else {
                *reserved_bytes -= bytes;
            }
            *break_bytes -= if state.is_break { bytes } else { 0 };
        });
    }

    /// Maps over whatever is there; `None` is memory that is not counted.
    fn map(&mut self, range: (u64, u64), state: Option<State>) {
        self.unmap(range);
        let Some(state) = state else { return };
        let bytes = range.1 - range.0;
        self.ranges.insert(range, state);
        let of_stack = self.stacks.entry(state.stack).or_default();
        let amount = Amount { blocks: 1, bytes };
        of_stack.mapped.add(&amount);
        self.mapped.add(&amount);
        if state.is_accessible {
            self.live_bytes += bytes;
            of_stack.live_bytes += bytes;
        } else {
            self.reserved_bytes += bytes;
        }
        self.break_bytes += if state.is_break { bytes } else { 0 };
    }

    fn protect(&mut self, range: (u64, u64), is_accessible: bool) {
        let Level { ranges, live_bytes, reserved_bytes, stacks, .. } = self;
        ranges.protect(range, is_accessible, |bytes, state| {
            let of_stack = stacks.entry(state.stack).or_default();
            if is_accessible {
                *reserved_bytes -= bytes;
                *live_bytes += bytes;
                of_stack.live_bytes += bytes;
            } else {
                *live_bytes -= bytes;
                *reserved_bytes += bytes;
                of_stack.live_bytes -= bytes;
            }
        });
    }

    /// With who had what at the peak, which takes the steps up to it once more.
    fn finish(self, events: &[(u64, Mapping)], steps: &[Step], peak: (u64, Option<usize>)) -> Followed {
        let mut followed = Followed {
            live_bytes: self.live_bytes,
            break_bytes: self.break_bytes,
            reserved_bytes: self.reserved_bytes,
            peak_bytes: peak.0,
            peak_ticks: 0,
            mapped: self.mapped,
            stacks: self.stacks,
        };
        let Some(at) = peak.1 else { return followed };
        followed.peak_ticks = steps[at].0;
        let mut level = Level::default();
        steps[..=at].iter().for_each(|step| level.step(events, step));
        for (stack, of) in level.stacks {
            followed.stacks.entry(stack).or_default().at_peak_bytes = of.live_bytes;
        }
        followed
    }
}

#[cfg(test)]
mod tests;
