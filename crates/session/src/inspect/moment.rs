//! When a snapshot was taken, on all clocks. The process's own time stamp counter is not read here: its
//! rate follows from pairs of counter and nanoseconds that the session holds, its beginning and those of
//! its chunks of events.

use heapscribe_wire::chunk::Header;
use heapscribe_wire::head::{ClockKind, Head};
use rustix::time::{ClockId, clock_gettime};

use crate::clock::monotonic_ns;

/// A moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moment {
    /// CLOCK_MONOTONIC, ns.
    pub mono_ns: u64,
    /// Since 1970, ns.
    pub real_ns: u64,
    /// In ticks of the process.
    pub ticks: u64,
}

/// A counter that nothing is known of: 2.5 GHz.
const NOMINAL_NS: f64 = 0.4;

impl Moment {
    /// Now; the ticks are found out by [`Self::with_ticks`].
    pub(super) fn now() -> Moment {
        let real = clock_gettime(ClockId::Realtime);
        let real_ns = real.tv_sec as u64 * 1_000_000_000 + real.tv_nsec as u64;
        Moment { mono_ns: monotonic_ns(), real_ns, ticks: 0 }
    }

    /// The same moment with its ticks.
    pub(super) fn with_ticks(self, head: &Head<'_>, chunks: &[Header]) -> Moment {
        Moment { ticks: ticks_at(self.mono_ns, head, chunks), ..self }
    }
}

/// The ticks of the process at a time, by what its session knows of its clock.
pub(super) fn ticks_at(mono_ns: u64, head: &Head<'_>, chunks: &[Header]) -> u64 {
    let shift = head.clock_shift.min(31);
    if head.clock_kind == ClockKind::Monotonic as u32 {
        return mono_ns >> shift;
    }
    let first = (head.created_ticks, head.created_mono_ns);
    let pairs = chunks.iter().flat_map(|c| [(c.begin_ticks, c.begin_mono_ns), (c.end_ticks, c.end_mono_ns)]);
    let later = pairs.filter(|(ticks, ns)| *ticks > first.0 && *ns > first.1 && *ns <= mono_ns);
    let last = later.max_by_key(|(_, ns)| *ns).unwrap_or(first);
    let nominal = 1.0 / (NOMINAL_NS * f64::from(1u32 << shift));
    let rate = (last.0 - first.0) as f64 / (last.1 - first.1) as f64;
    let ticks_per_ns = if (nominal / 25.0..nominal * 8.0).contains(&rate) { rate } else { nominal };
    last.0.saturating_add((mono_ns.saturating_sub(last.1) as f64 * ticks_per_ns) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::reader::HeadCopy;
    use heapscribe_wire::head::{HEAD_FILE_BYTES, MAGIC};

    fn head(clock_kind: ClockKind) -> HeadCopy {
        let mut bytes = vec![0; HEAD_FILE_BYTES];
        bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[8..12].copy_from_slice(&heapscribe_wire::ABI_VERSION.to_le_bytes());
        bytes[28..32].copy_from_slice(&(clock_kind as u32).to_le_bytes());
        bytes[32..36].copy_from_slice(&5u32.to_le_bytes());
        bytes[40..48].copy_from_slice(&1_000_000u64.to_le_bytes());
        bytes[56..64].copy_from_slice(&500_000u64.to_le_bytes());
        HeadCopy::from(bytes).unwrap()
    }

    fn check(kind: ClockKind, chunks: &[(u64, u64)], mono_ns: u64, ticks: u64) {
        let header = |&(begin_ticks, begin_mono_ns): &(u64, u64)| Header {
            begin_ticks,
            begin_mono_ns,
            ..Header::default()
        };
        let chunks: Vec<_> = chunks.iter().map(header).collect();
        assert_eq!(ticks_at(mono_ns, &head(kind).get(), &chunks), ticks);
    }

    #[test]
    fn ticks_go_on_at_the_rate_that_was_seen() {
        check(ClockKind::Monotonic, &[], 3_200_000, 100_000);
        // 1 tick in 10 ns, by the later of two chunks; one that makes no sense is no pair.
        let chunks = [(501_000, 1_010_000), (600_000, 2_000_000), (7, 1_900_000)];
        check(ClockKind::Tsc, &chunks, 3_000_000, 700_000);
        // Nothing is known but the beginning: 12.8 ns a tick.
        check(ClockKind::Tsc, &[], 2_280_000, 600_000);
        check(ClockKind::Tsc, &[(1 << 60, 1_000_001)], 2_280_001, (1 << 60) + 100_000);
    }
}
