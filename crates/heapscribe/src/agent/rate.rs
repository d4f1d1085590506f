//! How much is sampled: so much that a host has about as many samples an hour as were asked for. A process can have three
//! rates in its life, so the rate changes only when it is far off, and by powers of two.

/// The least and the largest mean bytes between two samples.
const MEAN_BYTES: std::ops::RangeInclusive<u64> = 4 << 10..=1 << 36;
/// A rate that is off by less than this stays.
const FAR_OFF: f64 = 3.0;
/// Samples from which on a rate of samples is known well enough.
const KNOWN_BY: u64 = 50;

const HOUR_NS: f64 = 3600e9;

/// The mean bytes between two samples to have so many samples an hour, where so many were seen in a time at this mean.
/// The same where that is near enough, or too little was seen.
pub(crate) fn adapted(mean_bytes: u64, seen: u64, time_ns: u64, samples_per_hour: u64) -> u64 {
    let expected = samples_per_hour as f64 * time_ns as f64 / HOUR_NS;
    if time_ns == 0 || (seen < KNOWN_BY && expected < KNOWN_BY as f64) {
        return mean_bytes;
    }
    let ratio = seen.max(1) as f64 / expected.max(1.0);
    if (1.0 / FAR_OFF..=FAR_OFF).contains(&ratio) {
        return mean_bytes;
    }
    let wanted = (mean_bytes as f64 * ratio).log2().round();
    let wanted = 1u64 << (wanted.clamp(0.0, 62.0) as u32);
    wanted.clamp(*MEAN_BYTES.start(), *MEAN_BYTES.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE_NS: u64 = 60_000_000_000;

    #[track_caller]
    fn check(mean_bytes: u64, seen: u64, time_ns: u64, expected: u64) {
        assert_eq!(adapted(mean_bytes, seen, time_ns, 40_000), expected);
    }

    #[test]
    fn a_rate_far_off_is_adapted() {
        check(512 << 10, 667, MINUTE_NS, 512 << 10);
        check(512 << 10, 1900, MINUTE_NS, 512 << 10);
        check(512 << 10, 6670, MINUTE_NS, 4 << 20);
        check(512 << 10, 80, MINUTE_NS, 64 << 10);
        check(512 << 10, 0, MINUTE_NS, 4 << 10);
        check(1 << 36, 1_000_000, MINUTE_NS, 1 << 36);
    }

    #[test]
    fn little_says_nothing() {
        check(512 << 10, 0, MINUTE_NS / 60, 512 << 10);
        check(512 << 10, 49, MINUTE_NS / 60, 512 << 10);
        check(512 << 10, 49, 0, 512 << 10);
        check(512 << 10, 1000, MINUTE_NS / 60, 32 << 20);
    }
}
