//! The drainer: takes chunks out of the sessions of all recorded processes, and writes them to the trace
//! while the processes run.
//!
//! Sessions are read with `pread` and chunks are freed with `pwrite`, never mapped: what the other side may
//! scribble on is copied first, checked, then used. One pass looks at every session once; between passes
//! it waits for a process to end, or for a moment that is short while chunks come and long while none do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use heapscribe_formats::model::{ExitStatus, HowEnded, SessionEnd, SessionInfo};

use heapscribe_convert::ring::Limits;
use heapscribe_session::{Alive, SessionKey, base, monotonic_ns, wait};

use crate::killed;
use crate::memory_schedule::Schedule;
use crate::memtrace::FilesPlan;
use crate::output::Output;
use crate::session_drain::SessionDrain;
use crate::summary::Summary;
use crate::watch::Watch;

/// Drains all sessions of one base directory into one trace.
pub struct Drain {
    base: PathBuf,
    output: Output,
    /// Sessions by pid, then by time of creation.
    sessions: BTreeMap<SessionKey, SessionDrain>,
    memory: Schedule,
    /// Whether sessions of processes that were killed are retained.
    retains_killed: bool,
    /// The process that was waited for, whose exit status only its parent gets.
    waited: Option<(u32, ExitStatus)>,
    /// Retained sessions of processes that were killed.
    killed_sessions: Vec<PathBuf>,
    watch: Option<Watch>,
}

impl Drain {
    /// A drainer of what appears in `base`, into a new file at `trace`, compressed at `level` when the
    /// logs, which have so many chunks if anybody still fills them, leave time for that; with `ring`, of
    /// the newest part only.
    pub fn new(
        base: &Path,
        trace: &Path,
        level: i32,
        log_chunks: Option<u32>,
        info: &SessionInfo,
        ring: Option<Limits>,
    ) -> Result<Drain> {
        Ok(Drain::into(base, Output::create(trace, level, log_chunks, info, ring)?))
    }

    /// The same into files of memtrace.
    pub fn memtrace(base: &Path, plan: FilesPlan, log_chunks: u32) -> Result<Drain> {
        Ok(Drain::into(base, Output::memtrace(plan, Some(log_chunks))?))
    }

    fn into(base: &Path, output: Output) -> Drain {
        Drain {
            base: base.to_owned(),
            output,
            sessions: BTreeMap::new(),
            memory: Schedule::new(),
            retains_killed: false,
            waited: None,
            killed_sessions: Vec::new(),
            watch: None,
        }
    }

    /// Notes in the summary whether this process makes any call.
    pub fn watch(&mut self, pid: u32) {
        self.output.watch(pid);
    }

    /// Retains the sessions of processes that were killed.
    pub fn keep_killed(&mut self) {
        self.retains_killed = true;
    }

    /// Notes how a process ended that was waited for.
    pub fn has_ended(&mut self, pid: u32, status: ExitStatus) {
        self.waited = Some((pid, status));
    }

    fn was_killed(&self, pid: u32, session: &SessionDrain) -> bool {
        match self.waited.filter(|(waited, _)| *waited == pid) {
            Some((_, ExitStatus::Signal(signal))) => killed::is_kill(signal),
            Some((_, ExitStatus::Code(_))) => false,
            None => session.was_killed(),
        }
    }

    /// Takes snapshots when that is due.
    pub fn snapshot_at(&mut self, watch: Watch) {
        self.watch = Some(watch);
    }

    /// Looks at every session once.
    pub fn pass(&mut self) {
        let mut busy = self.find_new();
        let processes = self.sessions.len();
        let sample = self.memory.is_due(processes);
        let look_into_open = self.output.wants_open();
        for session in self.sessions.values_mut() {
            busy |= session.drain(&mut self.output);
            if look_into_open {
                session.look_into_open(&mut self.output);
            }
            if sample {
                session.sample_memory(processes, &mut self.output);
            }
        }
        let ended: Vec<_> =
            self.sessions.iter().filter(|(_, s)| !s.is_alive()).map(|(&key, _)| key).collect();
        busy |= !ended.is_empty();
        for key in ended {
            self.end(key, HowEnded::Exited);
        }
        if let Some(watch) = &mut self.watch {
            watch.look(&self.base, self.sessions.keys().copied());
        }
        self.output.passed();
        self.output.pace.passed(busy);
    }

    /// Takes up sessions that are new. A pid that has a session already has exec'd: its old session has ended.
    fn find_new(&mut self) -> bool {
        let mut new: Vec<_> =
            base::sessions(&self.base).filter(|key| !self.sessions.contains_key(key)).collect();
        new.sort_unstable_by_key(|key| (key.created_mono_ns, key.pid));
        let mut has_new = false;
        for key in new {
            let Some(session) = SessionDrain::open(&self.base, key) else { continue };
            let before = self.sessions.range(SessionKey { created_mono_ns: 0, ..key }..key);
            let same = before.filter(|(_, earlier)| earlier.namespace() == session.namespace());
            let earlier: Vec<_> = same.map(|(&earlier, _)| earlier).collect();
            for earlier in earlier {
                self.end(earlier, HowEnded::Execed);
            }
            self.sessions.insert(key, session);
            has_new = true;
        }
        has_new
    }

    fn end(&mut self, key: SessionKey, how: HowEnded) {
        if let Some(session) = self.sessions.remove(&key) {
            let is_abandoned = how == HowEnded::Abandoned;
            let killed = how == HowEnded::Exited && self.retains_killed && self.was_killed(key.pid, &session);
            session.end(how, &mut self.output);
            if killed && let Some(path) = killed::retain(&self.base, key) {
                self.killed_sessions.push(path);
            } else if !is_abandoned {
                base::remove_session(&self.base, key);
            }
        }
    }

    /// Waits until a recorded process or `other` ends, or it is time for the next pass.
    pub fn wait(&self, other: Option<&Alive>) {
        wait(self.sessions.values().filter_map(SessionDrain::alive).chain(other), self.output.pace.wait());
    }

    /// How many recorded processes live.
    pub fn living(&self) -> usize {
        self.sessions.len()
    }

    /// Whether a process that is to be recorded lives, be it before its first allocation.
    pub fn is_awaited(&self) -> bool {
        !self.sessions.is_empty() || base::has_users(&self.base)
    }

    /// Ends all sessions as they are, and the trace; `exit` is how the program ended, if it has.
    pub fn finish(mut self, exit: Option<ExitStatus>) -> (Summary, Option<String>) {
        for key in self.sessions.keys().copied().collect::<Vec<_>>() {
            let how = if self.sessions[&key].is_alive() { HowEnded::Abandoned } else { HowEnded::Exited };
            self.end(key, how);
        }
        let drainer = self.output.pace.statistics();
        let summary = &mut self.output.summary;
        summary.drainer = drainer;
        summary.killed_sessions = self.killed_sessions;
        summary.snapshots = self.watch.map_or(0, |watch| watch.written);
        self.output.finish(&SessionEnd { ended_mono_ns: monotonic_ns(), exit, drainer })
    }
}
