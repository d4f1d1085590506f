//! What sections of the program that have ended have left: blocks that their threads allocated between begin and end and that
//! are still live, and the nearly empty pages that these hold, charged as to stacks (`pins`). What is allocated in a section
//! inside another counts in both.

use heapscribe_formats::{LiveBlock, SectionLeft};

use super::charge::shares;
use super::pins::is_pinned;
use super::sweep::{Heap, UsedPage, Visit};

/// Sections by thread and begin, the outer one first, with the one that each is in.
struct Nested<'a> {
    sections: &'a [SectionLeft],
    order: Vec<usize>,
    /// Of each of the order, a place in it.
    outer: Vec<Option<usize>>,
}

impl Nested<'_> {
    fn new(sections: &[SectionLeft]) -> Nested<'_> {
        let mut order: Vec<usize> = (0..sections.len()).collect();
        order.sort_by_key(|at| {
            let of = &sections[*at];
            (of.thread, of.begin_ticks, std::cmp::Reverse(of.end_ticks))
        });
        let (mut outer, mut open) = (Vec::with_capacity(order.len()), Vec::<usize>::new());
        for (place, at) in order.iter().enumerate() {
            let is_in = |of: &usize| {
                let (inner, of) = (&sections[*at], &sections[order[*of]]);
                of.thread == inner.thread && inner.end_ticks <= of.end_ticks
            };
            while open.last().is_some_and(|of| !is_in(of)) {
                open.pop();
            }
            outer.push(open.last().copied());
            open.push(place);
        }
        Nested { sections, order, outer }
    }

    /// The innermost section in which a block was allocated, as a place in the order.
    fn of(&self, block: &LiveBlock) -> Option<usize> {
        let begins_before = |at: &usize| {
            let of = &self.sections[*at];
            (of.thread, of.begin_ticks) <= (block.thread, block.birth_ticks)
        };
        let mut place = self.order.partition_point(begins_before).checked_sub(1)?;
        loop {
            let of = &self.sections[self.order[place]];
            if of.thread == block.thread && block.birth_ticks <= of.end_ticks {
                return Some(place);
            }
            place = self.outer[place]?;
        }
    }
}

/// Sums up what sections have left.
pub(super) struct Left<'a> {
    nested: Nested<'a>,
    /// Address of each block of a section, and the innermost one.
    born: Vec<(u64, usize)>,
    /// The first that is not before the blocks that were seen.
    next: usize,
    sums: Vec<Sums>,
    weights: Vec<u64>,
    charged: Vec<u64>,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    blocks: u64,
    bytes: u64,
    pinned_bytes: u64,
}

