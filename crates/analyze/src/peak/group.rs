//! Chunks of a process in groups, one after the other in time. What a group holds at its end more than at its
//! begin is stored, so that a moment is reached without reading what lies before it once more: only the
//! group that it lies in is.

use super::net::NetRows;
use crate::input::NumberedChunk;
use crate::sums::ProcessSums;

/// Groups of all processes together, about: each stores a row of some 24 bytes for each of its stacks.
const GROUPS: usize = 256;
/// Groups of one process.
const GROUPS_OF_PROCESS: usize = 32;

/// Some chunks of a process.
#[derive(Clone, Debug)]
pub(crate) struct ChunkGroup {
    pub(crate) chunks: Vec<NumberedChunk>,
    pub(super) net: NetRows,
}

impl ChunkGroup {
    /// Chunks and what they add up to.
    pub(crate) fn new(chunks: &[NumberedChunk], sums: &ProcessSums) -> ChunkGroup {
        ChunkGroup { chunks: chunks.to_vec(), net: NetRows::of(sums) }
    }

    /// Chunks of a group of a process that has so many of all chunks.
    pub(crate) fn len_for(of_process: usize, of_all: usize) -> usize {
        let share = (GROUPS * of_process).div_ceil(of_all.max(1));
        of_process.div_ceil(share.clamp(1, GROUPS_OF_PROCESS)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_processes_have_few_groups_each() {
        let check = |of_process: usize, of_all, groups: usize| {
            assert_eq!(of_process.div_ceil(ChunkGroup::len_for(of_process, of_all)), groups, "{of_process}");
        };
        check(0, 0, 0);
        check(1, 1, 1);
        check(3, 3, 3);
        check(1000, 1000, 32);
        check(3, 3000, 1);
        check(1000, 4000, 32);
        check(100, 4000, 7);
    }
}
