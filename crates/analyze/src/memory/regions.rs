//! What each mapping is. The heap's are: what grows by brk; arenas, which begin at a multiple of 64 MiB and reserve all of
//! that; mappings of single blocks; and, of another heap, each anonymous mapping that has a block or is known to be its own.
//! All others are told by their path, and stacks of threads by the page before them that nobody may touch.

use heapscribe_formats::{HeapLayout, Mapping};

use super::answer::PartName;
use super::limits::{ARENA_BYTES, MAPPED_BYTES_MIN, MAPPED_HEADER_BYTES, MIMALLOC_CLASSED_BYTES_MAX};
use super::placed::Placed;

/// Addresses end here, also where they have 57 bits.
const ADDRESS_MAX: u64 = 1 << 57;

/// What the blocks in a region say of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Class {
    /// It holds no block: all of it is one part.
    #[default]
    Fixed,
    /// The heap that grows by brk.
    Brk,
    /// A piece of an arena.
    Arena,
    /// Of a heap whose layout is not known.
    Foreign,
    /// Pools of our pool heap.
    Pool,
    /// Of a heap that has blocks of equal size side by side; sizes are rounded up to its classes up to this many bytes.
    Slab {
        /// Of what is larger only whole pages are its own.
        classed_bytes_max: u64,
    },
    /// Blocks in it have mappings of their own: their pages are the heap's, no others.
    Open,
}

/// A part of a mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Region {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) class: Class,
    /// What it is, where it is not the heap's.
    pub(super) other: Option<PartName>,
    /// Of one whose pages are not listed, what the kernel counts.
    pub(super) counted_bytes: Option<u64>,
}

impl Class {
    /// Whether blocks share its pages, and what is free in them is the heap's.
    pub(super) fn is_shared(self) -> bool {
        !matches!(self, Class::Fixed | Class::Open)
    }
}

impl Region {
    /// Whether what is free in it is the heap's.
    pub(super) fn is_heap(&self) -> bool {
        self.class.is_shared()
    }
}

/// The regions of mappings, by address.
pub(super) fn regions(mappings: &[Mapping], blocks: &[Placed], layout: HeapLayout) -> Vec<Region> {
    let mut sorted: Vec<&Mapping> =
        mappings.iter().filter(|of| of.start < of.end && of.end <= ADDRESS_MAX).collect();
    sorted.sort_by_key(|of| of.start);
    let mut found = Classifier { blocks, layout, regions: Vec::new(), reserved_to: 0 };
    for (at, of) in sorted.iter().enumerate() {
        let neighbour = |at: Option<usize>| at.and_then(|at| sorted.get(at)).copied();
        found.mapping(of, neighbour(at.checked_sub(1)), neighbour(Some(at + 1)));
    }
    found.regions
}

struct Classifier<'a> {
    blocks: &'a [Placed],
    layout: HeapLayout,
    regions: Vec<Region>,
    /// Where the reserve of the last arena ends.
    reserved_to: u64,
}

