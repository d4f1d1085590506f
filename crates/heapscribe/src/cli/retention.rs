//! How much of a recording stays.

use std::time::Duration;

use clap::Args;

use heapscribe_collect::watch::{SnapshotPlan, Trigger};
use heapscribe_collect::{KilledRetention, MemoryMapPlan};
use heapscribe_convert::ring::{Limits, RING_BYTES_MIN};
use heapscribe_units::{parse_bytes, parse_duration};

/// Bytes of the ring of `--last` alone.
const LAST_BYTES: u64 = 1 << 30;

/// How much of a recording stays: all of it, or the newest part.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Always-on recording")]
pub(crate) struct RetentionArgs {
    /// Keep only the newest events, using at most BYTES of disk, for example 256MiB
    #[arg(long, value_name = "BYTES", value_parser = parse_ring)]
    ring: Option<u64>,

    /// Keep only the events of the last TIME, for example 10min; limited to 1GiB unless --ring is given
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    last: Option<u64>,

    /// When to take a snapshot; can be given several times
    ///
    /// WHEN is one of: rss=2GiB or rss=80% (of the memory limit) or live=2GiB, when resident memory (without the
    /// files of the recorder) or the live heap reaches a size, and again after it has fallen by a tenth;
    /// every=60s; or peak, when the live heap has grown by a tenth since the last peak (only the highest peak
    /// stays). Snapshots of run.hst are written to run.PID.NAME.hst.
    #[arg(long, value_name = "WHEN", value_parser = parse_trigger)]
    snapshot_at: Vec<Trigger>,

    /// How many snapshots to keep per process and kind; older ones are deleted
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    snapshots_kept: u32,

    /// When to look of what the resident memory of processes is made; can be given several times
    ///
    /// WHEN is one of: every=1s; at=marks; at=sections, when a section of the program ends, and then also what it left
    /// behind and how many pages that pins; or at=peaks, when the live heap has grown by a tenth since the last peak.
    /// `report` shows it over time: live blocks, free memory that the heap keeps, and what is not the heap's. A process is
    /// held for each look as long as for a snapshot. Looks take at most a tenth of the time.
    #[arg(long, value_name = "WHEN", value_parser = parse_look)]
    memory_map: Vec<Look>,

    /// How long to keep the sessions of killed processes, for `heapscribe snapshot`; 0 keeps none
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = parse_duration)]
    keep_killed: u64,

    /// Maximum size of these sessions [default: a quarter of the free space, at most 1GiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    keep_killed_bytes: Option<u64>,
}

/// When to look at the memory of processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Look {
    /// Each time so many ns have gone by.
    Every(u64),
    AtMarks,
    AtSections,
    AtPeaks,
}

impl RetentionArgs {
    /// The limits of the ring; `None` when all of the recording stays.
    pub(crate) fn limits(&self) -> Option<Limits> {
        let is_ring = self.ring.is_some() || self.last.is_some();
        let limits = Limits { bytes: self.ring.unwrap_or(LAST_BYTES), age_ns: self.last.unwrap_or(u64::MAX) };
        is_ring.then_some(limits)
    }

    /// When snapshots are taken, and how many stay.
    pub(crate) fn snapshots(&self) -> SnapshotPlan {
        SnapshotPlan { triggers: self.snapshot_at.clone(), files: self.snapshots_kept as usize }
    }

    /// When the memory map is looked at, if it is.
    pub(crate) fn memory_map(&self) -> Option<MemoryMapPlan> {
        let mut plan = MemoryMapPlan::default();
        for look in &self.memory_map {
            match *look {
                Look::Every(ns) => {
                    let every = Duration::from_nanos(ns);
                    plan.every = Some(plan.every.map_or(every, |before| before.min(every)));
                }
                Look::AtMarks => plan.at_marks = true,
                Look::AtSections => plan.at_sections = true,
                Look::AtPeaks => plan.at_peaks = true,
            }
        }
        (!self.memory_map.is_empty()).then_some(plan)
    }

    /// Which sessions of killed processes stay.
    pub(crate) fn killed(&self) -> KilledRetention {
        KilledRetention { age: Duration::from_nanos(self.keep_killed), bytes: self.keep_killed_bytes }
    }
}

fn parse_trigger(text: &str) -> Result<Trigger, String> {
    Trigger::parse(text, parse_bytes, parse_duration)
}

/// `every=1s`, `at=sections`.
fn parse_look(text: &str) -> Result<Look, String> {
    match (text.strip_prefix("every=").map(parse_duration), text.strip_prefix("at=")) {
        (Some(Ok(0)), _) => Err("the interval must not be 0".to_owned()),
        (Some(every), _) => every.map(Look::Every),
        (_, Some("marks")) => Ok(Look::AtMarks),
        (_, Some("sections")) => Ok(Look::AtSections),
        (_, Some("peaks")) => Ok(Look::AtPeaks),
        _ => Err("expected every=1s, at=marks, at=sections or at=peaks".to_owned()),
    }
}

/// Bytes of a ring.
fn parse_ring(text: &str) -> Result<u64, String> {
    match parse_bytes(text)? {
        bytes if bytes < RING_BYTES_MIN => Err(format!("`{text}` is too small; the minimum is 1MiB")),
        bytes => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_limit_makes_a_ring() {
        let check = |ring, last, limits| {
            let (snapshot_at, snapshots_kept, memory_map) = (Vec::new(), 1, Vec::new());
            let (keep_killed, keep_killed_bytes) = (0, None);
            let args = RetentionArgs {
                ring,
                last,
                snapshot_at,
                snapshots_kept,
                memory_map,
                keep_killed,
                keep_killed_bytes,
            };
            assert_eq!(args.limits(), limits);
        };
        check(None, None, None);
        check(Some(1 << 28), None, Some(Limits { bytes: 1 << 28, age_ns: u64::MAX }));
        check(None, Some(7), Some(Limits { bytes: 1 << 30, age_ns: 7 }));
        check(Some(1 << 20), Some(7), Some(Limits { bytes: 1 << 20, age_ns: 7 }));
        assert_eq!(parse_ring("1MiB"), Ok(1 << 20));
        assert!(parse_ring("1023KiB").is_err());
        assert_eq!(parse_look("every=1s"), Ok(Look::Every(1_000_000_000)));
        assert_eq!(parse_look("at=sections"), Ok(Look::AtSections));
        assert!(["1s", "every=0s", "at=", "sections"].iter().all(|text| parse_look(text).is_err()));
    }
}
