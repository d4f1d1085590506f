//! When the live heap of a process has grown by a tenth since it was highest: for looks at its memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use heapscribe_session::SessionKey;
use heapscribe_session::inspect::{self, SessionReader};

use super::trigger::Trigger;
use super::watcher::{INTERVAL, State, live_bytes};

/// How high the heaps of processes were.
pub(crate) struct Peaks {
    last: Instant,
    processes: BTreeMap<SessionKey, (SessionReader, State)>,
}

impl Peaks {
    pub(crate) fn new() -> Peaks {
        Peaks { last: Instant::now(), processes: BTreeMap::new() }
    }

    /// The processes whose heap is at a new peak, if it is time to look.
    pub(crate) fn look(
        &mut self,
        base: &Path,
        sessions: impl Iterator<Item = SessionKey>,
    ) -> Vec<SessionKey> {
        let mut at_peak = Vec::new();
        if self.last.elapsed() < INTERVAL {
            return at_peak;
        }
        self.last = Instant::now();
        let mut before = std::mem::take(&mut self.processes);
        for key in sessions {
            let open = || Some((inspect::open(base, key).ok()?, State::default()));
            let Some((session, mut state)) = before.remove(&key).or_else(open) else { continue };
            if let Ok(head) = session.head() {
                let bytes = live_bytes(&session.records(&head.get()));
                if state.is_due(Trigger::Peak, bytes, 0) {
                    state.level = bytes;
                    at_peak.push(key);
                }
            }
            self.processes.insert(key, (session, state));
        }
        at_peak
    }
}
