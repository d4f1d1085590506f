//! Heaps that are not glibc's, looked at from outside while their program runs: which one it is, what of the memory is its
//! own, and of our pool heap what is free.
//!
//! ```text
//!   kind     which heap, by the library that is loaded
//!   pools    the pools of our pool heap, and the free blocks in them
//!   borders  mappings that they share with other memory, cut in two
//!   own      which mappings are another heap's, with or without a block in them
//! ```
//! *Refuses* to call the heap: `mallctl`, `mi_process_info` and the like take locks that the program's threads take, too, and
//! some allocate. There is no moment at which a recorder could know that nobody holds them: a signal handler, a forked child
//! and a thread that is killed may all be in the midst of one. So figures that only the heap has are not given, and those
//! that can be read are what they are in memory.

mod borders;
mod kind;
mod own;
mod pools;

use heapscribe_formats::model::{HeapLayout, ListsRead};

use crate::glibc_heap::FreeMemory;
use crate::heap_statistics::HeapStatistics;
use crate::memory_map::ProcessMap;
use crate::remote::Remote;

/// Finds out whose blocks they are, marks the mappings that are the heap's, and gives what of it is known to be free: of
/// pools, when `with_lists`. Without the process's memory only mappings with blocks can be told.
pub(crate) fn look(
    memory: Option<&mut Remote>,
    map: &mut ProcessMap,
    statistics: Option<&HeapStatistics>,
    with_lists: bool,
) -> (HeapLayout, FreeMemory) {
    let layout = kind::layout(&map.mappings, statistics);
    let Some(memory) = memory else { return (layout, FreeMemory::default()) };
    if layout != HeapLayout::Tlsf {
        own::mark(memory, map, layout);
        return (layout, FreeMemory::default());
    }
    let newest = statistics.map_or(0, |of| of.pools_address);
    let (found, are_all) = pools::find(memory, map, newest);
    borders::cut(map, &found);
    if !with_lists || found.is_empty() {
        return (layout, FreeMemory::default());
    }
    let (ranges, is_whole) = pools::free(memory, &found);
    (
        layout,
        FreeMemory { lists: if are_all && is_whole { ListsRead::Whole } else { ListsRead::InPart }, ranges },
    )
}
