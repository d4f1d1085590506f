//! The sign of life that threads wait by whose log is full: a word in the head of each session, which changes as
//! long as the drainer gets on.
//!
//! It changes with each piece of work for any of the sessions, and not with each pass over them: a pass that ends
//! three hundred processes on a busy machine took more than the 10 s after which a drainer counts as stuck, and
//! the process that went on lost 11,627 calls. It is not told by a thread of its own: a drainer that hangs on a
//! stalled disk is to be given up.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::rc::Rc;
use std::time::{Duration, Instant};

use heapscribe_session::SessionKey;
use heapscribe_wire::head::HEARTBEAT_OFFSET;

/// Between two beats. A quarter of the time after which a thread that waits asks whether the drainer is there.
const EACH: Duration = Duration::from_millis(50);

/// The heads of all sessions that are drained.
#[derive(Default)]
pub(super) struct Heartbeats {
    heads: BTreeMap<SessionKey, Rc<File>>,
    beats: u32,
    last: Option<Instant>,
}

impl Heartbeats {
    /// Takes up a session, which has a first beat at once.
    pub(super) fn begin(&mut self, key: SessionKey, head: Rc<File>) {
        self.beats = self.beats.wrapping_add(1);
        self.beat(&head);
        self.heads.insert(key, head);
    }

    /// Lets go of the head of a session.
    pub(super) fn end(&mut self, key: SessionKey) {
        self.heads.remove(&key);
    }

    /// A piece of work is done.
    pub(super) fn progress(&mut self) {
        let now = Instant::now();
        if self.last.is_none_or(|last| now.duration_since(last) >= EACH) {
            self.last = Some(now);
            self.beats = self.beats.wrapping_add(1);
            self.heads.values().for_each(|head| self.beat(head));
        }
    }

    fn beat(&self, head: &File) {
        let _ = head.write_at(&self.beats.to_le_bytes(), HEARTBEAT_OFFSET as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_are_drained_beat_at_first_and_with_work_for_any() {
        let heads = [(); 2].map(|()| Rc::new(tempfile::tempfile().unwrap()));
        let key = |pid| SessionKey { pid, created_mono_ns: 7 };
        let beats = || {
            heads.each_ref().map(|head| {
                let mut word = [0; 4];
                let _ = head.read_at(&mut word, HEARTBEAT_OFFSET as u64);
                u32::from_le_bytes(word)
            })
        };
        let mut heartbeats = Heartbeats::default();
        heartbeats.begin(key(1), heads[0].clone());
        heartbeats.begin(key(2), heads[1].clone());
        assert_eq!(beats(), [1, 2]);
        heartbeats.progress();
        assert_eq!(beats(), [3, 3]);
        heartbeats.progress(); // at once again: no more than twenty a second
        assert_eq!(beats(), [3, 3]);
        heartbeats.end(key(1));
        heartbeats.last = None;
        heartbeats.progress();
        assert_eq!(beats(), [3, 4]);
    }
}
