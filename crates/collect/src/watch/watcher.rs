//! Snapshots that nobody asks for at the moment: the drainer looks at each recorded process now and then, and
//! writes down what is live in it when a [`Trigger`] says so, beside the trace.
//!
//! `rss` and `live` come once each time their size is reached from below nine tenths of it, `peak` at each
//! level a tenth above the one before, `every` by the clock. Of each kind the newest so many files of a
//! process stay; of `peak` there is one, which the next replaces.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use heapscribe_wire::operation::Record;

use super::trigger::{Trigger, memory_bytes};
use heapscribe_diagnostics as diagnostics;
use heapscribe_session::live::{self, Snapshot};
use heapscribe_session::memory_of;

/// Between two looks at all processes.
const INTERVAL: Duration = Duration::from_millis(20);
/// Less than this is no peak worth a snapshot.
const PEAK_BYTES_MIN: u64 = 64 << 10;

/// What to watch for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SnapshotPlan {
    /// When to take snapshots.
    pub triggers: Vec<Trigger>,
    /// Files of a kind and process that stay.
    pub files: usize,
}

/// Watches the processes of a recording.
pub struct Watch {
    plan: SnapshotPlan,
    trace: PathBuf,
    memory_bytes: u64,
    last: Instant,
    processes: BTreeMap<(u32, u64), Watched>,
    /// Snapshots that were written.
    pub written: u64,
}

/// A process, and how its triggers stand.
struct Watched {
    session: live::SessionReader,
    began: Instant,
    states: Vec<State>,
}

#[derive(Clone, Copy, Default)]
struct State {
    /// It has come, and what it is about did not fall since.
    has_come: bool,
    /// Of `peak` the bytes of the last snapshot, of `every` how many times.
    level: u64,
    /// Snapshots taken.
    taken: u64,
}

impl Watch {
    /// Snapshots go beside `trace`.
    pub fn new(plan: SnapshotPlan, trace: &Path) -> Watch {
        let (memory_bytes, last) = (memory_bytes(), Instant::now());
        Watch { plan, trace: trace.to_owned(), memory_bytes, last, processes: BTreeMap::new(), written: 0 }
    }

    /// Looks at the processes of these sessions, if it is time.
    pub fn look(&mut self, base: &Path, sessions: impl Iterator<Item = (u32, u64)>) {
        if self.plan.triggers.is_empty() || self.last.elapsed() < INTERVAL {
            return;
        }
        self.last = Instant::now();
        let mut before = std::mem::take(&mut self.processes);
        for key in sessions {
            let watched = before.remove(&key).or_else(|| self.open(base, key));
            if let Some(mut watched) = watched {
                self.look_at(key.0, &mut watched);
                self.processes.insert(key, watched);
            }
        }
    }

    fn open(&self, base: &Path, key: (u32, u64)) -> Option<Watched> {
        let session = live::at(&heapscribe_session::base::session_path(base, key)).ok()?.open().ok()?;
        let states = vec![State::default(); self.plan.triggers.len()];
        Some(Watched { session, began: Instant::now(), states })
    }

    fn look_at(&mut self, pid: u32, watched: &mut Watched) {
        for (number, trigger) in self.plan.triggers.clone().into_iter().enumerate() {
            let Some(found) = self.value(trigger, watched) else { continue };
            let state = &mut watched.states[number];
            if !state.comes(trigger, found, self.memory_bytes) {
                continue;
            }
            match self.write(pid, trigger, state, &watched.session) {
                Ok(written) => self.written += u64::from(written),
                Err(e) => {
                    diagnostics::warning(&format!("no snapshot {} of process {pid}: {e:#}", trigger.name()))
                }
            }
        }
    }