impl<'a> Left<'a> {
    pub(super) fn new(sections: &'a [SectionLeft]) -> Left<'a> {
        let sums = vec![Sums::default(); sections.len()];
        let (born, weights, charged) = (Vec::new(), Vec::new(), Vec::new());
        Left { nested: Nested::new(sections), born, next: 0, sums, weights, charged }
    }

    /// Takes a block of the heap.
    pub(super) fn block(&mut self, block: &LiveBlock) {
        if let Some(place) = self.nested.of(block) {
            self.born.push((block.address.0, place));
            self.sums[place].blocks += 1;
            self.sums[place].bytes = self.sums[place].bytes.saturating_add(block.size_bytes);
        }
    }

    /// All blocks were taken; pages are next.
    pub(super) fn taken(&mut self) {
        self.born.sort_unstable();
    }

    /// The section of the block at an address; addresses come in order, the last one perhaps again.
    fn section_at(&mut self, address: u64) -> Option<usize> {
        while self.born.get(self.next).is_some_and(|(at, _)| *at < address) {
            self.next += 1;
        }
        self.born.get(self.next).filter(|(at, _)| *at == address).map(|(_, place)| *place)
    }

    /// The sections, with what they have left.
    pub(super) fn finish(mut self) -> Vec<SectionLeft> {
        // From the inner ones outwards: what is inside stands behind.
        for place in (0..self.sums.len()).rev() {
            if let Some(outer) = self.nested.outer[place] {
                let Sums { blocks, bytes, pinned_bytes } = self.sums[place];
                let of = &mut self.sums[outer];
                of.blocks += blocks;
                of.bytes = of.bytes.saturating_add(bytes);
                of.pinned_bytes = of.pinned_bytes.saturating_add(pinned_bytes);
            }
        }
        let mut sections = self.nested.sections.to_vec();
        for (at, Sums { blocks, bytes, pinned_bytes }) in self.nested.order.iter().zip(&self.sums) {
            let of = &mut sections[*at];
            (of.blocks, of.bytes, of.pinned_bytes) = (*blocks, *bytes, *pinned_bytes);
        }
        sections
    }
}

impl Visit for Left<'_> {
    fn page(&mut self, heap: &Heap<'_>, used: &UsedPage<'_>) {
        if self.next >= self.born.len() || !is_pinned(used, heap.regions[used.region].class) {
            return;
        }
        self.weights.clear();
        self.weights.extend(used.shares.iter().map(|share| share.live_bytes.max(1)));
        let mut charged = std::mem::take(&mut self.charged);
        shares(used.page.bytes, &self.weights, &mut charged);
        for (share, bytes) in used.shares.iter().zip(&charged) {
            if let Some(place) = self.section_at(heap.blocks[share.block].address) {
                let of = &mut self.sums[place];
                of.pinned_bytes = of.pinned_bytes.saturating_add(*bytes);
            }
        }
        self.charged = charged;
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_wire::ids::{HeapAddress, ThreadId};

    use super::*;

    /// Sections as thread, begin and end; blocks as thread and birth, of 10 bytes; how many blocks each section has left.
    fn check(sections: &[(u32, u64, u64)], blocks: &[(u32, u64)], expected: &[u64]) {
        let section = |&(thread, begin_ticks, end_ticks): &(u32, u64, u64)| SectionLeft {
            thread: ThreadId(thread),
            begin_ticks,
            end_ticks,
            ..SectionLeft::default()
        };
        let sections: Vec<_> = sections.iter().map(section).collect();
        let mut left = Left::new(&sections);
        for (at, (thread, birth_ticks)) in blocks.iter().enumerate() {
            let (address, thread) = (HeapAddress(4096 - at as u64 * 16), ThreadId(*thread));
            let block = LiveBlock {
                address,
                thread,
                birth_ticks: *birth_ticks,
                size_bytes: 10,
                ..LiveBlock::default()
            };
            left.block(&block);
        }
        left.taken();
        let found = left.finish();
        assert_eq!(found.iter().map(|of| of.blocks).collect::<Vec<_>>(), expected, "{sections:?}");
        assert!(found.iter().all(|of| of.bytes == 10 * of.blocks));
    }

    #[test]
    fn blocks_are_of_the_sections_that_their_thread_was_in() {
        let blocks = [(1, 5), (1, 10), (1, 15), (1, 20), (1, 21), (2, 12), (0, 12)];
        check(&[(1, 10, 20)], &blocks, &[3]);
        check(&[(2, 0, 100), (1, 10, 20), (3, 0, 100)], &blocks, &[1, 3, 0]);
        check(&[], &blocks, &[]);
    }

    #[test]
    fn what_is_inside_another_counts_in_both() {
        let blocks = [(1, 12), (1, 30), (1, 55), (1, 61), (1, 99)];
        check(&[(1, 10, 100), (1, 20, 60), (1, 50, 58), (1, 61, 70)], &blocks, &[5, 2, 1, 1]);
        // A block in the outer one, behind one that is inside.
        check(&[(1, 20, 25), (1, 10, 100)], &[(1, 90)], &[0, 1]);
        // One after the other, and after both.
        check(&[(1, 10, 20), (1, 30, 40)], &[(1, 35), (1, 45), (1, 25)], &[0, 1]);
    }
}
