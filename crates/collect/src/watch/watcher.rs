//! Snapshots that are taken automatically: a thread of the collector looks at each recorded process now and then, and
//! writes what is live in it to a file next to the trace when a [`Trigger`] fires.
//!
//! `rss` and `live` fire once each time their size is reached from below nine tenths of it, `peak` at each
//! level a tenth above the one before, `every` by the clock. Of each kind the newest so many files of a
//! process stay; of `peak` there is one, which the next replaces.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use heapscribe_wire::operation::Record;

use super::trigger::{Trigger, memory_bytes};
use heapscribe_diagnostics as diagnostics;
use heapscribe_session::inspect::{self, Snapshot};
use heapscribe_session::{Memory, SessionKey};

/// Between two looks at all processes.
pub(super) const INTERVAL: Duration = Duration::from_millis(20);
/// Less than this is no peak worth a snapshot.
const PEAK_BYTES_MIN: u64 = 64 << 10;

/// What to watch for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SnapshotPlan {
    /// When to take snapshots.
    pub triggers: Vec<Trigger>,
    /// Files of a kind and process that are retained.
    pub files: usize,
}

/// Watches the processes of a recording.
pub(super) struct Watch {
    plan: SnapshotPlan,
    trace: PathBuf,
    memory_bytes: u64,
    last: Instant,
    processes: BTreeMap<SessionKey, Watched>,
    /// How many snapshots of a kind there were of a pid: several triggers are of one kind, and a process that execs
    /// keeps its pid.
    numbers: BTreeMap<(u32, &'static str), u64>,
    taken: u64,
    /// The files that are there: some were replaced, or deleted for newer ones.
    files: BTreeSet<PathBuf>,
}

/// Snapshots that triggers took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SnapshotCounts {
    /// All.
    pub taken: u64,
    /// Those of which there are files.
    pub files: u64,
}

/// A process, and how its triggers stand.
struct Watched {
    session: inspect::SessionReader,
    began: Instant,
    states: Vec<State>,
}

/// A snapshot that was written, and the one that was deleted for it.
struct Written {
    file: PathBuf,
    deleted: Option<PathBuf>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct State {
    /// It has fired, and its value did not fall since.
    has_fired: bool,
    /// Of `peak` the bytes of the last snapshot, of `every` how many times.
    pub(super) level: u64,
}

impl Watch {
    /// Snapshots are written to the directory of `trace`. A trigger that is given twice is one.
    pub(super) fn new(mut plan: SnapshotPlan, trace: &Path) -> Watch {
        plan.triggers.sort_unstable();
        plan.triggers.dedup();
        let (memory_bytes, last) = (memory_bytes(), Instant::now());
        let (processes, numbers, files) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Watch { plan, trace: trace.to_owned(), memory_bytes, last, processes, numbers, taken: 0, files }
    }

    /// What there is of it.
    pub(super) fn counts(&self) -> SnapshotCounts {
        SnapshotCounts {
            taken: self.taken,
            files: self.files.iter().filter(|file| file.exists()).count() as u64,
        }
    }

    /// Looks at the processes of these sessions, if it is time.
    pub(super) fn look(&mut self, base: &Path, sessions: impl Iterator<Item = SessionKey>) {
        if self.last.elapsed() < INTERVAL {
            return;
        }
        self.last = Instant::now();
        let mut before = std::mem::take(&mut self.processes);
        for key in sessions {
            let watched = before.remove(&key).or_else(|| self.open(base, key));
            if let Some(mut watched) = watched {
                // The first process of each container calls itself 1: its files would have the names of another's.
                let pid = watched.session.living_pid().unwrap_or(key.pid);
                self.look_at(pid, &mut watched);
                self.processes.insert(key, watched);
            }
        }
    }

    fn open(&self, base: &Path, key: SessionKey) -> Option<Watched> {
        let session = inspect::open(base, key).ok()?;
        let states = vec![State::default(); self.plan.triggers.len()];
        Some(Watched { session, began: Instant::now(), states })
    }

    fn look_at(&mut self, pid: u32, watched: &mut Watched) {
        for (number, trigger) in self.plan.triggers.clone().into_iter().enumerate() {
            let Some(value) = self.value(trigger, watched) else { continue };
            let state = &mut watched.states[number];
            if !state.is_due(trigger, value, self.memory_bytes) {
                continue;
            }
            match self.write(pid, trigger, state, &watched.session) {
                Ok(Some(Written { file, deleted })) => {
                    *self.numbers.entry((pid, trigger.name())).or_default() += 1;
                    self.taken += 1;
                    self.files.insert(file);
                    deleted.map(|deleted| self.files.remove(&deleted));
                }
                Ok(None) => {}
                Err(e) => diagnostics::warning(&format!(
                    "cannot take snapshot {} of process {pid}: {e:#}",
                    trigger.name()
                )),
            }
        }
    }

