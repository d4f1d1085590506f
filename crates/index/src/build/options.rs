//! How to build an index, and how its memory is divided.

use crate::axis::EVENTS_PER_LEAF;

/// Chunks that are summed at most before leaves are written: enough for all cores.
const CHUNKS_AT_ONCE: usize = 512;
/// What a key costs, in tables and in the sums of leaves that are not written yet, bytes.
const KEY_BYTES: usize = 256;
/// The same of a chunk: 10,000 events of as many keys.
const CHUNK_BYTES: usize = 10_000 * 64;
/// The same of a mark, or of an end of a section: in a list, and by its name.
const NOTE_BYTES: usize = 64;
/// Notes that a section of a name can have.
const NOTES_MAX: usize = 1 << 23;

/// How to build.
#[derive(Clone, Copy, Debug)]
pub struct BuildOptions {
    /// Events of a leaf, where there are enough to fill several.
    pub events_per_leaf: u64,
    /// Memory for blocks that wait to be written by their leaf of birth, bytes.
    pub survivors_bytes_max: usize,
    /// Keys that are kept apart, about; more of them are counted under coarser ones.
    pub keys_max: usize,
    /// Chunks that are summed before leaves are written.
    pub chunks_at_once: usize,
    /// Marks and ends of sections; where there are more, none is in the index.
    pub notes_max: usize,
}

impl Default for BuildOptions {
    fn default() -> Self {
        BuildOptions::within(1 << 30)
    }
}

impl BuildOptions {
    /// As fine as so many bytes of memory allow. A quarter is for what else there is, above all the segments of the
    /// heap over time.
    pub fn within(memory_bytes: u64) -> BuildOptions {
        let part = usize::try_from(memory_bytes).unwrap_or(usize::MAX) / 4;
        BuildOptions {
            events_per_leaf: EVENTS_PER_LEAF,
            survivors_bytes_max: part,
            keys_max: part / KEY_BYTES,
            chunks_at_once: (part / CHUNK_BYTES).clamp(8, CHUNKS_AT_ONCE),
            notes_max: (part / 2 / NOTE_BYTES).min(NOTES_MAX),
        }
    }
}
