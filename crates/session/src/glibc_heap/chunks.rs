//! Free chunks of one arena: its top and what is in its bins. Each chunk is checked as glibc checks it: it lies in the arena, its
//! size is possible, neighbours and links agree. A list ends at the first chunk that fails.

use heapscribe_formats::model::{FreeKind, FreeRange};

use super::layout::{
    BACKWARD, BINS, BINS_COUNT, CHUNK_ALIGN, CHUNK_BYTES_MIN, FAST_BINS, FAST_BINS_COUNT, FORWARD, IS_MAPPED,
    NOT_MAIN, PREVIOUS_IN_USE, SIZE, TOP,
};
use crate::remote::Remote;

/// An arena: where it is, and the memory that it has.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Arena {
    pub(super) address: u64,
    /// How far down its fields are, one of `layout::SHIFTS`.
    pub(super) shift: u64,
    pub(super) is_main: bool,
    /// From and to.
    pub(super) spans: Vec<(u64, u64)>,
}

impl Arena {
    /// The address of a field.
    pub(super) fn field(&self, offset: u64) -> u64 {
        self.address + offset - self.shift
    }

    /// The size of the chunk at an address, if one can be there.
    pub(super) fn chunk(&self, memory: &mut Remote, at: u64) -> Option<u64> {
        let (size, flags) = self.size_and_flags(memory, at)?;
        (flags & IS_MAPPED == 0 && (flags & NOT_MAIN == 0) == self.is_main).then_some(size)
    }

    fn size_and_flags(&self, memory: &mut Remote, at: u64) -> Option<(u64, u64)> {
        let end = self.spans.iter().find(|span| span.0 <= at && at < span.1)?.1;
        if !at.is_multiple_of(CHUNK_ALIGN) || end - at < CHUNK_BYTES_MIN {
            return None;
        }
        let word = memory.word(at + SIZE)?;
        let flags = word & (PREVIOUS_IN_USE | IS_MAPPED | NOT_MAIN);
        let size = word - flags;
        let fits = size >= CHUNK_BYTES_MIN && size.is_multiple_of(CHUNK_ALIGN) && size <= end - at;
        fits.then_some((size, flags))
    }

    fn bytes(&self) -> u64 {
        self.spans.iter().map(|span| span.1 - span.0).sum()
    }

    /// All its free chunks; whether each list was whole.
    pub(super) fn free(&self, memory: &mut Remote, out: &mut Vec<FreeRange>) -> bool {
        let top = self.top(memory, out).is_some();
        let fast = (0..FAST_BINS_COUNT).all(|bin| self.fast_bin(memory, bin, out).is_some());
        // Each is read, whatever became of the one before.
        let whole_bins = (0..BINS_COUNT).filter(|&bin| self.bin(memory, bin, out).is_some()).count();
        top && fast && whole_bins as u64 == BINS_COUNT
    }

    /// The top, which has no flag of its arena.
    fn top(&self, memory: &mut Remote, out: &mut Vec<FreeRange>) -> Option<()> {
        let at = memory.word(self.field(TOP))?;
        let (size, _) = self.size_and_flags(memory, at).filter(|(_, flags)| *flags == PREVIOUS_IN_USE)?;
        out.push(range(at, size, FreeKind::Top));
        Some(())
    }

    /// A list that is linked in one direction.
    fn fast_bin(&self, memory: &mut Remote, bin: u64, out: &mut Vec<FreeRange>) -> Option<()> {
        let first = memory.word(self.field(FAST_BINS) + bin * 8)?;
        let size = (bin + 2) * CHUNK_ALIGN;
        let max = self.bytes() / size;
        let found = links(memory, (first, FORWARD), max, |memory, at| {
            self.chunk(memory, at).filter(|found| *found == size).map(|_| at)
        });
        out.extend(found.as_ref()?.iter().map(|at| range(*at, size, FreeKind::FastBin)));
        Some(())
    }

    /// A ring, linked in both directions. Its chunks are between chunks in use, and have no flag of their arena.
    fn bin(&self, memory: &mut Remote, bin: u64, out: &mut Vec<FreeRange>) -> Option<()> {
        let head = self.field(BINS) + bin * 16 - FORWARD;
        let (mut before, mut at, mut sum) = (head, memory.word(head + FORWARD)?, 0);
        while at != head {
            let (size, flags) = self.size_and_flags(memory, at)?;
            sum += size;
            let is_linked =
                flags & IS_MAPPED == 0 && memory.word(at + BACKWARD)? == before && sum <= self.bytes();
            let is_free =
                memory.word(at + size)? == size && memory.word(at + size + SIZE)? & PREVIOUS_IN_USE == 0;
            if !is_linked || !is_free {
                return None;
            }
            out.push(range(at, size, FreeKind::Bin));
            (before, at) = (at, memory.word(at + FORWARD)?);
        }
        Some(())
    }
}

/// A chunk, from behind the word that belongs to the block before it.
pub(super) fn range(at: u64, bytes: u64, kind: FreeKind) -> FreeRange {
    FreeRange { start: at + SIZE, bytes, kind }
}

/// What is linked in one direction: from the first, each with its link at an offset; at most so many, and none that comes a
/// second time (Brent's way to find a ring: the places after 1, 2, 4, ... links are looked out for). Since 2.32 a link is
/// stored as its difference from where it is (safe linking). `check` is the address that counts.
pub(super) fn links(
    memory: &mut Remote,
    (first, offset): (u64, u64),
    max: u64,
    check: impl Fn(&mut Remote, u64) -> Option<u64>,
) -> Option<Vec<u64>> {
    [12, 63].into_iter().find_map(|shift| {
        let (mut found, mut at, mut marked) = (Vec::new(), first, 0);
        while at != 0 {
            if found.len() as u64 == max || at == marked {
                return None;
            }
            if found.len().is_power_of_two() {
                marked = at;
            }
            found.push(check(memory, at)?);
            let place = at + offset;
            at = memory.word(place)? ^ (place >> shift);
        }
        Some(found)
    })
}
