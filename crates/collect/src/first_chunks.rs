//! What the rest of a recording lacks: chunks that `record` wrote to another trace and freed before it was killed.
//!
//! Nobody counts their events any more. But what they left live is known: it is in the table of live blocks, and it is
//! what the events of the rest do not account for.

use std::collections::BTreeMap;
use std::rc::Rc;

use heapscribe_analyze::answer::Amount;
use heapscribe_convert::ring::Held;
use heapscribe_formats::model::{ChunkInfo, Evicted};
use heapscribe_session::SessionKey;
use heapscribe_wire::record::Events;

/// What is taken of a session as the rest of a recording.
#[derive(Debug)]
pub(crate) struct Rest {
    /// The first chunks of its threads.
    pub(crate) first: FirstChunks,
    /// Chunks that are in another trace already, as the drainer was killed before it freed them.
    held: Rc<Held>,
}

impl Rest {
    /// Nothing yet.
    pub(crate) fn new(held: Rc<Held>) -> Rest {
        Rest { first: FirstChunks::default(), held }
    }

    /// Takes a chunk with these events of a process, unless it is held elsewhere.
    pub(crate) fn takes(&mut self, key: SessionKey, info: &ChunkInfo, payload: &[u8]) -> bool {
        let events = || Events::new(payload).take_while(Result::is_ok).count() as u32;
        let is_held = self.held.has((key.pid, key.created_mono_ns), info, events);
        if !is_held {
            self.first.take(info);
        }
        !is_held
    }
}

/// The first chunk of each thread that a rest has: its number, and when it begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstChunks(BTreeMap<u32, (u64, u64)>);

impl FirstChunks {
    /// Takes a chunk.
    pub(crate) fn take(&mut self, info: &ChunkInfo) {
        let chunk = (info.sequence, info.begin_mono_ns);
        let first = self.0.entry(info.thread).or_insert(chunk);
        *first = chunk.min(*first);
    }

    /// What was before them, at least one chunk: threads of which no chunk is left may have had some. What of it was
    /// left live is what the table has beyond what the events of the rest leave; nothing is known of that without
    /// these two.
    pub(crate) fn missing(&self, net: Option<(i64, i64)>, table: Option<Amount>) -> Evicted {
        let cut = self.0.values().filter(|(sequence, _)| *sequence > 0);
        let chunks: u64 = cut.clone().map(|(sequence, _)| *sequence).sum();
        let first_ns = self.0.values().map(|(_, begin_ns)| *begin_ns).min().unwrap_or(0);
        let until_mono_ns = cut.map(|(_, begin_ns)| *begin_ns).max().unwrap_or(first_ns);
        let beyond = |table: u64, net: i64| (table as i64).saturating_sub(net).max(0).unsigned_abs();
        let left = net
            .zip(table)
            .map(|((blocks, bytes), table)| (beyond(table.blocks, blocks), beyond(table.bytes, bytes)));
        let (allocated_blocks, allocated_bytes) = left.unwrap_or_default();
        Evicted {
            chunks: chunks.max(1),
            until_mono_ns,
            allocated_blocks,
            allocated_bytes,
            ..Evicted::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_was_left_live() {
        let mut first = FirstChunks::default();
        for (thread, sequence, begin_mono_ns) in [(1, 7, 500), (1, 6, 400), (2, 0, 900), (3, 2, 300)] {
            first.take(&ChunkInfo { thread, sequence, begin_mono_ns, ..ChunkInfo::default() });
        }
        let missing = first.missing(Some((-10, -1000)), Some(Amount { blocks: 5, bytes: 200 }));
        let expected = Evicted {
            chunks: 8,
            until_mono_ns: 400,
            allocated_blocks: 15,
            allocated_bytes: 1200,
            ..Evicted::default()
        };
        assert_eq!(missing, expected);
        assert!(!missing.is_counted() && !missing.is_empty());
        let none = FirstChunks::default().missing(None, None);
        assert_eq!(none, Evicted { chunks: 1, ..Evicted::default() });
    }
}
