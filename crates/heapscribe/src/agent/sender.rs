//! Sends what waits in the spool, the oldest first, in a thread of its own: a collector that is away holds nobody up.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use heapscribe_convert::otlp::post::{Endpoint, post_once};

use super::spool::{Dropped, Spool};
use crate::message;

/// How long a collector may take for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The wait after a failed try, and the longest one.
const WAIT: Duration = Duration::from_millis(500);
const WAIT_MAX: Duration = Duration::from_secs(15);
/// How often the spool is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How long what is left at the end is tried for.
const LAST_TRIES: Duration = Duration::from_secs(10);

/// What became of windows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    pub(crate) delivered: u64,
    /// What the collector refused since somebody asked.
    pub(super) refused: Dropped,
    /// Why the last try failed, if it did.
    pub(crate) failure: Option<String>,
}

/// What the thread shares.
#[derive(Default)]
struct Shared {
    sent: Mutex<Sent>,
    /// Windows that began before this moment are closed, and may be sent.
    closed_ns: AtomicU64,
    ends: AtomicBool,
}

/// The thread.
pub(crate) struct Sender {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

impl Sender {
    /// Starts it; nothing is sent yet.
    pub(crate) fn start(endpoint: Endpoint, spool: Spool) -> Sender {
        let shared = Arc::new(Shared::default());
        let of_thread = shared.clone();
        let thread = thread::spawn(move || Loop { endpoint, spool, shared: of_thread }.run());
        Sender { shared, thread }
    }

    /// Windows that began before this moment are closed.
    pub(crate) fn closed(&self, ns: u64) {
        self.shared.closed_ns.store(ns, Ordering::Release);
    }

    /// What became of windows.
    pub(crate) fn sent(&self) -> Sent {
        self.shared.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was refused since the last call.
    pub(crate) fn take_refused(&self) -> Dropped {
        std::mem::take(&mut self.shared.sent.lock().unwrap_or_else(PoisonError::into_inner).refused)
    }

    /// Tries for some seconds to send what is left; what stays is sent by the next agent.
    pub(crate) fn finish(self) {
        self.shared.ends.store(true, Ordering::Release);
        let _ = self.thread.join();
    }
}

struct Loop {
    endpoint: Endpoint,
    spool: Spool,
    shared: Arc<Shared>,
}

impl Loop {
    fn run(&self) {
        let (mut wait, mut end) = (WAIT, None);
        loop {
            if self.shared.ends.load(Ordering::Acquire) {
                end.get_or_insert_with(|| Instant::now() + LAST_TRIES);
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                return;
            }
            let before_ns = self.shared.closed_ns.load(Ordering::Acquire);
            let Some((window, packed)) = self.spool.oldest(before_ns) else {
                if end.is_some() {
                    return;
                }
                thread::sleep(LOOK);
                continue;
            };
            let outcome = post_once(&self.endpoint, &packed, TIMEOUT);
            let is_done = outcome.as_ref().err().is_none_or(|failure| failure.is_final);
            self.spool.over(&window, is_done);
            let asked = outcome.as_ref().err().and_then(|failure| failure.wait);
            self.note(window.dropped(), outcome);
            if is_done {
                wait = WAIT;
            } else {
                self.sleep(asked.unwrap_or(wait).min(WAIT_MAX));
                wait = (wait * 2).min(WAIT_MAX);
            }
        }
    }

    /// Sleeps, at most [`WAIT`] long once the end has come.
    fn sleep(&self, wait: Duration) {
        let begin = Instant::now();
        while begin.elapsed() < wait && !(self.shared.ends.load(Ordering::Acquire) && begin.elapsed() >= WAIT)
        {
            thread::sleep(LOOK.min(wait));
        }
    }

    fn note(
        &self,
        window: Dropped,
        outcome: Result<Option<String>, heapscribe_convert::otlp::post::Failure>,
    ) {
        let endpoint = &self.endpoint;
        let mut sent = self.shared.sent.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Ok(rejected) => {
                sent.delivered += 1;
                if sent.failure.take().is_some() {
                    message::note(&format!("{endpoint} takes profiles again"));
                }
                if let Some(rejected) = rejected {
                    message::warning(&format!("{endpoint}: profiles {rejected}"));
                }
            }
            Err(failure) if failure.is_final => {
                sent.refused.add(window);
                message::warning(&format!("{endpoint} refused a window: {}", failure.what));
            }
            Err(failure) => {
                if sent.failure.is_none() {
                    message::warning(&format!(
                        "{endpoint} takes no profiles: {}; windows wait on disk",
                        failure.what
                    ));
                }
                sent.failure = Some(failure.what);
            }
        }
    }
}
