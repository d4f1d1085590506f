//! How much of a recording is kept.

use clap::Args;

use super::units::{parse_bytes, parse_duration};
use crate::ring::{Limits, RING_BYTES_MIN};

/// Bytes of the ring of `--last` alone.
const LAST_BYTES: u64 = 1 << 30;

/// How much of a recording is kept: all of it, or the newest part.
#[derive(Clone, Debug, Args)]
pub(crate) struct KeptArgs {
    /// Keep only the newest events, in so many bytes of disk, however long it runs; for example 256MiB
    #[arg(long, value_name = "BYTES", value_parser = parse_ring)]
    ring: Option<u64>,

    /// Keep only the events of this time before the end, for example 10min; at most 1GiB of them, or what
    /// --ring says
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    last: Option<u64>,
}

impl KeptArgs {
    /// The limits of the ring; `None` when all is kept.
    pub(crate) fn limits(&self) -> Option<Limits> {
        let is_ring = self.ring.is_some() || self.last.is_some();
        let limits = Limits { bytes: self.ring.unwrap_or(LAST_BYTES), age_ns: self.last.unwrap_or(u64::MAX) };
        is_ring.then_some(limits)
    }
}

/// Bytes of a ring.
fn parse_ring(text: &str) -> Result<u64, String> {
    match parse_bytes(text)? {
        bytes if bytes < RING_BYTES_MIN => Err(format!("`{text}` is too little, 1MiB is the least")),
        bytes => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_limit_makes_a_ring() {
        let check = |ring, last, limits| assert_eq!(KeptArgs { ring, last }.limits(), limits);
        check(None, None, None);
        check(Some(1 << 28), None, Some(Limits { bytes: 1 << 28, age_ns: u64::MAX }));
        check(None, Some(7), Some(Limits { bytes: 1 << 30, age_ns: 7 }));
        check(Some(1 << 20), Some(7), Some(Limits { bytes: 1 << 20, age_ns: 7 }));
        assert_eq!(parse_ring("1MiB"), Ok(1 << 20));
        assert!(parse_ring("1023KiB").is_err());
    }
}
