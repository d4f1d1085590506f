//! The heap behind a table that another library has filled in.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use crate::heap::{Heap, Owns};
use crate::request::Request;
use crate::stats::Stats;

use super::table::{ABI, Event, Handle, HeapTable, Pointer, TABLE_BYTES_MIN};

/// Why a table is no heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// It is for another version.
    Abi(u32),
    /// It is smaller than the fields that must be there.
    TableBytes(u32),
    /// `alloc`, `free` or `usable_size` is null.
    Missing(&'static str),
}

/// The heap behind a table.
#[derive(Clone, Copy, Debug)]
pub struct TableHeap {
    table: HeapTable,
    alloc: unsafe extern "C" fn(Handle, usize, usize) -> Pointer,
    free: unsafe extern "C" fn(Handle, Pointer),
    usable_size: unsafe extern "C" fn(Handle, Pointer) -> usize,
}

impl TableHeap {
    /// Looks at a table and copies it; fields that its author did not know become null.
    ///
    /// # Safety
    /// * Sized: `table` begins with `abi` and `table_bytes`, and has as many bytes as it says.
    /// * Functions: they do what the table says, as [`Heap`] asks of its implementations.
    pub unsafe fn new(table: *const HeapTable) -> Result<TableHeap, Refused> {
        // SAFETY: sized: both fields are there.
        let (abi, table_bytes) =
            unsafe { ((&raw const (*table).abi).read(), (&raw const (*table).table_bytes).read()) };
        if abi != ABI {
            return Err(Refused::Abi(abi));
        }
        if table_bytes < TABLE_BYTES_MIN {
            return Err(Refused::TableBytes(table_bytes));
        }
        let mut copy = core::mem::MaybeUninit::<HeapTable>::zeroed();
        let len = (table_bytes as usize).min(size_of::<HeapTable>());
        // SAFETY: sized: `len` bytes are there on both sides, and zeros are a table of nulls.
        let table = unsafe {
            copy.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(table.cast(), len);
            copy.assume_init()
        };
        Ok(TableHeap {
            alloc: table.alloc.ok_or(Refused::Missing("alloc"))?,
            free: table.free.ok_or(Refused::Missing("free"))?,
            usable_size: table.usable_size.ok_or(Refused::Missing("usable_size"))?,
            table,
        })
    }

    fn call(&self, event: Option<Event>) {
        if let Some(event) = event {
            // SAFETY: functions: it is the table's, with the table's handle.
            unsafe { event(self.table.heap) };
        }
    }
}

// SAFETY: functions: the table's author promises what this trait asks, see `TableHeap::new`.
unsafe impl Heap for TableHeap {
    fn alloc(&self, request: Request) -> Option<NonNull<u8>> {
        // SAFETY: functions: it is the table's, with the table's handle.
        let block = unsafe { (self.alloc)(self.table.heap, request.size_bytes(), request.align_bytes()) };
        NonNull::new(block.cast())
    }

    unsafe fn free(&self, block: NonNull<u8>) {
        // SAFETY: functions; the block is this heap's and was not freed, by `Heap::free`.
        unsafe { (self.free)(self.table.heap, block.as_ptr().cast()) };
    }

    unsafe fn usable_size(&self, block: NonNull<u8>) -> usize {
        // SAFETY: functions; the block is this heap's and was not freed, by `Heap::usable_size`.
        unsafe { (self.usable_size)(self.table.heap, block.as_ptr().cast()) }
    }

    fn alloc_zeroed(&self, request: Request) -> Option<NonNull<u8>> {
        let (size, align) = (request.size_bytes(), request.align_bytes());
        match self.table.alloc_zeroed {
            // SAFETY: functions: it is the table's, with the table's handle.
            Some(alloc) => NonNull::new(unsafe { alloc(self.table.heap, size, align) }.cast()),
            None => {
                let block = self.alloc(request)?;
                // SAFETY: just allocated with at least this size, and nobody else's yet.
                unsafe { block.as_ptr().write_bytes(0, size) };
                Some(block)
            }
        }
    }

    unsafe fn realloc(&self, block: NonNull<u8>, request: Request) -> Option<NonNull<u8>> {
        let (size, align) = (request.size_bytes(), request.align_bytes());
        let old = block.as_ptr();
        // SAFETY: functions; the block is this heap's and was not freed, by `Heap::realloc`.
        unsafe {
            if let Some(realloc) = self.table.realloc {
                return NonNull::new(realloc(self.table.heap, old.cast(), size, align).cast());
            }
            let usable = self.usable_size(block);
            if size <= usable && size >= usable / 2 && request.is_aligned(old as usize) {
                return Some(block);
            }
            self.relocate(block, usable, request)
        }
    }