    /// What a trigger is about, now.
    fn value(&self, trigger: Trigger, watched: &Watched) -> Option<u64> {
        match trigger {
            Trigger::Every(_) => Some(u64::try_from(watched.began.elapsed().as_nanos()).unwrap_or(u64::MAX)),
            Trigger::Rss(_) => memory_of(watched.session.living_pid()?).map(|sample| sample.rss_bytes),
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
        session: &live::SessionReader,
    ) -> Result<bool> {
        let snapshot = Snapshot::take(session)?;
        if trigger == Trigger::Peak {
            let bytes = live_bytes(&snapshot.records);
            if bytes <= state.level {
                return Ok(false);
            }
            state.level = bytes;
        }
        state.taken += 1;
        let taken = state.taken;
        let path = |number: u64| match trigger {
            Trigger::Peak => self.beside(&format!("{pid}.peak")),
            _ => self.beside(&format!("{pid}.{}-{number}", trigger.name())),
        };
        let (to, part) = (path(taken), self.beside(&format!("{pid}.part")));
        let not_written = || format!("{} can not be written", to.display());
        let file = File::create(&part).with_context(not_written)?;
        live::save(&snapshot, &mut BufWriter::new(file)).with_context(not_written)?;
        fs::rename(&part, &to).with_context(not_written)?;
        if trigger != Trigger::Peak && taken > self.plan.files as u64 {
            let _ = fs::remove_file(path(taken - self.plan.files as u64));
        }
        Ok(true)
    }

    /// TRACE.NAME.hst, without the trace's own ending.
    fn beside(&self, name: &str) -> PathBuf {
        let stem = self.trace.file_stem().unwrap_or_default().to_string_lossy();
        self.trace.with_file_name(format!("{stem}.{name}.hst"))
    }
}

/// Bytes that are live by what threads say of themselves. Read while they run these need not fit together.
fn live_bytes(records: &[Record]) -> u64 {
    let bytes = records
        .iter()
        .fold(0u64, |sum, record| sum.wrapping_add(record.allocated_bytes).wrapping_sub(record.freed_bytes));
    if bytes > u64::MAX / 2 { 0 } else { bytes }
}

impl State {
    /// Whether it comes at this value; then it is noted that it did.
    fn comes(&mut self, trigger: Trigger, value: u64, memory_bytes: u64) -> bool {
        match trigger {
            Trigger::Rss(size) | Trigger::Live(size) => {
                let limit = size.bytes(memory_bytes);
                let comes = value >= limit && !self.has_come;
                self.has_come = value >= limit || (self.has_come && value >= limit / 10 * 9);
                comes
            }
            Trigger::Every(ns) => {
                let times = value / ns;
                let comes = times > self.level;
                self.level = times;
                comes
            }
            Trigger::Peak => value >= PEAK_BYTES_MIN && value > self.level.saturating_add(self.level / 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::trigger::Size;

    fn check(trigger: Trigger, values: &[u64], comes: &[bool]) {
        let mut state = State::default();
        let came: Vec<_> = values.iter().map(|&value| state.comes(trigger, value, 1000)).collect();
        assert_eq!(came, comes, "{trigger:?} at {values:?}");
    }

    #[test]
    fn a_size_comes_again_only_after_a_fall() {
        let values = [799, 800, 900, 790, 800, 719, 800];
        let comes = [false, true, false, false, false, false, true];
        check(Trigger::Rss(Size::Percent(80)), &values, &comes);
        check(Trigger::Live(Size::Bytes(800)), &values, &comes);
    }

    #[test]
    fn a_peak_is_a_tenth_above_the_last() {
        let mut state = State { level: 100_000, ..State::default() };
        assert!(!state.comes(Trigger::Peak, 110_000, 0));
        assert!(state.comes(Trigger::Peak, 110_001, 0));
        assert!(!State::default().comes(Trigger::Peak, PEAK_BYTES_MIN - 1, 0));
    }

    #[test]
    fn the_clock_comes_once_each_time() {
        check(Trigger::Every(10), &[9, 10, 19, 35, 39], &[false, true, false, true, false]);
    }
}
