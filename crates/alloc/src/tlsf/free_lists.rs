//! Where the free blocks are: a list for each class, and a bitmap for each level that says which lists have any.
//!
//! ```text
//!   first_level    bit f: first level f has a block           one scan finds the first level,
//!   second_level   [f] bit s: class (f, s) has a block        one more the class
//!   heads          [f][s] the block that was freed last       its list, newest first
//! ```
#![allow(unsafe_code)]

use core::ptr::NonNull;

use super::block::Block;
use super::size_class::{FIRST_LEVELS, SECOND_LEVELS, SizeClass};

#[repr(C)]
#[derive(Debug)]
pub(super) struct FreeLists {
    first_level: u64,
    second_level: [u32; FIRST_LEVELS],
    /// Where a link is written that no block wants.
    nowhere: [Option<Block>; 2],
    heads: [[Option<Block>; SECOND_LEVELS]; FIRST_LEVELS],
}

const _: () = assert!(FIRST_LEVELS < u64::BITS as usize && SECOND_LEVELS == u32::BITS as usize);

impl FreeLists {
    pub(super) const fn new() -> FreeLists {
        FreeLists {
            first_level: 0,
            second_level: [0; FIRST_LEVELS],
            nowhere: [None; 2],
            heads: [[None; SECOND_LEVELS]; FIRST_LEVELS],
        }
    }

    #[inline(always)]
    fn head_mut(&mut self, class: SizeClass) -> &mut Option<Block> {
        let (first, second) = (class.first_level as usize, class.second_level as usize);
        debug_assert!(first < FIRST_LEVELS && second < SECOND_LEVELS);
        // SAFETY: both levels of a `SizeClass` are within the table; no check, because nothing here may panic.
        unsafe { self.heads.get_unchecked_mut(first).get_unchecked_mut(second) }
    }

    #[inline(always)]
    fn second_level_mut(&mut self, first_level: u32) -> &mut u32 {
        debug_assert!((first_level as usize) < FIRST_LEVELS);
        // SAFETY: the first level of a `SizeClass` is within the table.
        unsafe { self.second_level.get_unchecked_mut(first_level as usize) }
    }

    /// The newest block of a class.
    #[inline(always)]
    pub(super) fn head(&self, class: SizeClass) -> Option<Block> {
        let (first, second) = (class.first_level as usize, class.second_level as usize);
        debug_assert!(first < FIRST_LEVELS && second < SECOND_LEVELS);
        // SAFETY: both levels of a `SizeClass` are within the table.
        unsafe { *self.heads.get_unchecked(first).get_unchecked(second) }
    }

    /// Inserts a free block of `total` bytes into its class.
    ///
    /// # Safety
    /// * The block is free, of this heap, and in no list.
    #[inline(always)]
    pub(super) unsafe fn insert(&mut self, block: Block, total: usize) {
        // SAFETY: the block is free and in no list, so its two link words are ours; the old head is a free
        // block of this heap, as all are that are in lists.
        unsafe {
            let class = SizeClass::mapping_insert(total);
            let old = self.head_mut(class).replace(block);
            block.links().write([old, None]);
            self.set_previous(old, Some(block));
            *self.second_level_mut(class.first_level) |= 1 << class.second_level;
            self.first_level |= 1 << class.first_level;
        }
    }

    /// Removes the newest block of a class.
    ///
    /// # Safety
    /// * `block` is the head of `class`.
    #[inline(always)]
    pub(super) unsafe fn remove_head(&mut self, class: SizeClass, block: Block) {
        debug_assert_eq!(self.head(class), Some(block));
        // SAFETY: the head of a class is a free block of this heap, and so is the next one of its list.
        unsafe {
            let [next, _] = block.links().read();
            self.set_previous(next, None);
            self.set_head(class, next);
        }
    }

    /// Writes into a block of a list, if there is one, which is before it. A choice between two places, not
    /// between two branches: whether a list goes on is as good as chance, and a wrong guess costs as much as a
    /// call.
    ///
    /// # Safety
    /// * The block is a free block of this heap.
    #[inline(always)]
    unsafe fn set_previous(&mut self, block: Option<Block>, previous: Option<Block>) {
        let nowhere = NonNull::from(&mut self.nowhere);
        let there = block.map_or(nowhere, Block::links);
        let links = core::hint::select_unpredictable(block.is_some(), there, nowhere);
        // SAFETY: the links of a free block of this heap, or a place of our own.
        unsafe { (*links.as_ptr())[1] = previous };
    }

    /// The list of a class begins with another block, or is empty.
    #[inline(always)]
    fn set_head(&mut self, class: SizeClass, head: Option<Block>) {
        *self.head_mut(class) = head;
        let second_level = self.second_level_mut(class.first_level);
        *second_level &= !(u32::from(head.is_none()) << class.second_level);
        let is_empty = *second_level == 0;
        self.first_level &= !(u64::from(is_empty) << class.first_level);
    }

    /// Removes a block from its class.
    ///
    /// # Safety
    /// * The block is free, of this heap, and in the list of its class.
    #[inline(always)]
    pub(super) unsafe fn remove(&mut self, block: Block) {
        // SAFETY: the block is in its list, so its neighbours there are free blocks of this heap.
        unsafe {
            let [next, previous] = block.links().read();
            self.set_previous(next, previous);
            if let Some(previous) = previous {
                (*previous.links().as_ptr())[0] = next;
                return;
            }
            self.set_head(SizeClass::mapping_insert(block.total()), next);
        }
    }

    /// The first class from `from` on that has a block.
    #[inline(always)]
    pub(super) fn find_suitable(&mut self, from: SizeClass) -> Option<SizeClass> {
        let second_level = *self.second_level_mut(from.first_level) & (u32::MAX << from.second_level);
        if second_level != 0 {
            return Some(SizeClass { second_level: second_level.trailing_zeros(), ..from });
        }
        let above = self.first_level & (u64::MAX << (from.first_level + 1));
        if above == 0 {
            return None;
        }
        let first_level = above.trailing_zeros();
        let second_level = self.second_level_mut(first_level).trailing_zeros();
        Some(SizeClass { first_level, second_level })
    }

    /// The last class that has a block.
    pub(super) fn last(&self) -> Option<SizeClass> {
        let first_level = self.first_level.checked_ilog2()?;
        let second_level = self.second_level.get(first_level as usize)?.checked_ilog2()?;
        Some(SizeClass { first_level, second_level })
    }

    /// Whether the bitmaps say that a class has a block.
    pub(super) fn is_marked(&self, class: SizeClass) -> bool {
        let second_level = self.second_level.get(class.first_level as usize);
        let has_second = second_level.is_some_and(|bits| bits & (1 << class.second_level) != 0);
        has_second && self.first_level & (1 << class.first_level) != 0
    }
}
