//! Times of events while the recording goes on, when the rate of the time stamp counter is not yet known
//! over a long time. A sealed chunk has the time of its begin and of its end, and its events lie between
//! them. For chunks that are open the longest distance between sealed chunks gives the rate. Before there
//! is one, what is known is that an event is older than the moment at which it was taken out: the lowest
//! rate that this allows, which is too high by no more than the time between two looks.

use heapscribe_formats::model::{ChunkInfo, ProcessInfo};
use heapscribe_wire::head::ClockKind;

use crate::clock_pair::ClockPair;

/// Nanoseconds per raw value of a counter that nothing is known of: 2.5 GHz.
const NOMINAL_NS: f64 = 0.4;

/// The clock of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct LiveClock {
    kind: ClockKind,
    shift: u32,
    /// The earliest pair of ticks and ns, and the latest.
    first: ClockPair,
    last: ClockPair,
    /// No tick is longer than this, ns.
    longest_tick: Option<f64>,
}

/// A distance that gives a rate to a thousandth, when its ends are known to some microseconds.
const FAR_NS: u64 = 10_000_000;

impl LiveClock {
    pub(super) fn new(info: &ProcessInfo) -> LiveClock {
        let pair = ClockPair { ticks: info.created_ticks, mono_ns: info.created_mono_ns };
        LiveClock {
            kind: info.clock_kind,
            shift: info.clock_shift.min(31),
            first: pair,
            last: pair,
            longest_tick: None,
        }
    }

    /// Takes the pairs of a chunk, whose last event was copied at a moment.
    pub(super) fn chunk(&mut self, chunk: &ChunkInfo, last_ticks: u64, copied_mono_ns: u64) {
        let bound = slope(begin_of(chunk), ClockPair { ticks: last_ticks, mono_ns: copied_mono_ns });
        self.longest_tick = match (self.longest_tick, bound) {
            (Some(so_far), Some(bound)) => Some(so_far.min(bound)),
            (so_far, bound) => so_far.or(bound),
        };
        for pair in [begin_of(chunk), end_of(chunk)] {
            if pair.mono_ns != 0 && pair.ticks > self.last.ticks {
                self.last = pair;
            }
        }
    }

    /// When a tick of the chunk was, CLOCK_MONOTONIC ns.
    pub(super) fn mono_ns(&self, chunk: &ChunkInfo, ticks: u64) -> u64 {
        let into = ticks.saturating_sub(chunk.begin_ticks);
        let ns = match self.kind {
            ClockKind::Monotonic => into.saturating_mul(1 << self.shift),
            ClockKind::Tsc => (into as f64 * self.rate(chunk)) as u64,
        };
        chunk.begin_mono_ns.saturating_add(ns)
    }

    /// Nanoseconds of a tick.
    fn rate(&self, chunk: &ChunkInfo) -> f64 {
        let own = slope(begin_of(chunk), end_of(chunk));
        let nominal = NOMINAL_NS * (1u64 << self.shift) as f64;
        let is_far = self.last.mono_ns.saturating_sub(self.first.mono_ns) >= FAR_NS;
        let far = slope(self.first, self.last).filter(|_| is_far);
        own.or(far).or(self.longest_tick).unwrap_or(nominal)
    }
}

fn begin_of(chunk: &ChunkInfo) -> ClockPair {
    ClockPair { ticks: chunk.begin_ticks, mono_ns: chunk.begin_mono_ns }
}

fn end_of(chunk: &ChunkInfo) -> ClockPair {
    ClockPair { ticks: chunk.end_ticks, mono_ns: chunk.end_mono_ns }
}

/// Nanoseconds of a tick between two moments.
fn slope(from: ClockPair, to: ClockPair) -> Option<f64> {
    let ticks = to.ticks.checked_sub(from.ticks).filter(|ticks| *ticks > 0)?;
    let ns = to.mono_ns.checked_sub(from.mono_ns).filter(|_| from.mono_ns != 0)?;
    Some(ns as f64 / ticks as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(begin: (u64, u64), end: (u64, u64)) -> ChunkInfo {
        ChunkInfo {
            begin_ticks: begin.0,
            begin_mono_ns: begin.1,
            end_ticks: end.0,
            end_mono_ns: end.1,
            ..ChunkInfo::default()
        }
    }

    fn tsc() -> ProcessInfo {
        let (created_ticks, created_mono_ns) = (1_000, 10_000);
        let clock_kind = ClockKind::Tsc;
        ProcessInfo { clock_kind, clock_shift: 5, created_ticks, created_mono_ns, ..ProcessInfo::default() }
    }

    #[test]
    fn events_of_a_sealed_chunk_lie_between_its_ends() {
        let clock = LiveClock::new(&tsc());
        let sealed = chunk((2_000, 22_000), (3_000, 42_000));
        let times = [1_000, 2_000, 2_500, 3_000].map(|ticks| clock.mono_ns(&sealed, ticks));
        assert_eq!(times, [22_000, 22_000, 32_000, 42_000]);
    }

    #[test]
    fn an_open_chunk_continues_at_the_rate_so_far() {
        let mut clock = LiveClock::new(&tsc());
        let open = chunk((5_000, 90_000), (0, 0));
        assert_eq!(clock.mono_ns(&open, 5_100), 90_000 + 1_280);
        clock.chunk(&open, 5_100, 92_500);
        clock.chunk(&open, 5_200, 95_500);
        assert_eq!(clock.mono_ns(&open, 5_100), 90_000 + 2_500);
        clock.chunk(&chunk((2_000, 22_000), (1_001_000, 20_010_000)), 3_000, 30_000_000);
        assert_eq!(clock.mono_ns(&open, 5_100), 90_000 + 2_000);
    }

    #[test]
    fn ticks_of_the_monotonic_clock_are_exact() {
        let info = ProcessInfo { clock_kind: ClockKind::Monotonic, clock_shift: 4, ..ProcessInfo::default() };
        assert_eq!(LiveClock::new(&info).mono_ns(&chunk((7, 112), (9, 999)), 8), 128);
    }
}
