//! Marks from outside, requested by `ctl PID mark NAME`: written into the trace like the program's own, in a
//! chunk of thread 0.
//!
//! The collector cannot read the clock that a process's ticks come from. It takes the latest moment of which
//! a chunk says both times, and goes on from there by the rate between two such moments.

use std::collections::BTreeMap;

use heapscribe_formats::model::{ChunkInfo, ProcessIndex};
use heapscribe_wire::chunk::Header;
use heapscribe_wire::defs::{DEFINITION_BYTES_MAX, Definition, Position};
use heapscribe_wire::head::{ClockKind, Head, MONOTONIC_SHIFT};
use heapscribe_wire::ids::NameId;
use heapscribe_wire::limits::{EVENT_BYTES_MAX, NAMES_MAX};
use heapscribe_wire::record::{Event, Note};

use crate::clock_pair::ClockPair;
use crate::output::Output;
use heapscribe_session::MarkRequest;

/// Moments nearer to each other than this give no rate of a clock.
const BASELINE_NS: u64 = 10_000_000;

/// Where a mark is written.
pub(super) struct MarkContext<'a> {
    pub(super) process: ProcessIndex,
    /// How far the definitions of the process are written.
    pub(super) position: Position,
    pub(super) head: &'a Head<'a>,
    /// The chunks of its log that are in use.
    pub(super) headers: &'a [(usize, Header)],
}

/// The marks of one session that `ctl` requested.
#[derive(Default)]
pub(super) struct Marks {
    names: BTreeMap<Vec<u8>, u32>,
    sequence: u64,
}

impl Marks {
    /// Writes a mark: its name, when it is new, and an event at its time.
    pub(super) fn write(
        &mut self,
        MarkRequest { mono_ns, name }: MarkRequest,
        context: &MarkContext<'_>,
        output: &mut Output,
    ) {
        let &MarkContext { process, position, head, headers } = context;
        let next = NAMES_MAX + 1 + self.names.len() as u32;
        let id = NameId(*self.names.entry(name.clone()).or_insert(next));
        if id.0 == next {
            let mut at = [0; DEFINITION_BYTES_MAX];
            let n = Definition::Name { id, name: &name }.encode(&mut position.clone(), &mut at).unwrap_or(0);
            output.definitions(process, position, &at[..n]);
        }
        let created = ClockPair { ticks: head.created_ticks, mono_ns: head.created_mono_ns };
        let is_monotonic = head.clock_kind == ClockKind::Monotonic as u32;
        let tick_ns = is_monotonic.then_some(f64::from(1u32 << MONOTONIC_SHIFT));
        let (from, dt) = place(mono_ns, created, tick_ns, headers);
        let info = ChunkInfo {
            thread: 0,
            sequence: self.sequence,
            begin_ticks: from.ticks,
            begin_mono_ns: from.mono_ns,
            ..ChunkInfo::default()
        };
        self.sequence += 1;
        let mut at = [0; EVENT_BYTES_MAX];
        let n = Event::Note { note: Note::Mark, name: id }.encode(dt, &mut at);
        output.events(process, &info, &at[..n]);
        output.flush();
    }
}

/// A moment before this one of which both times are known, and the ticks from there on. `tick_ns` is the length
/// of a tick where that is known; else it is measured between two moments.
fn place(
    mono_ns: u64,
    created: ClockPair,
    tick_ns: Option<f64>,
    headers: &[(usize, Header)],
) -> (ClockPair, u64) {
    let begins = headers.iter().map(|(_, h)| ClockPair { ticks: h.begin_ticks, mono_ns: h.begin_mono_ns });
    let ends = headers.iter().map(|(_, h)| ClockPair { ticks: h.end_ticks, mono_ns: h.end_mono_ns });
    let is_known = |pair: &ClockPair| (created.mono_ns..=mono_ns).contains(&pair.mono_ns) && pair.ticks != 0;
    let mut pairs: Vec<ClockPair> = begins.chain(ends).chain([created]).filter(is_known).collect();
    pairs.sort_by_key(|pair| pair.mono_ns);
    let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else { return (created, 1) };
    let ns = last.mono_ns - first.mono_ns;
    let measured = || match last.ticks.checked_sub(first.ticks) {
        Some(ticks @ 1..) if ns >= BASELINE_NS => Some(ns as f64 / ticks as f64),
        _ => None,
    };
    let Some(tick_ns) = tick_ns.or_else(measured) else { return (*last, 1) };
    (*last, (((mono_ns - last.mono_ns) as f64 / tick_ns) as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATED: ClockPair = ClockPair { ticks: 1_000, mono_ns: 50_000 };

    /// A chunk that begins and ends at these moments.
    fn chunk(begin: ClockPair, end: ClockPair) -> (usize, Header) {
        let (begin_ticks, begin_mono_ns) = (begin.ticks, begin.mono_ns);
        let (end_ticks, end_mono_ns) = (end.ticks, end.mono_ns);
        (0, Header { begin_ticks, begin_mono_ns, end_ticks, end_mono_ns, ..Header::default() })
    }

    #[test]
    fn ticks_of_known_length_are_counted_from_the_last_moment() {
        let moment = ClockPair { ticks: 2_000, mono_ns: 66_000 };
        let chunks = [chunk(CREATED, moment)];
        assert_eq!(place(66_800, CREATED, Some(16.0), &chunks), (moment, 50));
        assert_eq!(place(66_000, CREATED, Some(16.0), &chunks), (moment, 1));
        assert_eq!(place(50_160, CREATED, Some(16.0), &[]), (CREATED, 10));
    }

    #[test]
    fn other_ticks_are_measured_between_moments_far_apart() {
        let far = ClockPair { ticks: 1_000 + 10_000_000, mono_ns: 50_000 + 20_000_000 };
        assert_eq!(place(far.mono_ns + 600, CREATED, None, &[chunk(CREATED, far)]), (far, 300));
        let near = ClockPair { ticks: 2_000, mono_ns: 51_000 };
        assert_eq!(place(90_000, CREATED, None, &[chunk(CREATED, near)]), (near, 1));
    }

    #[test]
    fn moments_that_are_later_or_unknown_do_not_count() {
        let later = ClockPair { ticks: 9_000, mono_ns: 90_000 };
        let open = ClockPair { ticks: 0, mono_ns: 0 };
        assert_eq!(place(60_000, CREATED, None, &[chunk(later, open)]), (CREATED, 1));
    }
}
