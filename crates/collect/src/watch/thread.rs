//! The thread that watches: a snapshot of a million blocks takes 200 to 300 ms, which full chunks of the program waited for
//! when the drainer took it.

use std::panic;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};

use anyhow::{Context, Result};
use heapscribe_session::SessionKey;

use super::watcher::{INTERVAL, SnapshotCounts, SnapshotPlan, Watch};

/// Watches the processes of a recording beside the drainer.
pub struct Watcher {
    sessions: Sender<Vec<SessionKey>>,
    /// Those that it was sent last.
    sent: Vec<SessionKey>,
    thread: JoinHandle<SnapshotCounts>,
}

impl Watcher {
    /// Snapshots of sessions in `base` are written to the directory of `trace`. `None` when none are planned.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn start(plan: SnapshotPlan, base: &Path, trace: &Path) -> Result<Option<Watcher>> {
        if plan.triggers.is_empty() {
            return Ok(None);
        }
        let (sessions, newer) = channel();
        let (watch, base) = (Watch::new(plan, trace), base.to_owned());
        let thread = Builder::new().name("snapshots".to_owned());
        let thread = thread.spawn(move || run(watch, base, newer)).context("cannot start a thread")?;
        Ok(Some(Watcher { sessions, sent: Vec::new(), thread }))
    }

    /// Which sessions there are.
    pub(crate) fn watch(&mut self, sessions: impl Iterator<Item = SessionKey> + Clone) {
        if !sessions.clone().eq(self.sent.iter().copied()) {
            self.sent = sessions.collect();
            // One that is over has panicked, which `finish` hands on.
            let _ = self.sessions.send(self.sent.clone());
        }
    }

    /// Ends it, when the snapshot that it takes is written.
    pub(crate) fn finish(self) -> SnapshotCounts {
        drop(self.sessions);
        self.thread.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
    }
}

/// Until nobody can send sessions any more.
fn run(mut watch: Watch, base: PathBuf, newer: Receiver<Vec<SessionKey>>) -> SnapshotCounts {
    let mut sessions = Vec::new();
    loop {
        match newer.recv_timeout(INTERVAL) {
            Ok(next) => sessions = newer.try_iter().last().unwrap_or(next),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return watch.counts(),
        }
        watch.look(&base, sessions.iter().copied());
    }
}
