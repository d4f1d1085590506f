//! Marks from outside, requested by `ctl PID mark NAME`: written into the trace like the program's own, in a
//! chunk of thread 0.
//!
//! The time of a mark is a moment of the monotonic clock, and its event needs ticks of the process. The latest moment
//! of which a chunk says both times may be long past in a program that seldom allocates, and two of them too near
//! to each other to tell the length of a tick. So the collector reads the time stamp counter, which is the same
//! for all processes, and counts from there.

use std::collections::BTreeMap;

use heapscribe_formats::model::{ChunkInfo, ProcessIndex};
use heapscribe_wire::chunk::Header;
use heapscribe_wire::definitions::{DEFINITION_BYTES_MAX, Definition, Position};
use heapscribe_wire::head::{ClockKind, Head, MONOTONIC_SHIFT};
use heapscribe_wire::ids::NameId;
use heapscribe_wire::limits::{EVENT_BYTES_MAX, NAMES_MAX};
use heapscribe_wire::record::{Event, Note};

use crate::clock_pair::ClockPair;
use crate::output::Output;
use heapscribe_session::{MarkRequest, monotonic_ns, time_stamp_counter};

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
            output.definitions(process, position, &at[..n], |_| ());
        }
        let created = ClockPair { ticks: head.created_ticks, mono_ns: head.created_mono_ns };
        let is_monotonic = head.clock_kind == ClockKind::Monotonic as u32;
        let tick_ns = is_monotonic.then_some(f64::from(1u32 << MONOTONIC_SHIFT));
        let now = if is_monotonic { None } else { now(head.clock_shift) };
        let (from, dt) = place(mono_ns, created, tick_ns, now, headers);
        let end = now.unwrap_or(ClockPair { ticks: 0, mono_ns: 0 });
        let info = ChunkInfo {
            thread: 0,
            sequence: self.sequence,
            begin_ticks: from.ticks,
            begin_mono_ns: from.mono_ns,
            // The reader of the trace learns the length of a tick from this, too.
            end_ticks: end.ticks,
            end_mono_ns: end.mono_ns,
            ..ChunkInfo::default()
        };
        self.sequence += 1;
        let mut at = [0; EVENT_BYTES_MAX];
        let n = Event::Note { note: Note::Mark, name: id }.encode(dt, &mut at);
        output.events(process, &info, &at[..n]);
        output.flush();
    }
}

/// This moment on a process's time stamp counter; none where that cannot be read.
fn now(shift: u32) -> Option<ClockPair> {
    let ticks = time_stamp_counter()? >> shift.min(31);
    Some(ClockPair { ticks, mono_ns: monotonic_ns() })
}

/// A moment before this one of which both times are known, and the ticks from there on. `tick_ns` is the length
/// of a tick where that is known; else it is measured between two moments, of which `now` may be one.
fn place(
    mono_ns: u64,
    created: ClockPair,
    tick_ns: Option<f64>,
    now: Option<ClockPair>,
    headers: &[(usize, Header)],
) -> (ClockPair, u64) {
    let begins = headers.iter().map(|(_, h)| ClockPair { ticks: h.begin_ticks, mono_ns: h.begin_mono_ns });
    let ends = headers.iter().map(|(_, h)| ClockPair { ticks: h.end_ticks, mono_ns: h.end_mono_ns });
    let is_known = |pair: &ClockPair| (created.mono_ns..=mono_ns).contains(&pair.mono_ns) && pair.ticks != 0;
    let mut pairs: Vec<ClockPair> = begins.chain(ends).chain([created]).filter(is_known).collect();
    pairs.sort_by_key(|pair| pair.mono_ns);
    let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else { return (created, 1) };
    let measured = |until: &ClockPair| {
        let ns = until.mono_ns.saturating_sub(first.mono_ns);
        let ticks = until.ticks.saturating_sub(first.ticks);
        (ns >= BASELINE_NS && ticks > 0).then(|| ns as f64 / ticks as f64)
    };
    let tick_ns = tick_ns.or_else(|| now.and_then(|now| measured(&now))).or_else(|| measured(last));
    let Some(tick_ns) = tick_ns else { return (*last, 1) };
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
        assert_eq!(place(66_800, CREATED, Some(16.0), None, &chunks), (moment, 50));
        assert_eq!(place(66_000, CREATED, Some(16.0), None, &chunks), (moment, 1));
        assert_eq!(place(50_160, CREATED, Some(16.0), None, &[]), (CREATED, 10));
    }

    #[test]
    fn other_ticks_are_measured_between_moments_far_apart() {
        let far = ClockPair { ticks: 1_000 + 10_000_000, mono_ns: 50_000 + 20_000_000 };
        assert_eq!(place(far.mono_ns + 600, CREATED, None, None, &[chunk(CREATED, far)]), (far, 300));
        let near = ClockPair { ticks: 2_000, mono_ns: 51_000 };
        assert_eq!(place(90_000, CREATED, None, None, &[chunk(CREATED, near)]), (near, 1));
    }

    /// `sleep 2; ctl PID mark` of a program that had allocated at its start only: the mark had the time of that.
    #[test]
    fn a_program_that_seldom_allocates_has_marks_at_their_time() {
        let near = ClockPair { ticks: 2_000, mono_ns: 51_000 };
        let now = ClockPair { ticks: 1_000 + 10_000_000, mono_ns: 50_000 + 20_000_000 };
        let place = place(10_051_000, CREATED, None, Some(now), &[chunk(CREATED, near)]);
        assert_eq!(place, (near, 5_000_000));
    }

    #[test]
    fn moments_that_are_later_or_unknown_do_not_count() {
        let later = ClockPair { ticks: 9_000, mono_ns: 90_000 };
        let open = ClockPair { ticks: 0, mono_ns: 0 };
        assert_eq!(place(60_000, CREATED, None, None, &[chunk(later, open)]), (CREATED, 1));
    }
}
