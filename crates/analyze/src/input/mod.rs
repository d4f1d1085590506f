//! Recordings as the passes see them: facts about processes and chunks, events by the chunk, definitions.

mod choice;
mod clock;
mod facts;
mod history;
mod inherited;
mod live_before;
mod of_threads;
mod recording;
mod samples;
pub mod selection;

pub use self::choice::{Choice, Chosen};
pub use self::clock::Clock;
pub(crate) use self::facts::NumberedChunk;
pub use self::facts::{ChunkFacts, ProcessFacts, RssSample, SessionFacts, TableMoment};
pub use self::history::{EventsInOrder, History};
pub use self::recording::Recording;
pub use heapscribe_formats::{HeapInfo, HeapSample};
