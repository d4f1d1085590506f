//! The drainer: takes chunks out of the sessions of all recorded processes, and writes them to the trace
//! while the processes run.
//!
//! Sessions are read with `pread` and chunks are freed with `pwrite`, never mapped: what the other side may
//! scribble on is copied first, checked, then used. One pass looks at every session once; between passes
//! it waits for a process to end, or for a moment that is short while chunks come and long while none do.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;
use heapscribe_formats::model::{
    ExitStatus, HowEnded, SessionEnd, SessionInfo, Unrecorded, UnrecordedProgram, UnrecordedReason,
};

use heapscribe_convert::ring::{Held, Limits};
use heapscribe_session::{Alive, SessionKey, base_directory, monotonic_ns, wait};

use crate::descriptors::{Shortage, are_scarce};
use crate::forked::Forked;
use crate::killed;
use crate::memory_schedule::Schedule;
use crate::memtrace::FilesPlan;
use crate::output::Output;
use crate::resident::{MemoryMapPlan, ResidentWatch};
use crate::session_drain::SessionDrain;
use crate::summary::Summary;
use crate::tap::SharedTap;
use crate::watch::{SnapshotCounts, SnapshotPlan, Watcher};

/// Sessions that begin, and that end, in one pass at most while somebody looks on, who has to go on meanwhile: a service may
/// start and end thousands at once. All others have them in one pass: `recover` makes only one.
const CHANGES_A_PASS: usize = 256;

