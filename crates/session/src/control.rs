//! Running processes under a recorder: where their sessions are, and the word in each session's head that
//! sets what is recorded. Who may write the file may change it; every thread follows at its next call.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use heapscribe_formats::model::ModeChange;
use heapscribe_wire::definitions::{Definition, Definitions, Position};
use heapscribe_wire::head::{BadHead, HEAD_FILE_BYTES, Head, MODE_OFFSET, PAST_MARK_OFFSET};
use heapscribe_wire::limits::{DEFS_BYTES_MAX, RATES_MAX};
use heapscribe_wire::mode::Mode;
use heapscribe_wire::plan::{FILE_NAME, PLAN_BYTES, Plan};

use crate::clock::monotonic_ns;
use crate::inspect::SessionPath;
use crate::{mark_request, mode_changes, open_file, read_head, read_up_to, real_time_rules};
use heapscribe_diagnostics::Problem;

/// A running collector writes a mark in its next pass.
const MARK_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// A process that makes its session writes its head at once, however little time it has to run.
const HEAD_TIMEOUT: Duration = Duration::from_secs(2);

/// A running process that is recorded.
pub struct Controlled {
    base: PathBuf,
    head: PathBuf,
    /// Its pid here.
    pub pid: u32,
    /// Its program.
    pub exe: String,
    /// What is recorded now.
    pub mode: Mode,
}

impl Controlled {
    /// The process of a session.
    pub fn of(session: &SessionPath) -> Result<Controlled> {
        let Some(pid) = session.living_pid() else {
            let what = format!("process {} has ended", session.pid);
            return Err(Problem::new(what, "its trace shows what it did until then").into());
        };
        session.check_owner()?;
        let base = session.directory.parent().unwrap_or(&session.directory);
        Controlled::read(base.to_owned(), session.directory.join("head"), pid)
    }

    fn read(base: PathBuf, head: PathBuf, pid: u32) -> Result<Controlled> {
        let shown = head.display();
        let bytes = written_head(&head).with_context(|| format!("cannot read {shown}"))?;
        let parsed = Head::parse(&bytes).with_context(|| format!("{shown} is not the head of a session"))?;
        let (exe, mode) = (String::from_utf8_lossy(parsed.exe).into_owned(), parsed.mode);
        Ok(Controlled { base, head, pid, exe, mode })
    }

    /// What `record` began with; everything when it began with nothing.
    pub fn first_mode(&self) -> Result<Mode> {
        let mode = first_mode(&self.base)?;
        Ok(if mode == Mode::Off { Mode::Full } else { mode })
    }

