//! Where the free blocks are: a list for each class, and two levels of bits that say which lists have any.
//!
//! ```text
//!   rows      bit r: row r has a block                  one scan finds the row,
//!   columns   [r] bit c: class (r, c) has a block       one more the class
//!   first     [r][c] the block that came last           its list, newest first
//! ```
#![allow(unsafe_code)]

use super::block::Block;
use super::class::{COLUMNS, Class, ROWS};

#[repr(C)]
#[derive(Debug)]
pub(super) struct Index {
    rows: u64,
    columns: [u32; ROWS],
    first: [[Option<Block>; COLUMNS]; ROWS],
}

const _: () = assert!(ROWS < u64::BITS as usize && COLUMNS == u32::BITS as usize);

impl Index {
    pub(super) const fn new() -> Index {
        Index { rows: 0, columns: [0; ROWS], first: [[None; COLUMNS]; ROWS] }
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
            let slot = self.slot(class);
            let old = slot.replace(block);
            block.links().write([old, None]);
            if let Some(old) = old {
                (*old.links().as_ptr())[1] = Some(block);
            }
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
            *self.slot(class) = next;
            match next {
                Some(next) => (*next.links().as_ptr())[1] = None,
                None => self.clear(class),
            }
        }
    }

    /// A class has no block any more.
    #[inline(always)]
    fn clear(&mut self, class: Class) {
        let row = self.row(class.row);
        *row &= !(1 << class.column);
        if *row == 0 {
            self.rows &= !(1 << class.row);
        }
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
            if let Some(next) = next {
                (*next.links().as_ptr())[1] = previous;
            }
            if let Some(previous) = previous {
                (*previous.links().as_ptr())[0] = next;
                return;
            }
            let class = Class::of(block.total());
            *self.slot(class) = next;
            if next.is_none() {
                self.clear(class);
            }
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