/// Drains all sessions of one base directory into one trace.
pub struct Drain {
    base: PathBuf,
    output: Output,
    /// Sessions by pid, then by time of creation.
    sessions: BTreeMap<SessionKey, SessionDrain>,
    forked: Forked,
    memory: Schedule,
    /// Whether sessions of processes that were killed are retained.
    retains_killed: bool,
    /// The process that was waited for, whose exit status only its parent gets.
    waited: Option<(u32, ExitStatus)>,
    /// Retained sessions of processes that were killed.
    killed_sessions: Vec<PathBuf>,
    unseen_sessions: Vec<PathBuf>,
    watcher: Option<Watcher>,
    resident: Option<ResidentWatch>,
    /// Patterns of the program files that are recorded; none for all.
    only: Vec<String>,
    /// Patterns of those that are not.
    except: Vec<String>,
    /// What another trace has of a recording of which this is the rest.
    rest_of: Option<Rc<Held>>,
    /// Whether sessions stay until the trace is whole.
    keeps: bool,
    /// How many sessions begin, and end, in one pass at most.
    changes_a_pass: usize,
    /// Sessions that have been taken, and are still in their directory.
    taken: BTreeSet<SessionKey>,
    /// Whether there are sessions that wait for descriptors of others.
    descriptors: Shortage,
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
            forked: Forked::default(),
            memory: Schedule::new(),
            retains_killed: false,
            waited: None,
            killed_sessions: Vec::new(),
            unseen_sessions: Vec::new(),
            watcher: None,
            resident: None,
            only: Vec::new(),
            except: Vec::new(),
            rest_of: None,
            keeps: false,
            changes_a_pass: usize::MAX,
            taken: BTreeSet::new(),
            descriptors: Shortage::default(),
        }
    }

    /// Notes in the summary whether this process makes any call.
    pub fn watch(&mut self, pid: u32) {
        self.output.watch(pid);
    }

    /// Whether any call of the process that is watched was recorded, as far as it has ended.
    pub fn watched_has_calls(&self) -> bool {
        self.output.summary.watched_has_calls
    }

    /// Notes a program that could not be recorded.
    pub fn note_unrecorded(&mut self, program: UnrecordedProgram) {
        self.forked.escapes().add(Unrecorded { programs: vec![program], others: Vec::new() });
    }

    /// Has somebody look on.
    pub fn tap(&mut self, tap: SharedTap) {
        self.output.tap(tap);
        self.changes_a_pass = CHANGES_A_PASS;
    }

    /// Has what open chunks hold so far pass by who looks on.
    pub fn look_into_open(&mut self) {
        for session in self.sessions.values_mut() {
            session.look_into_open(&mut self.output);
        }
    }

    /// Leaves alone programs whose file names fit one of these patterns, as if they were not there.
    pub fn except(&mut self, programs: Vec<String>) {
        self.except = programs;
    }

    /// Records only programs whose file names fit one of these patterns: what others allocate is discarded, and
    /// they are told to record no more.
    pub fn only(&mut self, programs: Vec<String>) {
        self.only = programs;
    }

    /// Takes sessions as the rest of what another trace has the beginning of, but for the chunks that it has.
    pub fn begins_late(&mut self, held: Held) {
        self.rest_of = Some(Rc::new(held));
    }

    /// Takes nothing out of sessions of dead processes, and leaves all that it has written to whoever knows that the trace
    /// is whole, to remove them: [`Summary::written_sessions`]. What goes wrong with the trace is not printed.
    pub fn keep_sessions(&mut self) {
        self.keeps = true;
        self.output.print_nothing();
    }

    /// Retains the sessions of processes that were killed.
    pub fn keep_killed(&mut self) {
        self.retains_killed = true;
    }

    /// Notes how a process ended that was waited for.
    pub fn has_ended(&mut self, pid: u32, status: ExitStatus) {
        self.waited = Some((pid, status));
    }

    /// How a process ended, of which its parent may know more.
    fn known_end(&self, pid: Option<u32>, how: HowEnded) -> HowEnded {
        let is_end = matches!(how, HowEnded::Exited | HowEnded::Killed(_) | HowEnded::Unseen);
        match self.waited.filter(|(waited, _)| Some(*waited) == pid && is_end) {
            Some((_, ExitStatus::Signal(signal))) => HowEnded::Killed(signal as u8),
            Some((_, ExitStatus::Code(_))) => HowEnded::Exited,
            None => how,
        }
    }

    /// Has snapshots taken when that is due, into the directory of `trace`.
    ///
    /// # Errors
    /// When there can be no thread for it.
    pub fn snapshot_at(&mut self, plan: SnapshotPlan, trace: &Path) -> Result<()> {
        self.watcher = Watcher::start(plan, &self.base, trace)?;
        Ok(())
    }

    /// Looks at such times of what the memory of the processes is made.
    pub fn memory_map(&mut self, plan: &MemoryMapPlan) {
        self.resident = Some(ResidentWatch::new(plan));
        self.output.annotations.sections = plan.at_sections;
        self.output.annotations.marks = plan.at_marks;
    }

    /// Looks at every session once. Whether others wait for the descriptors of those that have ended.
    pub fn pass(&mut self) -> bool {
        self.output.heaps.forget();
        let mut busy = self.find_new();
        busy |= self.take_sealed(|_| true, monotonic_ns());
        let processes = self.sessions.len();
        let sample = self.memory.is_due(processes);
        let look_into_open = self.output.wants_open();
        for session in self.sessions.values_mut() {
            if look_into_open {
                session.look_into_open(&mut self.output);
            }
            if sample {
                session.sample_memory(processes, &mut self.output);
            }
        }
        let ended = self.sessions.iter().filter_map(|(&key, session)| Some((key, session.how_ended()?)));
        let ended: BTreeMap<_, _> = ended.take(self.changes_a_pass).collect();
        let have_any_ended = !ended.is_empty();
        busy |= have_any_ended;
        self.take_sealed(|key| ended.contains_key(key), u64::MAX);
        self.output.heaps.forget(); // what they made is there by now
        for (key, how) in ended {
            self.end(key, how, monotonic_ns());
        }
        if let Some(watcher) = &mut self.watcher {
            watcher.watch(self.sessions.keys().copied());
        }
        if let Some(watch) = &mut self.resident {
            watch.pass(&self.base, &self.sessions, &mut self.output);
        }
        self.output.passed();
        self.output.pace.passed(busy);
        self.descriptors.is_there() && have_any_ended
    }

    /// Takes up sessions that are new. A pid that has a session already has exec'd, or is used again: its old session
    /// has ended.
    fn find_new(&mut self) -> bool {
        let is_new = |key: &SessionKey| !self.sessions.contains_key(key) && !self.taken.contains(key);
        let mut new: Vec<_> = base_directory::sessions(&self.base).filter(is_new).collect();
        new.sort_unstable_by_key(|key| (key.created_mono_ns, key.pid));
        let (mut taken_up, mut is_short) = (0, false);
        for key in new {
            if taken_up == self.changes_a_pass {
                break;
            }
            // One goes on where there is room for no more.
            let is_possible = self.sessions.is_empty() || !are_scarce();
            let opened = is_possible.then(|| SessionDrain::open(&self.base, key, self.keeps));
            let Some(Ok(opened)) = opened else {
                is_short = true;
                break;
            };
            let Some(mut session) = opened else { continue };
            session.ignore_unless(&self.only, &self.except);
            if let Some(held) = &self.rest_of {
                session.begins_late(held.clone());
            }
            if let Some(exe) = session.program() {
                self.forked.escapes().is_recorded(key, &exe);
            }
            let before = self.sessions.range(SessionKey { created_mono_ns: 0, ..key }..key);
            let same = before.filter(|(_, earlier)| earlier.namespace == session.namespace);
            let earlier: Vec<_> = same.map(|(&earlier, _)| earlier).collect();
            for earlier in earlier {
                let how = self.sessions[&earlier].how_replaced();
                self.end(earlier, how, key.created_mono_ns);
            }
            self.output.heartbeats.begin(key, session.head());
            self.sessions.insert(key, session);
            taken_up += 1;
        }
        self.descriptors.note(is_short);
        taken_up > 0
    }

    /// Ends a session whose process ended at this moment at the latest.
    fn end(&mut self, key: SessionKey, how: HowEnded, ended_mono_ns: u64) {
        if let Some(session) = self.sessions.remove(&key) {
            self.output.heartbeats.end(key);
            self.output.heartbeats.progress();
            self.output.summary.ignored += u64::from(session.is_ignored());
            let is_abandoned = how == HowEnded::Abandoned;
            let how = self.known_end(session.pid_here(), how);
            let killed = self.retains_killed && killed::was_killed(how) && !session.is_ignored();
            self.forked.parent_has_ended(session.end(how, ended_mono_ns, &mut self.output));
            self.taken.extend((is_abandoned || self.keeps).then_some(key));
            if killed && let Some(path) = killed::retain(&self.base, key, ended_mono_ns) {
                let sessions = match how {
                    HowEnded::Unseen => &mut self.unseen_sessions,
                    _ => &mut self.killed_sessions,
                };
                sessions.push(path);
            } else if !is_abandoned && self.keeps {
                self.output.summary.written_sessions.push(key);
            } else if !is_abandoned {
                base_directory::remove_session(&self.base, key);
            }
        }
    }

    /// Waits until a recorded process or `other` ends, or it is time for the next pass.
    pub fn wait(&self, other: Option<&Alive>) {
        wait(self.sessions.values().filter_map(SessionDrain::alive).chain(other), self.output.pace.wait());
    }

    /// The same, where nothing comes for so long a time that as little as possible is done.
    pub fn wait_idle(&self, other: Option<&Alive>, idle: Duration) {
        let alive = self.sessions.values().filter_map(SessionDrain::alive);
        wait(alive.chain(other), self.output.pace.wait_or(idle));
    }

    /// How many recorded processes live.
    pub fn living(&self) -> usize {
        self.sessions.len()
    }

    /// Whether a process that is to be recorded lives, be it before its first allocation.
    pub fn is_awaited(&mut self) -> bool {
        !self.sessions.is_empty() || self.forked.exist() || base_directory::has_users(&self.base)
    }

    /// Whether all is recorded that ever will be, after a pass.
    pub fn is_over(&mut self) -> bool {
        self.is_over_unless(Drain::is_awaited)
    }

    /// The same, by a function that looks for processes. One that made its session after the last pass and ended
    /// before it was looked for has left that session: so none may have come when nobody was found.
    fn is_over_unless(&mut self, mut is_awaited: impl FnMut(&mut Drain) -> bool) -> bool {
        while !is_awaited(self) {
            if !self.find_new() {
                return true;
            }
            self.pass();
        }
        false
    }

    fn end_all(&mut self) {
        for key in self.sessions.keys().copied().collect::<Vec<_>>() {
            let how = self.sessions[&key].how_ended().unwrap_or(HowEnded::Abandoned);
            self.end(key, how, monotonic_ns());
        }
    }

    /// Names processes of which the sessions could not be read, for want of descriptors; they stay.
    fn note_unread(&mut self) {
        if !self.descriptors.is_there() {
            return;
        }
        let unread = base_directory::sessions(&self.base).filter(|key| !self.taken.contains(key));
        let reason = UnrecordedReason::Descriptors;
        let program = |SessionKey { pid, created_mono_ns: mono_ns }| {
            let name = Vec::new();
            UnrecordedProgram { pid, mono_ns, reason, name }
        };
        let programs = unread.map(program);
        self.forked.escapes().add(Unrecorded { programs: programs.collect(), others: Vec::new() });
    }

    /// Ends all sessions as they are, and the trace; `exit` is how the program ended, if it has.
    pub fn finish(mut self, exit: Option<ExitStatus>) -> (Summary, Option<String>) {
        self.output.heaps.forget();
        self.end_all();
        // What waited for their descriptors.
        while self.descriptors.is_there() && self.find_new() {
            self.end_all();
        }
        self.note_unread();
        let drainer = self.output.pace.statistics();
        let summary = &mut self.output.summary;
        summary.drainer = drainer;
        summary.killed_sessions = self.killed_sessions;
        summary.unseen_sessions = self.unseen_sessions;
        let unrecorded = self.forked.into_escapes().finish(&self.base, &self.only);
        summary.unrecorded = unrecorded.clone();
        summary.snapshots = self.watcher.map_or_else(SnapshotCounts::default, Watcher::finish);
        self.output.finish(&SessionEnd { ended_mono_ns: monotonic_ns(), exit, drainer, unrecorded })
    }
}

mod sealed;
#[cfg(test)]
mod tests;
