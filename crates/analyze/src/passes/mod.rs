//! The passes over the events of a recording, and what they find out.

mod ascent;
mod ends;
mod extent;
mod grid;
mod halves;
mod lost;
mod over_time;
mod pools;
mod results;
mod run;

pub use self::extent::{Extent, extent};
pub use self::lost::{ChunkDamage, LostInChunks, chunk_damage, lost_in_chunks};
pub use self::over_time::{HeapCuts, HeapOverTime, Highest, heap_within, highest, over_time};
pub(crate) use self::pools::PoolsHeld;
pub(crate) use self::results::{PassResults, ProcessResults};
pub(crate) use self::run::run;
