//! From ticks to nanoseconds.
//!
//! Events carry ticks of their process's own clock. The monotonic clock's ticks are nanoseconds shifted
//! right, so that its rate is exact. The rate of the time stamp counter is written nowhere; but each
//! chunk and each process brings pairs of a counter value and the CLOCK_MONOTONIC of the same moment, and
//! as one machine has one counter, the earliest and the latest pair of the whole trace give the rate over
//! the longest time there is.
//!
//! All times of one counter lie on one line, through the earliest pair. Lines through the pairs of chunks would be
//! some microseconds apart - between the two readings a thread may be interrupted - and events of two threads would
//! change places (a replay found another peak than the report); so would events of two processes on lines through the
//! pairs of their beginnings (two that took turns had a block each at a time in five recordings of six).

use heapscribe_wire::head::ClockKind;

use crate::model::{ChunkInfo, LiveTable, ProcessInfo};

/// Nanoseconds per raw value of a time stamp counter that nothing is known of: 2.5 GHz.
const NOMINAL_TSC_NS: f64 = 0.4;

/// The clock of one process: turns its ticks to nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clock {
    start_mono_ns: u64,
    /// A tick of the process and when that was; `None` when nothing is known of its beginning.
    origin: Option<(u64, u64)>,
    rate: Rate,
    unit_ns: f64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Rate {
    Shift(u32),
    NsPerTick(f64),
}

impl Clock {
    /// When a tick of the chunk was, ns since the trace's start; 0 for what was before it.
    #[inline(always)]
    pub fn time_ns(&self, chunk: &ChunkInfo, ticks: u64) -> u64 {
        let (origin, mono_ns) = self.origin.unwrap_or((chunk.begin_ticks, chunk.begin_mono_ns));
        let mono_ns = match ticks.checked_sub(origin) {
            Some(after) => mono_ns.saturating_add(self.age_ns(after)),
            None => mono_ns.saturating_sub(self.age_ns(origin - ticks)),
        };
        mono_ns.saturating_sub(self.start_mono_ns)
    }

    /// A tick and when that was, CLOCK_MONOTONIC ns: what its times are counted from. None where each chunk has its own.
    pub fn origin(&self) -> Option<(u64, u64)> {
        self.origin
    }

    /// How long a number of ticks takes, ns.
    #[inline(always)]
    pub fn age_ns(&self, ticks: u64) -> u64 {
        match self.rate {
            Rate::Shift(shift) => ticks.saturating_mul(1 << shift),
            Rate::NsPerTick(ns) => (ticks as f64 * ns) as u64,
        }
    }

    /// How old a block is at a tick of the chunk, ns: the time of that tick less the age is the time of its birth, to
    /// the last digit. The age rounded by itself is another one for half of all blocks.
    pub fn age_at_ns(&self, chunk: &ChunkInfo, ticks: u64, age_ticks: u64) -> u64 {
        let birth = ticks.checked_sub(age_ticks).map(|birth| self.time_ns(chunk, birth));
        // What was born before the trace's start has an age, and no time.
        match birth.filter(|birth_ns| *birth_ns > 0) {
            Some(birth_ns) => self.time_ns(chunk, ticks).saturating_sub(birth_ns),
            None => self.age_ns(age_ticks),
        }
    }

    /// How long a number of units of the clock before its shift takes, ns.
    #[inline(always)]
    pub fn units_ns(&self, units: u64) -> f64 {
        units as f64 * self.unit_ns
    }

    /// How long a tick takes, ns: two times that are less apart can be equal.
    pub fn resolution_ns(&self) -> f64 {
        match self.rate {
            Rate::Shift(shift) => (1u64 << shift) as f64,
            Rate::NsPerTick(ns) => ns,
        }
    }
}

/// Collects the pairs of times in a trace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Calibration {
    start_mono_ns: Option<u64>,
    /// Earliest and latest pair of raw counter value and ns.
    tsc: Option<[(u64, u64); 2]>,
}

impl Calibration {
    /// Takes the pair of a process's beginning.
    pub(crate) fn process(&mut self, info: &ProcessInfo) {
        let start = self.start_mono_ns.unwrap_or(u64::MAX);
        self.start_mono_ns = Some(start.min(info.created_mono_ns));
        self.pair(info, info.created_ticks, info.created_mono_ns);
    }

    /// Takes the start of the recording, or the creation of a process of which nothing else is known; 0 for none.
    pub(crate) fn began(&mut self, mono_ns: u64) {
        if mono_ns != 0 {
            self.start_mono_ns = Some(self.start_mono_ns.unwrap_or(u64::MAX).min(mono_ns));
        }
    }

    /// Takes the pairs of a chunk.
    pub(crate) fn chunk(&mut self, info: &ProcessInfo, chunk: &ChunkInfo) {
        self.pair(info, chunk.begin_ticks, chunk.begin_mono_ns);
        self.pair(info, chunk.end_ticks, chunk.end_mono_ns);
    }

    /// Takes the pair of a snapshot.
    pub(crate) fn live(&mut self, info: &ProcessInfo, table: &LiveTable) {
        self.pair(info, table.ticks, table.mono_ns);
    }

    fn pair(&mut self, info: &ProcessInfo, ticks: u64, mono_ns: u64) {
        let raw = ticks.checked_shl(info.clock_shift).unwrap_or(0);
        if info.clock_kind != ClockKind::Tsc || raw == 0 || mono_ns == 0 {
            return;
        }
        let [first, last] = self.tsc.get_or_insert([(raw, mono_ns); 2]);
        if raw < first.0 {
            *first = (raw, mono_ns);
        }
        if raw > last.0 {
            *last = (raw, mono_ns);
        }
    }