impl Classifier<'_> {
    fn mapping(&mut self, of: &Mapping, before: Option<&Mapping>, after: Option<&Mapping>) {
        if let Some(part) = by_name(of) {
            return self.push(of.start, of.end, Class::Fixed, part, Some(of.resident_bytes));
        }
        if of.path == b"[heap]" && self.layout == HeapLayout::Glibc {
            return self.push(of.start, of.end, Class::Brk, PartName::OtherAnonymous, None);
        }
        let before = before.filter(|before| before.end == of.start);
        let other = match before {
            Some(before) if is_reserve(before) && before.end != self.reserved_to => PartName::Stacks,
            Some(before) if before.path.starts_with(b"/") && !before.access.shared => PartName::Files,
            _ => PartName::OtherAnonymous,
        };
        let mut from = of.start;
        for at in self.arenas(of, after) {
            self.anonymous((from, at), of.is_heap, other);
            let end = of.end.min(at + ARENA_BYTES);
            self.push(at, end, Class::Arena, PartName::OtherAnonymous, None);
            (from, self.reserved_to) = (end, at + ARENA_BYTES);
        }
        self.anonymous((from, of.end), of.is_heap, other);
    }

    /// Where arenas begin in a mapping.
    fn arenas(&self, of: &Mapping, after: Option<&Mapping>) -> Vec<u64> {
        if self.layout != HeapLayout::Glibc || !of.access.write || of.access.execute {
            return Vec::new();
        }
        let reserve = after.filter(|after| after.start == of.end && is_reserve(after));
        let first = of.start.next_multiple_of(ARENA_BYTES);
        let is_arena = |at: &u64| match at + ARENA_BYTES <= of.end {
            true => self.has_small_blocks(*at),
            false => reserve.is_some_and(|reserve| reserve.end >= at + ARENA_BYTES),
        };
        (first..of.end).step_by(ARENA_BYTES as usize).filter(is_arena).collect()
    }

    /// Whether 64 MiB that are wholly in use are an arena's: those of a large block have no others.
    fn has_small_blocks(&self, at: u64) -> bool {
        self.blocks_in(at, at + ARENA_BYTES).iter().any(|block| !has_own_mapping(block))
    }

    fn blocks_in(&self, start: u64, end: u64) -> &[Placed] {
        let from = self.blocks.partition_point(|block| block.address < start);
        let to = self.blocks.partition_point(|block| block.address < end);
        &self.blocks[from..to.max(from)]
    }

    fn anonymous(&mut self, (start, end): (u64, u64), is_heap: bool, other: PartName) {
        if start >= end {
            return;
        }
        let blocks = self.blocks_in(start, end);
        let class = match self.layout {
            HeapLayout::Glibc if blocks.iter().all(has_own_mapping) => Class::Open,
            HeapLayout::Glibc => Class::Foreign,
            _ if blocks.is_empty() && !is_heap => Class::Open,
            HeapLayout::Tlsf => Class::Pool,
            HeapLayout::Jemalloc => Class::Slab { classed_bytes_max: u64::MAX },
            HeapLayout::Mimalloc => Class::Slab { classed_bytes_max: MIMALLOC_CLASSED_BYTES_MAX },
            HeapLayout::Unknown | HeapLayout::Tcmalloc => Class::Foreign,
        };
        self.push(start, end, class, other, None);
    }

    fn push(&mut self, start: u64, end: u64, class: Class, other: PartName, counted_bytes: Option<u64>) {
        self.regions.push(Region { start, end, class, other: Some(other), counted_bytes });
    }
}

/// Whether a block of glibc's outside of arenas is one that has a mapping of its own.
fn has_own_mapping(block: &Placed) -> bool {
    block.address % 4096 == MAPPED_HEADER_BYTES || block.size_bytes >= MAPPED_BYTES_MIN
}

/// Address space without memory: behind an arena, or before a stack.
fn is_reserve(of: &Mapping) -> bool {
    !of.access.read && !of.access.write && !of.access.execute && of.path.is_empty()
}