    /// Requests a mark in the trace, and waits until the collector has written it.
    pub fn mark(&self, name: &[u8]) -> Result<()> {
        let directory = self.head.parent().unwrap_or(&self.base);
        let shown = directory.display();
        if real_time_rules::of_base(&self.base).after_mark.is_some_and(|mark| mark == name) {
            self.set(&1u32.to_le_bytes(), PAST_MARK_OFFSET)?;
        }
        mark_request::request(directory, name).with_context(|| format!("cannot set a mark in {shown}"))?;
        let begin = Instant::now();
        while mark_request::is_waiting(directory) {
            if begin.elapsed() > MARK_TIMEOUT {
                let what = format!("no `heapscribe record` reads the marks in {shown}");
                return Err(Problem::new(
                    what,
                    "check that the `heapscribe record` that started the process is still running",
                )
                .into());
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// The mode that the process can take up for this one: it has numbers for a few sampling rates, and when others
    /// have these, the nearest of them is taken.
    pub fn nearest(&self, mode: Mode) -> Mode {
        let Mode::Sampled { mean_bytes } = mode else { return mode };
        let rates = self.rates();
        if rates.len() < RATES_MAX || rates.contains(&mean_bytes) {
            return mode;
        }
        let ratio = |rate: u64| rate.max(mean_bytes) as f64 / rate.min(mean_bytes).max(1) as f64;
        let nearest = rates.into_iter().min_by(|a, b| ratio(*a).total_cmp(&ratio(*b)));
        nearest.map_or(mode, |mean_bytes| Mode::Sampled { mean_bytes })
    }

    /// The rates at which it has sampled.
    fn rates(&self) -> Vec<u64> {
        let (Some(head), Some(defs)) =
            (open_file(&self.head, false), open_file(&self.head.with_file_name("defs"), false))
        else {
            return Vec::new();
        };
        let committed = read_head(&head, |head| head.defs_committed).unwrap_or(0).min(DEFS_BYTES_MAX as u64);
        let mut bytes = vec![0; committed as usize];
        let n = read_up_to(&defs, &mut bytes, 0);
        let rate = |(_, definition)| match definition {
            Definition::Rate { mean_bytes, .. } => Some(mean_bytes),
            _ => None,
        };
        Definitions::new(&bytes[..n], Position::default()).flatten().filter_map(rate).collect()
    }

    /// Sets what is recorded from now on, and notes for the drainer when that was.
    pub fn set_mode(&self, mode: Mode) -> Result<()> {
        let before_ns = monotonic_ns();
        self.set(&mode.to_word().to_le_bytes(), MODE_OFFSET)?;
        // Nothing is recorded from the first of two moments on, and something from the last on.
        let mono_ns = if mode == Mode::Off { before_ns } else { monotonic_ns() };
        let change = ModeChange { mono_ns, mode };
        let noted = mode_changes::note(self.head.parent().unwrap_or(&self.base), self.mode, change);
        noted.with_context(|| format!("changed what {} records, but cannot note when", self.exe))
    }

    /// Writes a word of the head that others may write.
    fn set(&self, word: &[u8], offset: usize) -> Result<()> {
        let written = open(&self.head, true).and_then(|file| file.write_all_at(word, offset as u64));
        written.with_context(|| format!("cannot change {}", self.head.display()))
    }
}

/// The bytes of a head, when the process that makes it has written them; its first ones are written last. As they are
/// when it takes too long.
fn written_head(path: &Path) -> std::io::Result<Vec<u8>> {
    let begin = Instant::now();
    loop {
        let mut bytes = vec![0; HEAD_FILE_BYTES];
        let read = open(path, false).and_then(|file| file.read_exact_at(&mut bytes, 0));
        let is_unfinished = match &read {
            Ok(()) => Head::parse(&bytes) == Err(BadHead::Magic),
            Err(e) => matches!(e.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof),
        };
        if !is_unfinished || begin.elapsed() > HEAD_TIMEOUT {
            return read.map(|()| bytes);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// What the processes of a base directory were to record at first.
pub fn first_mode(base: &Path) -> Result<Mode> {
    let path = base.join(FILE_NAME);
    let mut bytes = [0; PLAN_BYTES];
    let read = open(&path, false).and_then(|file| file.read_exact_at(&mut bytes, 0));
    read.with_context(|| format!("cannot read {}", path.display()))?;
    let plan = Plan::parse(&bytes);
    Ok(plan.with_context(|| format!("{} is not a plan of this version of heapscribe", path.display()))?.mode)
}

/// Opens a file of a session; a link in its place is not followed.
fn open(path: &Path, write: bool) -> std::io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    OpenOptions::new().read(!write).write(write).custom_flags(flags).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapscribe_wire::ABI_VERSION;
    use heapscribe_wire::head::MAGIC;

    /// `ctl` met a session that was made in this moment, on a busy machine: "no session head (byte 0)", and "cannot open".
    #[test]
    fn a_head_that_is_being_written_is_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("head");
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| written_head(&path).unwrap());
            std::thread::sleep(POLL_INTERVAL * 5);
            let file = File::create(&path).unwrap();
            file.set_len(HEAD_FILE_BYTES as u64).unwrap();
            file.write_all_at(&ABI_VERSION.to_le_bytes(), 8).unwrap();
            std::thread::sleep(POLL_INTERVAL * 5);
            file.write_all_at(&MAGIC.to_le_bytes(), 0).unwrap();
            assert!(Head::parse(&reader.join().unwrap()).is_ok());
        });
    }
}
