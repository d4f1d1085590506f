//! Finds arenas. The main one is in the data of libc and has no name there that a stripped libc would keep: it is known by its
//! bins, of which most point to themselves. All others follow it in a ring, each at the begin of its first piece.

use heapscribe_formats::model::Mapping;

use super::chunks::Arena;
use super::layout::{
    ADDRESS_MAX, ARENAS_MAX, BINS, BINS_COUNT, DATA_BYTES_MAX, EMPTY_BINS_MIN, FORWARD, HEAP_ALIGN,
    HEAP_BYTES, HEAP_PREVIOUS, NEXT, PIECES_MAX, TOP,
};
use crate::remote::Remote;

/// All arenas, the main one first, and whether the ring was whole.
pub(super) fn arenas(memory: &mut Remote, mappings: &[Mapping]) -> Option<(Vec<Arena>, bool)> {
    let main = main_arena(memory, mappings)?;
    let is_heap = |of: &&Mapping| of.path == b"[heap]";
    let spans = mappings.iter().filter(is_heap).map(|of| (of.start, of.end)).collect();
    let mut all = vec![Arena { address: main, is_main: true, spans }];
    let mut at = memory.word(main + NEXT)?;
    while at != main && all.len() < ARENAS_MAX {
        let Some(arena) = arena(memory, at).filter(|of| !all.contains(of)) else { return Some((all, false)) };
        all.push(arena);
        at = memory.word(at + NEXT)?;
    }
    Some((all, at == main))
}

/// An arena of threads, from its last piece to its first.
fn arena(memory: &mut Remote, address: u64) -> Option<Arena> {
    let mut spans = Vec::new();
    if address > ADDRESS_MAX {
        return None;
    }
    let mut piece = memory.word(address + TOP)? / HEAP_ALIGN * HEAP_ALIGN;
    while piece != 0 && piece <= ADDRESS_MAX {
        let bytes = memory.word(piece + HEAP_BYTES)?;
        let is_ours =
            memory.word(piece)? == address && bytes <= HEAP_ALIGN && piece.is_multiple_of(HEAP_ALIGN);
        if !is_ours || spans.len() == PIECES_MAX {
            return None;
        }
        spans.push((piece, piece + bytes));
        piece = memory.word(piece + HEAP_PREVIOUS)?;
    }
    spans.iter().any(|span| (span.0..span.1).contains(&address)).then_some(Arena {
        address,
        is_main: false,
        spans,
    })
}

fn main_arena(memory: &mut Remote, mappings: &[Mapping]) -> Option<u64> {
    let is_data = |of: &&Mapping| is_libc(&of.path) && of.access.write && !of.access.shared;
    mappings.iter().filter(is_data).find_map(|of| {
        let end = of.end.min(of.start + DATA_BYTES_MAX);
        (of.start..end).step_by(8).find(|at| is_arena(memory, *at, end))
    })
}

fn is_libc(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.starts_with(b"libc.so.") || name.starts_with(b"libc-2.")
}

/// Whether it is the main arena: bins are there, of which an empty one is a ring of itself and another has two pointers; and
/// the next arena is itself or one of threads, as bins alone would also be found one bin further.
fn is_arena(memory: &mut Remote, at: u64, end: u64) -> bool {
    let mut empty = 0;
    match memory.word(at + NEXT) {
        Some(next) if next == at => {}
        Some(next) if next != 0 && memory.word(next / HEAP_ALIGN * HEAP_ALIGN) == Some(next) => {}
        _ => return false,
    }
    for bin in 0..BINS_COUNT {
        let head = at + BINS + bin * 16;
        if head + 16 > end {
            return false;
        }
        let (Some(forward), Some(backward)) = (memory.word(head), memory.word(head + 8)) else {
            return false;
        };
        let itself = head - FORWARD;
        match (forward == itself, backward == itself) {
            (true, true) => empty += 1,
            (false, false) if forward.is_multiple_of(16) && backward.is_multiple_of(16) => {}
            _ => return false,
        }
    }
    empty >= EMPTY_BINS_MIN
}
