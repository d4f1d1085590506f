//! How often an analysis reads each chunk of a recording, and how far: another recording with a counter at
//! its door.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use heapscribe_analyze::input::{ChunkFacts, EventsInOrder, History, ProcessFacts, SessionFacts};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::StackId;

/// A recording whose reads are counted.
pub struct Counting<'h, H> {
    history: &'h H,
    /// Of each chunk, how often it was loaded.
    loads: Vec<AtomicU64>,
    /// Events that were decoded, of all chunks.
    events: AtomicU64,
}

impl<'h, H: History> Counting<'h, H> {
    pub fn new(history: &'h H) -> Self {
        let loads = history.chunks().iter().map(|_| AtomicU64::new(0)).collect();
        Counting { history, loads, events: AtomicU64::new(0) }
    }

    /// Of each chunk, how often it was loaded since the last time that this was asked.
    pub fn loads(&self) -> Vec<u64> {
        self.loads.iter().map(|loads| loads.swap(0, Relaxed)).collect()
    }

    /// Events that were decoded since the last time that this was asked.
    pub fn events_decoded(&self) -> u64 {
        self.events.swap(0, Relaxed)
    }
}

/// Counts events as they are taken, and adds them up where they belong when they end.
struct Counted<'a, I> {
    events: I,
    count: u64,
    all: &'a AtomicU64,
}

impl<I: Iterator> Iterator for Counted<'_, I> {
    type Item = I::Item;

    // Not inlined it hands each event over in memory, and `speed` measures that.
    #[inline(always)]
    fn next(&mut self) -> Option<I::Item> {
        let next = self.events.next();
        self.count += u64::from(next.is_some());
        next
    }
}

impl<I> Drop for Counted<'_, I> {
    fn drop(&mut self) {
        self.all.fetch_add(self.count, Relaxed);
    }
}

impl<H: History> History for Counting<'_, H> {
    type Scratch = H::Scratch;

    fn session(&self) -> SessionFacts {
        self.history.session()
    }

    fn processes(&self) -> Vec<ProcessFacts> {
        self.history.processes()
    }

    fn chunks(&self) -> Vec<ChunkFacts> {
        self.history.chunks()
    }

    fn events<'a>(
        &'a self,
        chunk: usize,
        scratch: &'a mut Self::Scratch,
    ) -> Result<impl EventsInOrder + 'a, String> {
        self.loads[chunk].fetch_add(1, Relaxed);
        let events = self.history.events(chunk, scratch)?;
        Ok(Counted { events, count: 0, all: &self.events })
    }

    fn definitions(
        &self,
        process: usize,
        take: &mut dyn FnMut(StackId, &Definition<'_>),
    ) -> Result<(), String> {
        self.history.definitions(process, take)
    }
}
