//! Looks now and then of what the resident memory of the recorded processes is made (`record --memory-map every=1s`). It
//! is done beside the drainer, by a thread of its own that hands over what it has found: a process is held no longer than
//! for a snapshot, and its log is emptied meanwhile. Looking takes at most a tenth of the time, however long one look
//! takes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use heapscribe_convert::resident;
use heapscribe_formats::model::ResidentSample;
use heapscribe_session::inspect;
use heapscribe_session::{SessionKey, base_directory};

/// Between two looks it rests so many times as long as the last one took.
const REST: u32 = 9;

/// What a look finds, of processes that have not ended meanwhile.
type Seen = Vec<(SessionKey, ResidentSample)>;

/// Looks at all processes at equal times.
pub(crate) struct ResidentWatch {
    every: Duration,
    due: Instant,
    running: Option<(Instant, Receiver<Seen>)>,
}

impl ResidentWatch {
    pub(crate) fn new(every: Duration) -> ResidentWatch {
        ResidentWatch { every, due: Instant::now() + every, running: None }
    }

    /// What the last look has found, once; begins the next when it is due.
    pub(crate) fn look(&mut self, base: &Path, sessions: impl Iterator<Item = SessionKey>) -> Seen {
        let seen = match &self.running {
            None => Seen::new(),
            Some((began, receive)) => match receive.try_recv() {
                Err(TryRecvError::Empty) => return Seen::new(),
                ended => {
                    self.due = Instant::now() + (REST * began.elapsed()).max(self.every);
                    self.running = None;
                    ended.unwrap_or_default()
                }
            },
        };
        let sessions: Vec<_> = if Instant::now() >= self.due { sessions.collect() } else { Vec::new() };
        if !sessions.is_empty() {
            self.begin(base.to_owned(), sessions);
        }
        seen
    }

    fn begin(&mut self, base: PathBuf, sessions: Vec<SessionKey>) {
        let (send, receive) = channel();
        let look = move || {
            let sample = |key: SessionKey| {
                let path = base_directory::session_path(&base, key);
                let session = inspect::at(&path).and_then(|path| path.open()).ok()?;
                Some((key, resident(&session).ok()?))
            };
            // Who has stopped listening has no use for it.
            let _ = send.send(sessions.into_iter().filter_map(sample).collect());
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