    /// When the trace starts, CLOCK_MONOTONIC ns.
    pub(crate) fn start_mono_ns(&self) -> u64 {
        self.start_mono_ns.unwrap_or(0)
    }

    fn tsc_ns(&self) -> f64 {
        let Some([first, last]) = self.tsc else { return NOMINAL_TSC_NS };
        let rate = last.1.saturating_sub(first.1) as f64 / (last.0 - first.0) as f64;
        // Counters run at 0.1 to 20 GHz; what lies outside is damage and not a rate.
        if (0.05..=10.0).contains(&rate) { rate } else { NOMINAL_TSC_NS }
    }

    /// The clock of a process.
    pub(crate) fn clock(&self, info: &ProcessInfo) -> Clock {
        let shift = info.clock_shift.min(63);
        let (rate, unit_ns) = match info.clock_kind {
            ClockKind::Monotonic => (Rate::Shift(shift), 1.0),
            ClockKind::Tsc => (Rate::NsPerTick(self.tsc_ns() * (1u64 << shift) as f64), self.tsc_ns()),
        };
        let own = (info.created_ticks, info.created_mono_ns);
        let own = (own.0 != 0 && own.1 != 0).then_some(own);
        let shared = self.tsc.filter(|_| info.clock_kind == ClockKind::Tsc);
        let origin = shared.map_or(own, |[(raw, mono_ns), _]| Some((raw >> shift, mono_ns)));
        Clock { start_mono_ns: self.start_mono_ns(), origin, rate, unit_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tsc(created_ticks: u64, created_mono_ns: u64) -> ProcessInfo {
        let clock_kind = ClockKind::Tsc;
        ProcessInfo { clock_kind, clock_shift: 5, created_ticks, created_mono_ns, ..ProcessInfo::default() }
    }

    #[test]
    fn the_monotonic_clock_is_a_shift() {
        let info = ProcessInfo { created_mono_ns: 1600, created_ticks: 100, ..ProcessInfo::default() };
        let mut calibration = Calibration::default();
        calibration.process(&info);
        let clock = calibration.clock(&info);
        let chunk = ChunkInfo { begin_ticks: 200, begin_mono_ns: 3200, ..ChunkInfo::default() };
        assert_eq!(clock.time_ns(&chunk, 200), 1600);
        assert_eq!(clock.time_ns(&chunk, 201), 1616);
        assert_eq!(clock.time_ns(&chunk, 199), 1584);
        assert_eq!(clock.age_ns(u64::MAX), u64::MAX);
        assert_eq!(clock.units_ns(33), 33.0);
    }

    #[test]
    fn the_counters_rate_is_that_of_the_longest_time_in_the_trace() {
        let (a, b) = (tsc(1000, 10_000), tsc(2_001_000, 32_010_000));
        let mut calibration = Calibration::default();
        calibration.process(&a);
        calibration.process(&b);
        let noisy = ChunkInfo { begin_ticks: 1010, begin_mono_ns: 20_000, ..ChunkInfo::default() };
        calibration.chunk(&a, &noisy);
        assert_eq!(calibration.clock(&a).age_ns(1_000_000), 16_000_000);
        assert_eq!(calibration.clock(&a).units_ns(1_000), 500.0);
        assert_eq!(calibration.start_mono_ns(), 10_000);
    }

    #[test]
    fn events_of_two_threads_keep_their_order() {
        let info = tsc(1000, 16_000);
        let mut calibration = Calibration::default();
        calibration.process(&info);
        calibration.pair(&info, 2_001_000, 32_016_000);
        let clock = calibration.clock(&info);
        // Interrupted for 5 us between the two readings.
        let late = ChunkInfo { begin_ticks: 2000, begin_mono_ns: 37_000, ..ChunkInfo::default() };
        let other = ChunkInfo { begin_ticks: 2010, begin_mono_ns: 32_160, ..ChunkInfo::default() };
        assert_eq!((clock.time_ns(&late, 2100), clock.time_ns(&other, 2110)), (17_600, 17_760));
    }

    #[test]
    fn events_of_two_processes_keep_their_order() {
        // The second was interrupted for 5 us between the two readings of its beginning.
        let (first, second) = (tsc(1_000, 16_000), tsc(2_000, 37_000));
        let mut calibration = Calibration::default();
        calibration.process(&first);
        calibration.process(&second);
        calibration.pair(&first, 2_001_000, 32_016_000);
        let of = |info, ticks| calibration.clock(info).time_ns(&ChunkInfo::default(), ticks);
        assert_eq!((of(&second, 3_000), of(&first, 3_001)), (32_000, 32_016));
    }

    #[test]
    fn a_time_less_its_age_is_the_time_of_the_birth() {
        let info = tsc(1000, 16_000);
        let mut calibration = Calibration::default();
        calibration.process(&info);
        calibration.pair(&info, 3_001_000, 32_016_007);
        let (clock, chunk) = (calibration.clock(&info), ChunkInfo::default());
        for (birth, age) in (1_001..3_000).flat_map(|birth| [1, 7, 1_234].map(|age| (birth, age))) {
            let time_ns = clock.time_ns(&chunk, birth + age);
            assert_eq!(time_ns - clock.age_at_ns(&chunk, birth + age, age), clock.time_ns(&chunk, birth));
        }
        assert_eq!(
            clock.age_at_ns(&chunk, 2_000, u64::MAX >> 20),
            clock.age_ns(u64::MAX >> 20),
            "before the start"
        );
    }

    #[test]
    fn pairs_that_make_no_sense_give_the_nominal_rate() {
        let (a, b) = (tsc(1000, u64::MAX), tsc(u64::MAX, 5));
        let mut calibration = Calibration::default();
        calibration.process(&a);
        calibration.process(&b);
        assert_eq!(calibration.clock(&a).resolution_ns(), 12.8);
    }
}