/// What a mapping is by its name.
fn by_name(of: &Mapping) -> Option<PartName> {
    let path = &of.path[..];
    let is_memory = |path: &[u8]| {
        [&b"/memfd:"[..], b"/dev/shm/", b"/dev/zero", b"/SYSV"].iter().any(|begin| path.starts_with(begin))
    };
    match path {
        _ if of.is_recorder => Some(PartName::Recorder),
        _ if of.access.shared && (path.is_empty() || is_memory(path)) => Some(PartName::SharedMemory),
        _ if of.access.shared || path.starts_with(b"/") => Some(PartName::Files),
        [b'[', rest @ ..] if rest.starts_with(b"stack") => Some(PartName::Stacks),
        [b'[', rest @ ..] if rest.starts_with(b"v") || rest.starts_with(b"uprobes") => Some(PartName::Files),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapscribe_formats::Access;

    const MIB: u64 = 1 << 20;

    /// A mapping of some MiB: `rw 64 68 [name]`, `-- 68 128`.
    fn mapping(line: &str) -> Mapping {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mib = |at: usize| words[at].parse::<u64>().unwrap() * MIB;
        let has = |letter: char| words[0].contains(letter);
        let access = Access { read: has('r'), write: has('w'), execute: has('x'), shared: has('s') };
        let path = words.get(3).copied().unwrap_or_default().as_bytes().to_vec();
        Mapping { start: mib(1), end: mib(2), access, path, ..Mapping::default() }
    }

    /// Mappings, and blocks as address and size; the regions as text.
    fn check(layout: HeapLayout, mappings: &[&str], blocks: &[(u64, u64)], expected: &[&str]) {
        let mappings: Vec<_> = mappings.iter().map(|line| mapping(line)).collect();
        let blocks: Vec<_> = blocks
            .iter()
            .map(|&(address, size_bytes)| Placed { address, size_bytes, ..Placed::default() })
            .collect();
        let found = regions(&mappings, &blocks, layout);
        let text = |of: &Region| {
            let other = of.other.map_or("", PartName::key);
            format!("{} {} {:?} {other}", of.start / MIB, of.end / MIB, of.class)
        };
        assert_eq!(found.iter().map(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn mappings_are_told_by_their_names() {
        check(
            HeapLayout::Glibc,
            &[
                "rx 1 2 /bin/x",
                "rw 2 3",
                "rw 4 8 [heap]",
                "rws 9 10 /memfd:a",
                "rw 11 12 [stack]",
                "rx 12 13 [vdso]",
            ],
            &[],
            &[
                "1 2 Fixed files",
                "2 3 Open files",
                "4 8 Brk other_anonymous",
                "9 10 Fixed shared_memory",
                "11 12 Fixed stacks",
                "12 13 Fixed files",
            ],
        );
    }

    #[test]
    fn arenas_reserve_64_mib_and_stacks_have_a_guard() {
        check(
            HeapLayout::Glibc,
            &["rw 60 70", "-- 70 128", "rw 128 130", "-- 130 193", "rw 193 201"],
            &[],
            &[
                "60 64 Open other_anonymous",
                "64 70 Arena other_anonymous",
                "70 128 Open other_anonymous",
                "128 130 Arena other_anonymous",
                "130 193 Open other_anonymous",
                "193 201 Open stacks",
            ],
        );
        // The reserve of an arena is no guard of what follows it.
        check(
            HeapLayout::Glibc,
            &["rw 64 70", "-- 70 128", "rw 128 129"],
            &[],
            &["64 70 Arena other_anonymous", "70 128 Open other_anonymous", "128 129 Open other_anonymous"],
        );
        // 64 MiB in full: an arena has small blocks, a large block none.
        let full: &[&str] = &["rw 64 128"];
        check(HeapLayout::Glibc, full, &[(64 * MIB + 0x950, 20)], &["64 128 Arena other_anonymous"]);
        check(HeapLayout::Glibc, full, &[(64 * MIB + 16, 63 * MIB)], &["64 128 Open other_anonymous"]);
    }

    #[test]
    fn what_is_known_to_be_another_heaps_is_its_own_without_a_block() {
        let [mut own, not] = [mapping("rw 1 2"), mapping("rw 3 4")];
        own.is_heap = true;
        let class = |layout| {
            let found = regions(&[own.clone(), not.clone()], &[], layout);
            found.iter().map(|of| of.class).collect::<Vec<_>>()
        };
        assert_eq!(class(HeapLayout::Tlsf), [Class::Pool, Class::Open]);
        assert_eq!(class(HeapLayout::Jemalloc), [Class::Slab { classed_bytes_max: u64::MAX }, Class::Open]);
        assert_eq!(class(HeapLayout::Tcmalloc), [Class::Foreign, Class::Open]);
        assert_eq!(class(HeapLayout::Glibc), [Class::Open, Class::Open]);
    }

    #[test]
    fn a_heap_of_unknown_layout_is_where_its_blocks_are() {
        let mappings: &[&str] = &["rw 1 2", "rw 3 4", "rw 4 8 [heap]"];
        let expected: &[&str] =
            &["1 2 Foreign other_anonymous", "3 4 Open other_anonymous", "4 8 Open other_anonymous"];
        check(HeapLayout::Unknown, mappings, &[(MIB + 64, 8)], expected);
        // glibc's, where brk was refused.
        let expected: &[&str] =
            &["1 2 Foreign other_anonymous", "3 4 Open other_anonymous", "4 8 Brk other_anonymous"];
        check(HeapLayout::Glibc, mappings, &[(MIB + 64, 8)], expected);
    }
}
