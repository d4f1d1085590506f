//! Where the free blocks are: a list for each class, and two levels of bits that say which lists have any.
//!
//! ```text
//!   rows      bit r: row r has a block                  one scan finds the row,
//!   columns   [r] bit c: class (r, c) has a block       one more the class
//!   first     [r][c] the block that came last           its list, newest first
//! ```
#![allow(unsafe_code)]

use core::ptr::NonNull;

use super::block::Block;
use super::class::{COLUMNS, Class, ROWS};

#[repr(C)]
#[derive(Debug)]
pub(super) struct Index {
    rows: u64,
    columns: [u32; ROWS],
    /// Where a link is written that no block wants.
    nowhere: [Option<Block>; 2],
    first: [[Option<Block>; COLUMNS]; ROWS],
}

const _: () = assert!(ROWS < u64::BITS as usize && COLUMNS == u32::BITS as usize);

impl Index {
    pub(super) const fn new() -> Index {
        Index { rows: 0, columns: [0; ROWS], nowhere: [None; 2], first: [[None; COLUMNS]; ROWS] }
    }

    #[inline(always)]
    fn slot(&mut self, class: Class) -> &mut Option<Block> {
        debug_assert!((class.row as usize) < ROWS && (class.column as usize) < COLUMNS);
        // SAFETY: a class is within the table, see `class`; no check, because nothing here may panic.
        unsafe { self.first.get_unchecked_mut(class.row as usize).get_unchecked_mut(class.column as usize) }
    }

    #[inline(always)]
    fn row(&mut self, row: u32) -> &mut u32 {
        debug_assert!((row as usize) < ROWS);
        // SAFETY: as for `slot`.
        unsafe { self.columns.get_unchecked_mut(row as usize) }
    }

    /// The newest block of a class.
    #[inline(always)]
    pub(super) fn first(&self, class: Class) -> Option<Block> {
        // SAFETY: as for `slot`.
        unsafe { *self.first.get_unchecked(class.row as usize).get_unchecked(class.column as usize) }
    }

    /// Puts a free block of `total` bytes into its class.
    ///
    /// # Safety
    /// * The block is free, of this heap, and in no list.
    #[inline(always)]
    pub(super) unsafe fn insert(&mut self, block: Block, total: usize) {
        // SAFETY: the caller's contract; a block in a list has two words for its links.
        unsafe {
            let class = Class::of(total);
            let old = self.slot(class).replace(block);
            block.links().write([old, None]);
            self.set_previous(old, Some(block));
            *self.row(class.row) |= 1 << class.column;
            self.rows |= 1 << class.row;
        }
    }

    /// Takes the newest block of a class out.
    ///
    /// # Safety
    /// * The class has one.
    #[inline(always)]
    pub(super) unsafe fn pop(&mut self, class: Class, block: Block) {
        debug_assert_eq!(self.first(class), Some(block));
        // SAFETY: the caller's contract: it is a free block of this heap, and so is its neighbour.
        unsafe {
            let [next, _] = block.links().read();
            self.set_previous(next, None);
            self.set_first(class, next);
        }
    }

    /// Tells a block of a list, if there is one, which is before it. A choice between two places, not between
    /// two ways: whether a list goes on is as good as chance, and a wrong guess costs as much as a call.
    ///
    /// # Safety
    /// * The block is a free block of this heap.
    #[inline(always)]
    unsafe fn set_previous(&mut self, block: Option<Block>, previous: Option<Block>) {
        let nowhere = NonNull::from(&mut self.nowhere);
        let there = block.map_or(nowhere, Block::links);
        let links = core::hint::select_unpredictable(block.is_some(), there, nowhere);
        // SAFETY: the caller's contract, or a place of our own.
        unsafe { (*links.as_ptr())[1] = previous };
    }

    /// The list of a class begins with another block, or is empty.
    #[inline(always)]
    fn set_first(&mut self, class: Class, first: Option<Block>) {
        *self.slot(class) = first;
        let row = self.row(class.row);
        *row &= !(u32::from(first.is_none()) << class.column);
        let is_empty = *row == 0;
        self.rows &= !(u64::from(is_empty) << class.row);
    }

    /// Takes a block out of its class.
    ///
    /// # Safety
    /// * It is in there.
    #[inline(always)]
    pub(super) unsafe fn remove(&mut self, block: Block) {
        // SAFETY: the caller's contract: neighbours in a list are free blocks of this heap.
        unsafe {
            let [next, previous] = block.links().read();
            self.set_previous(next, previous);
            if let Some(previous) = previous {
                (*previous.links().as_ptr())[0] = next;
                return;
            }
            self.set_first(Class::of(block.total()), next);
        }
    }

    /// The first class from `from` on that has a block.
    #[inline(always)]
    pub(super) fn find(&mut self, from: Class) -> Option<Class> {
        let columns = *self.row(from.row) & (u32::MAX << from.column);
        if columns != 0 {
            return Some(Class { row: from.row, column: columns.trailing_zeros() });
        }
        let rows = self.rows & (u64::MAX << (from.row + 1));
        if rows == 0 {
            return None;
        }
        let row = rows.trailing_zeros();
        Some(Class { row, column: self.row(row).trailing_zeros() })
    }

    /// The last class that has a block.
    pub(super) fn last(&self) -> Option<Class> {
        let row = self.rows.checked_ilog2()?;
        let column = self.columns.get(row as usize)?.checked_ilog2()?;
        Some(Class { row, column })
    }

    /// Whether the bits say that a class has a block.
    pub(super) fn says(&self, class: Class) -> bool {
        let has_column =
            self.columns.get(class.row as usize).is_some_and(|row| row & (1 << class.column) != 0);
        has_column && self.rows & (1 << class.row) != 0
    }
}
