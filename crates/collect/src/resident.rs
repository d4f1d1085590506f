//! Looks now and then of what the resident memory of the recorded processes is made (`record --memory-map`): at equal times,
//! at marks, at peaks, and when sections end, whose blocks it looks for then. It is done beside the drainer, by a thread of its own that hands over what it has found: a process is held no longer than
//! for a snapshot, and its log is emptied meanwhile. Looking takes at most a tenth of the time, however long one look
//! takes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use heapscribe_convert::resident;
use heapscribe_formats::model::{ResidentSample, SectionLeft};
use heapscribe_session::SessionKey;
use heapscribe_session::inspect;

use crate::output::Output;
use crate::session_drain::SessionDrain;
use crate::watch::Peaks;

/// Between two looks it rests so many times as long as the last one took.
const REST: u32 = 9;

/// What a look finds, of processes that have not ended meanwhile.
type Seen = Vec<(SessionKey, ResidentSample)>;

/// When to look.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryMapPlan {
    /// At equal times, at all processes.
    pub every: Option<Duration>,
    /// At a process that has reached a mark.
    pub at_marks: bool,
    /// At one that has ended a section.
    pub at_sections: bool,
    /// At one whose heap is a tenth higher than ever.
    pub at_peaks: bool,
}

/// Looks at processes when it is time.
pub(crate) struct ResidentWatch {
    every: Option<Duration>,
    due: Option<Instant>,
    /// Until then no look begins.
    rests_until: Instant,
    peaks: Option<Peaks>,
    running: Option<(Instant, Receiver<Seen>)>,
}

impl ResidentWatch {
    pub(crate) fn new(plan: &MemoryMapPlan) -> ResidentWatch {
        let now = Instant::now();
        let due = plan.every.map(|every| now + every);
        let peaks = plan.at_peaks.then(Peaks::new);
        ResidentWatch { every: plan.every, due, rests_until: now, peaks, running: None }
    }

    /// Writes what the last look has found, and begins the next when it is time.
    pub(crate) fn pass(
        &mut self,
        base: &Path,
        sessions: &BTreeMap<SessionKey, SessionDrain>,
        output: &mut Output,
    ) {
        for (key, sample) in self.seen() {
            if let Some(process) = sessions.get(&key).and_then(|session| session.process) {
                output.resident(process, &sample);
            }
        }
        let keys: Vec<_> = sessions.keys().copied().collect();
        self.look(base, &keys, |key| output.annotations.take(sessions.get(&key)?.process?));
    }

    /// What the last look has found, once.
    fn seen(&mut self) -> Seen {
        let Some((began, receive)) = &self.running else { return Seen::new() };
        match receive.try_recv() {
            Err(TryRecvError::Empty) => Seen::new(),
            ended => {
                let now = Instant::now();
                self.rests_until = now + REST * began.elapsed();
                self.due = self.every.map(|every| (now + every).max(self.rests_until));
                self.running = None;
                ended.unwrap_or_default()
            }
        }
    }

    /// Begins a look if one may begin: at all of these processes when it is time, at those whose heap is at a peak, and at
    /// those of which `annotated` gives the sections that have ended; it is asked only then.
    fn look(
        &mut self,
        base: &Path,
        sessions: &[SessionKey],
        mut annotated: impl FnMut(SessionKey) -> Option<Vec<SectionLeft>>,
    ) {
        let now = Instant::now();
        if self.running.is_some() || now < self.rests_until {
            return;
        }
        let is_due = self.due.is_some_and(|due| now >= due);
        let at_peak =
            self.peaks.as_mut().map_or_else(Vec::new, |peaks| peaks.look(base, sessions.iter().copied()));
        let wanted = sessions.iter().filter_map(|key| {
            let ended = annotated(*key);
            (is_due || ended.is_some() || at_peak.contains(key)).then(|| (*key, ended.unwrap_or_default()))
        });
        let wanted: Vec<_> = wanted.collect();
        if !wanted.is_empty() {
            self.begin(base.to_owned(), wanted);
        }
    }

    fn begin(&mut self, base: PathBuf, wanted: Vec<(SessionKey, Vec<SectionLeft>)>) {
        let (send, receive) = channel();
        let look = move || {
            let sample = |(key, ended): (SessionKey, Vec<SectionLeft>)| {
                let session = inspect::open(&base, key).ok()?;
                Some((key, resident(&session, &ended).ok()?))
            };
            // Who has stopped listening has no use for it.
            let _ = send.send(wanted.into_iter().filter_map(sample).collect());
        };
        let started = thread::Builder::new().name("memory map".to_owned()).spawn(look);
        self.running = started.is_ok().then(|| (Instant::now(), receive));
    }
}

impl Drop for ResidentWatch {
    /// Waits for a look that is under way: it may hold a process back, and lets it go at its end.
    fn drop(&mut self) {
        if let Some((_, receive)) = self.running.take() {
            let _ = receive.recv();
        }
    }
}