    /// The value that a trigger is about, now.
    fn value(&self, trigger: Trigger, watched: &Watched) -> Option<u64> {
        match trigger {
            Trigger::Every(_) => Some(u64::try_from(watched.began.elapsed().as_nanos()).unwrap_or(u64::MAX)),
            Trigger::Rss(_) => {
                let memory = Memory::of(watched.session.living_pid()?).without(watched.session.directory());
                memory.sample().map(|sample| sample.rss_bytes)
            }
            Trigger::Live(_) | Trigger::Peak => {
                let head = watched.session.head().ok()?;
                Some(live_bytes(&watched.session.records(&head.get())))
            }
        }
    }

    /// Takes and writes a snapshot; not of a peak that was over before it could be taken.
    fn write(
        &self,
        pid: u32,
        trigger: Trigger,
        state: &mut State,
        session: &inspect::SessionReader,
    ) -> Result<Option<Written>> {
        let snapshot = Snapshot::take(session)?;
        if trigger == Trigger::Peak {
            let bytes = live_bytes(&snapshot.records);
            if bytes <= state.level {
                return Ok(None);
            }
            state.level = bytes;
        }
        let snapshots = self.numbers.get(&(pid, trigger.name())).map_or(1, |before| before + 1);
        let path = |number: u64| match trigger {
            Trigger::Peak => self.path_of(&format!("{pid}.peak")),
            _ => self.path_of(&format!("{pid}.{}-{number}", trigger.name())),
        };
        let (to, part) = (path(snapshots), self.path_of(&format!("{pid}.part")));
        let not_written = || format!("cannot write {}", to.display());
        let file = File::create(&part).with_context(not_written)?;
        inspect::save(&snapshot.with_jit_names(session), &mut BufWriter::new(file))
            .with_context(not_written)?;
        fs::rename(&part, &to).with_context(not_written)?;
        let too_many = trigger != Trigger::Peak && snapshots > self.plan.files as u64;
        let oldest = too_many.then(|| path(snapshots - self.plan.files as u64));
        let deleted = oldest.filter(|oldest| fs::remove_file(oldest).is_ok());
        Ok(Some(Written { file: to, deleted }))
    }

    /// TRACE.NAME.hst, without the trace's own ending.
    fn path_of(&self, name: &str) -> PathBuf {
        let stem = self.trace.file_stem().unwrap_or_default().to_string_lossy();
        self.trace.with_file_name(format!("{stem}.{name}.hst"))
    }
}

/// Bytes that are live by the counters of threads. Read while they run these need not fit together.
pub(super) fn live_bytes(records: &[Record]) -> u64 {
    let bytes = records
        .iter()
        .fold(0u64, |sum, record| sum.wrapping_add(record.allocated_bytes).wrapping_sub(record.freed_bytes));
    if bytes > u64::MAX / 2 { 0 } else { bytes }
}

impl State {
    /// Whether it fires at this value; then it is noted that it did.
    pub(super) fn is_due(&mut self, trigger: Trigger, value: u64, memory_bytes: u64) -> bool {
        match trigger {
            Trigger::Rss(size) | Trigger::Live(size) => {
                let limit = size.bytes(memory_bytes);
                let is_due = value >= limit && !self.has_fired;
                self.has_fired = value >= limit || (self.has_fired && value >= limit / 10 * 9);
                is_due
            }
            Trigger::Every(ns) => {
                let times = value / ns;
                let is_due = times > self.level;
                self.level = times;
                is_due
            }
            Trigger::Peak => value >= PEAK_BYTES_MIN && value > self.level.saturating_add(self.level / 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::trigger::Size;

    fn check(trigger: Trigger, values: &[u64], expected: &[bool]) {
        let mut state = State::default();
        let fired: Vec<_> = values.iter().map(|&value| state.is_due(trigger, value, 1000)).collect();
        assert_eq!(fired, expected, "{trigger:?} at {values:?}");
    }

    #[test]
    fn a_size_fires_a_second_time_only_after_a_fall() {
        let values = [799, 800, 900, 790, 800, 719, 800];
        let expected = [false, true, false, false, false, false, true];
        check(Trigger::Rss(Size::Percent(80)), &values, &expected);
        check(Trigger::Live(Size::Bytes(800)), &values, &expected);
    }

    #[test]
    fn a_peak_is_a_tenth_above_the_last() {
        let mut state = State { level: 100_000, ..State::default() };
        assert!(!state.is_due(Trigger::Peak, 110_000, 0));
        assert!(state.is_due(Trigger::Peak, 110_001, 0));
        assert!(!State::default().is_due(Trigger::Peak, PEAK_BYTES_MIN - 1, 0));
    }

    #[test]
    fn the_clock_fires_once_each_time() {
        check(Trigger::Every(10), &[9, 10, 19, 35, 39], &[false, true, false, true, false]);
    }
}