    fn owns(&self, address: *const u8) -> Owns {
        // SAFETY: functions: it is the table's, with the table's handle.
        match self.table.owns.map(|owns| unsafe { owns(self.table.heap, address.cast()) }) {
            Some(0) => Owns::No,
            Some(1) => Owns::Yes,
            _ => Owns::Unknown,
        }
    }

    fn stats(&self) -> Stats {
        let mut out = Stats::EMPTY;
        if let Some(stats) = self.table.stats {
            // SAFETY: functions: it is the table's, with the table's handle, and writes into `out`.
            unsafe { stats(self.table.heap, &mut out) };
        }
        out
    }

    fn fork_prepare(&self) {
        self.call(self.table.fork_prepare);
    }

    unsafe fn fork_parent(&self) {
        self.call(self.table.fork_parent);
    }

    unsafe fn fork_child(&self) {
        self.call(self.table.fork_child);
    }

    fn wants_thread_exit(&self) -> bool {
        self.table.thread_exit.is_some()
    }

    fn thread_exit(&self) {
        self.call(self.table.thread_exit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locked::{Config, PageOptions, TlsfHeap};

    static POOLS: TlsfHeap = TlsfHeap::new(Config {
        pool_bytes: 1 << 20,
        grow_bytes: 0,
        pages: PageOptions { prefault: false, lock: false, huge_pages: false },
        ..Config::DEFAULT
    });
    static TABLE: HeapTable = HeapTable::of(&POOLS);

    /// What becomes of a table that was changed.
    fn check(change: impl FnOnce(&mut HeapTable), expected: Option<Refused>) {
        let mut table = TABLE;
        change(&mut table);
        // SAFETY: a table with the size that it says or more.
        assert_eq!(unsafe { TableHeap::new(&table) }.err(), expected);
    }

    #[test]
    fn tables_that_are_refused() {
        check(|_| (), None);
        check(|table| table.abi = 2, Some(Refused::Abi(2)));
        check(|table| table.table_bytes = 39, Some(Refused::TableBytes(39)));
        check(|table| table.table_bytes = 40, None);
        check(|table| table.table_bytes = 4000, None);
        check(|table| table.free = None, Some(Refused::Missing("free")));
        check(|table| table.stats = None, None);
    }

    #[test]
    fn a_heap_through_a_table_is_the_same_heap() {
        // SAFETY: the table of a heap.
        let heap = unsafe { TableHeap::new(&TABLE) }.unwrap();
        let block = heap.alloc_zeroed(Request::new(100, 64).unwrap()).unwrap();
        assert_eq!((heap.owns(block.as_ptr()), POOLS.owns(block.as_ptr())), (Owns::Yes, Owns::Yes));
        assert_eq!(heap.owns(core::ptr::from_ref(&heap).cast()), Owns::No);
        assert_eq!(heap.stats(), POOLS.stats());
        // SAFETY: the heap's block.
        unsafe {
            assert_eq!(heap.usable_size(block), POOLS.usable_size(block));
            let block = heap.realloc(block, Request::new(10_000, 4096).unwrap()).unwrap();
            POOLS.free(block);
        }
    }

    #[test]
    fn what_a_short_table_lacks_is_made_of_what_it_has() {
        let mut table = TABLE;
        table.table_bytes = TABLE_BYTES_MIN;
        // SAFETY: a table of which the first fields are to be used.
        let heap = unsafe { TableHeap::new(&table) }.unwrap();
        let block = heap.alloc_zeroed(Request::bytes(64).unwrap()).unwrap();
        // SAFETY: the heap's block, of this size.
        unsafe {
            assert!((0..64).all(|i| block.add(i).read() == 0));
            block.as_ptr().write_bytes(7, 64);
            let block = heap.realloc(block, Request::new(500, 4096).unwrap()).unwrap();
            assert!((0..64).all(|i| block.add(i).read() == 7));
            heap.free(block);
        }
        assert_eq!((heap.owns(core::ptr::null()), heap.stats()), (Owns::Unknown, Stats::EMPTY));
    }
}
