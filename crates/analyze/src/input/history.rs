//! What the passes ask of a recording. They see chunks of events by number and load them when they need
//! them, several at a time on several cores; where the bytes come from is not their business.

use heapscribe_formats::LiveBlock;
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::{BadEvent, Event};

use super::facts::{ChunkFacts, ProcessFacts, SessionFacts, TableMoment};

/// A recording: processes, their definitions, and chunks of events.
pub trait History: Sync {
    /// What a thread of the analysis needs to load chunks: buffers, decompressors.
    type Scratch: Default + Send;

    /// The recording as a whole.
    fn session(&self) -> SessionFacts;

    /// The processes; chunks name them by index.
    fn processes(&self) -> Vec<ProcessFacts>;

    /// The chunks, in any order.
    fn chunks(&self) -> Vec<ChunkFacts>;

    /// The events of a chunk, by its index in [`Self::chunks`]: each with the ticks since the one before it.
    ///
    /// # Errors
    /// In words, when the bytes cannot be had; the chunk is left out and the answer says so.
    fn events<'a>(
        &'a self,
        chunk: usize,
        scratch: &'a mut Self::Scratch,
    ) -> Result<impl EventsInOrder + 'a, String>;

    /// Whether frames of an interpreter's own code are kept in stacks with frames of the code that it runs.
    fn keeps_native(&self) -> bool {
        false
    }

    /// Gives all definitions of a process, in their order.
    ///
    /// # Errors
    /// In words, when the rest of them cannot be had.
    fn definitions(
        &self,
        process: usize,
        take: &mut dyn FnMut(StackId, &Definition<'_>),
    ) -> Result<(), String>;

    /// Gives what was live in a process when its recording ended, block by block, and when that was;
    /// nothing when there is no table of it.
    ///
    /// # Errors
    /// In words, when the table cannot be read.
    fn live_at_end(
        &self,
        _process: usize,
        _take: &mut dyn FnMut(&LiveBlock),
    ) -> Result<Option<TableMoment>, String> {
        Ok(None)
    }

    /// What was wrong with the recording, in words.
    fn problems(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The events of a chunk in their order; after bytes that are none there are no more.
pub trait EventsInOrder: Iterator<Item = Result<(u64, Event), BadEvent>> {}

impl<I: Iterator<Item = Result<(u64, Event), BadEvent>>> EventsInOrder for I {}
