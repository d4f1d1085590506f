//! How much of a recording is kept.

use std::time::Duration;

use clap::Args;

use heapscribe_collect::Keep;
use heapscribe_collect::watch::{SnapshotPlan, Trigger};
use heapscribe_convert::ring::{Limits, RING_BYTES_MIN};
use heapscribe_units::{parse_bytes, parse_duration};

/// Bytes of the ring of `--last` alone.
const LAST_BYTES: u64 = 1 << 30;

/// How much of a recording is kept: all of it, or the newest part.
#[derive(Clone, Debug, Args)]
pub(crate) struct RetentionArgs {
    /// Keep only the newest events, in so many bytes of disk, however long it runs; for example 256MiB
    #[arg(long, value_name = "BYTES", value_parser = parse_ring)]
    ring: Option<u64>,

    /// Keep only the events of this time before the end, for example 10min; at most 1GiB of them, or what
    /// --ring says
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    last: Option<u64>,

    /// Take a snapshot when memory reaches a size (rss=80%, rss=2GiB, live=2GiB; again after a fall of a
    /// tenth), each TIME (every=60s), or at each peak of live bytes a tenth above the last (peak; the last
    /// one stays); may be given several times. Snapshots are TRACE.PID.NAME.hst
    #[arg(long, value_name = "WHEN", value_parser = parse_trigger)]
    snapshot_at: Vec<Trigger>,

    /// Snapshots of each kind and process that stay: the newest
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    snapshots_kept: u32,

    /// How long the sessions of processes that were killed stay, to be looked into; 0 keeps none
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = parse_duration)]
    keep_killed: u64,

    /// Bytes of all such sessions [default: a quarter of what is free, at most 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    keep_killed_bytes: Option<u64>,
}

impl RetentionArgs {
    /// The limits of the ring; `None` when all is kept.
    pub(crate) fn limits(&self) -> Option<Limits> {
        let is_ring = self.ring.is_some() || self.last.is_some();
        let limits = Limits { bytes: self.ring.unwrap_or(LAST_BYTES), age_ns: self.last.unwrap_or(u64::MAX) };
        is_ring.then_some(limits)
    }

    /// When snapshots are taken, and how many stay.
    pub(crate) fn wishes(&self) -> SnapshotPlan {
        SnapshotPlan { triggers: self.snapshot_at.clone(), files: self.snapshots_kept as usize }
    }

    /// Which sessions of killed processes stay.
    pub(crate) fn killed(&self) -> Keep {
        Keep { age: Duration::from_nanos(self.keep_killed), bytes: self.keep_killed_bytes }
    }
}

fn parse_trigger(text: &str) -> Result<Trigger, String> {
    Trigger::parse(text, parse_bytes, parse_duration)
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
        let check = |ring, last, limits| {
            let (snapshot_at, snapshots_kept) = (Vec::new(), 1);
            let (keep_killed, keep_killed_bytes) = (0, None);
            let args =
                RetentionArgs { ring, last, snapshot_at, snapshots_kept, keep_killed, keep_killed_bytes };
            assert_eq!(args.limits(), limits);
        };
        check(None, None, None);
        check(Some(1 << 28), None, Some(Limits { bytes: 1 << 28, age_ns: u64::MAX }));
        check(None, Some(7), Some(Limits { bytes: 1 << 30, age_ns: 7 }));
        check(Some(1 << 20), Some(7), Some(Limits { bytes: 1 << 20, age_ns: 7 }));
        assert_eq!(parse_ring("1MiB"), Ok(1 << 20));
        assert!(parse_ring("1023KiB").is_err());
    }
}
