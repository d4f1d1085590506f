//! Finds arenas. The main one is in the data of libc and has no name there that a stripped libc would keep: it is known by its
//! bins, which are rings. All others follow it in a ring, each at the begin of its first piece.

use heapscribe_formats::model::Mapping;

use super::chunks::Arena;
use super::layout::{
    ADDRESS_MAX, ARENAS_MAX, BACKWARD, BINS, BINS_COUNT, CHANGING_BINS_MAX, CHUNK_ALIGN, DATA_BYTES_MAX,
    FORWARD, HEAP_ALIGN, HEAP_BYTES, HEAP_PREVIOUS, NEXT, PIECES_MAX, SHIFTS, TOP,
};
use crate::remote::Remote;

/// All arenas, the main one first, and whether the ring was whole. Where others follow the main one, its fields could also
/// be those of an arena of the other layout 8 bytes from it, to which the ring does not come back.
pub(super) fn arenas(memory: &mut Remote, mappings: &[Mapping]) -> Option<(Vec<Arena>, bool)> {
    let mut found = None;
    for shift in SHIFTS {
        let Some(main) = main_arena(memory, mappings, shift) else { continue };
        let Some((all, is_whole)) = ring(memory, main) else { continue };
        if is_whole {
            return Some((all, true));
        }
        found = found.or(Some((all, false)));
    }
    found
}

/// The arenas that follow one, and whether that comes back to it.
fn ring(memory: &mut Remote, main: Arena) -> Option<(Vec<Arena>, bool)> {
    let (address, shift) = (main.address, main.shift);
    let mut at = memory.word(main.field(NEXT))?;
    let mut all = vec![main];
    while at != address && all.len() < ARENAS_MAX {
        let Some(next) = arena(memory, at, shift).filter(|of| !all.contains(of)) else {
            return Some((all, false));
        };
        at = memory.word(next.field(NEXT))?;
        all.push(next);
    }
    Some((all, at == address))
}

/// An arena of threads, from its last piece to its first.
fn arena(memory: &mut Remote, address: u64, shift: u64) -> Option<Arena> {
    if address > ADDRESS_MAX {
        return None;
    }
    let mut arena = Arena { address, shift, is_main: false, spans: Vec::new() };
    let mut piece = memory.word(arena.field(TOP))? / HEAP_ALIGN * HEAP_ALIGN;
    while piece != 0 && piece <= ADDRESS_MAX {
        let bytes = memory.word(piece + HEAP_BYTES)?;
        let is_ours =
            memory.word(piece)? == address && bytes <= HEAP_ALIGN && piece.is_multiple_of(HEAP_ALIGN);
        if !is_ours || arena.spans.len() == PIECES_MAX {
            return None;
        }
        arena.spans.push((piece, piece + bytes));
        piece = memory.word(piece + HEAP_PREVIOUS)?;
    }
    arena.spans.iter().any(|span| (span.0..span.1).contains(&address)).then_some(arena)
}

fn main_arena(memory: &mut Remote, mappings: &[Mapping], shift: u64) -> Option<Arena> {
    let is_heap = |of: &&Mapping| of.path == b"[heap]";
    let spans: Vec<_> = mappings.iter().filter(is_heap).map(|of| (of.start, of.end)).collect();
    let main = |address| Arena { address, shift, is_main: true, spans: spans.clone() };
    let is_data = |of: &&Mapping| is_libc(&of.path) && of.access.write && !of.access.shared;
    mappings.iter().filter(is_data).find_map(|of| {
        let end = of.end.min(of.start + DATA_BYTES_MAX);
        (of.start..end).step_by(8).map(main).find(|of| is_main_arena(memory, of, end))
    })
}

fn is_libc(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.starts_with(b"libc.so.") || name.starts_with(b"libc-2.")
}

/// Whether it is the main arena: the next arena is itself or one of threads, and its bins are rings: an empty one of itself, and
/// of another the first chunk and the last lead back to it. (By the number of empty ones alone an arena was not found whose heap
/// had free chunks of nearly all sizes: a perl that freed most of 300,000 strings.)
fn is_main_arena(memory: &mut Remote, arena: &Arena, end: u64) -> bool {
    match memory.word(arena.field(NEXT)) {
        Some(next) if next == arena.address => {}
        Some(next) if next != 0 && memory.word(next / HEAP_ALIGN * HEAP_ALIGN) == Some(next) => {}
        _ => return false,
    }
    let mut others = 0;
    for bin in 0..BINS_COUNT {
        let head = arena.field(BINS) + bin * 16;
        others += usize::from(head + 16 > end || !is_ring(memory, head - FORWARD).unwrap_or(false));
        if others > CHANGING_BINS_MAX {
            return false;
        }
    }
    true
}

/// Whether the bin that stands where a chunk would be is a ring.
fn is_ring(memory: &mut Remote, bin: u64) -> Option<bool> {
    let (forward, backward) = (memory.word(bin + FORWARD)?, memory.word(bin + BACKWARD)?);
    if forward == bin || backward == bin {
        return Some(forward == backward);
    }
    let is_chunk = |at: u64| at != 0 && at.is_multiple_of(CHUNK_ALIGN) && at <= ADDRESS_MAX;
    let leads_back = is_chunk(forward)
        && is_chunk(backward)
        && memory.word(forward + BACKWARD)? == bin
        && memory.word(backward + FORWARD)? == bin;
    Some(leads_back)
}
