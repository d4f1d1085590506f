//! A heap as a table of C functions: what a plug-in in another language fills in, and what a plug-in in Rust
//! exports, so that neither has to know the other's compiler. `include/heapscribe_heap.h` is the same in C.
//!
//! ```text
//!    0  abi           1
//!    4  table_bytes   size of the table as its author knew it: fields beyond are not there
//!    8  heap          given to every function
//!   16  alloc         (heap, size, align) -> block or null
//!   24  free          (heap, block)
//!   32  usable_size   (heap, block) -> bytes
//!       from here on a null means: as if it were made of the three above, or not known
//!   40  alloc_zeroed  (heap, size, align) -> block or null
//!   48  realloc       (heap, block, size, align) -> block or null
//!   56  owns          (heap, address) -> 0 no, 1 yes, other: cannot tell
//!   64  stats         (heap, stats)
//!   72  fork_prepare, fork_parent, fork_child, thread_exit   (heap)
//! ```
//! A later version adds fields at the end, and keeps abi; another abi is refused.
#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};
use core::ptr::NonNull;

use crate::heap::{Heap, Owns};
use crate::request::Request;
use crate::stats::Stats;

/// The only one so far.
pub const ABI: u32 = 1;
/// A table without the fields that may be null.
pub const TABLE_BYTES_MIN: u32 = 40;

type Handle = *mut c_void;
type Pointer = *mut c_void;
type Event = unsafe extern "C" fn(Handle);

/// The table.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the table above says what each is")]
pub struct HeapTable {
    pub abi: u32,
    pub table_bytes: u32,
    pub heap: Handle,
    pub alloc: Option<unsafe extern "C" fn(Handle, usize, usize) -> Pointer>,
    pub free: Option<unsafe extern "C" fn(Handle, Pointer)>,
    pub usable_size: Option<unsafe extern "C" fn(Handle, Pointer) -> usize>,
    pub alloc_zeroed: Option<unsafe extern "C" fn(Handle, usize, usize) -> Pointer>,
    pub realloc: Option<unsafe extern "C" fn(Handle, Pointer, usize, usize) -> Pointer>,
    pub owns: Option<unsafe extern "C" fn(Handle, *const c_void) -> c_int>,
    pub stats: Option<unsafe extern "C" fn(Handle, *mut Stats)>,
    pub fork_prepare: Option<Event>,
    pub fork_parent: Option<Event>,
    pub fork_child: Option<Event>,
    pub thread_exit: Option<Event>,
}

const _: () = assert!(size_of::<HeapTable>() == 104);
const _: () = assert!(core::mem::offset_of!(HeapTable, alloc_zeroed) == TABLE_BYTES_MIN as usize);

// SAFETY: the functions of a table may be called from any thread, with any handle of it.
unsafe impl Sync for HeapTable {}
// SAFETY: as above.
unsafe impl Send for HeapTable {}

impl HeapTable {
    /// The table of a heap in Rust.
    pub const fn of<H: Heap>(heap: &'static H) -> HeapTable {
        HeapTable {
            abi: ABI,
            table_bytes: size_of::<HeapTable>() as u32,
            heap: core::ptr::from_ref(heap).cast_mut().cast(),
            alloc: Some(alloc::<H>),
            free: Some(free::<H>),
            usable_size: Some(usable_size::<H>),
            alloc_zeroed: Some(alloc_zeroed::<H>),
            realloc: Some(realloc::<H>),
            owns: Some(owns::<H>),
            stats: Some(stats::<H>),
            fork_prepare: Some(fork_prepare::<H>),
            fork_parent: Some(fork_parent::<H>),
            fork_child: Some(fork_child::<H>),
            thread_exit: Some(thread_exit::<H>),
        }
    }
}

/// # Safety
/// `heap` is the handle of a table that [`HeapTable::of`] made for an `H`.
unsafe fn heap_of<'a, H>(heap: Handle) -> &'a H {
    // SAFETY: the caller's contract: it was a `&'static H`.
    unsafe { &*heap.cast_const().cast() }
}

fn answer(block: Option<NonNull<u8>>) -> Pointer {
    block.map_or(core::ptr::null_mut(), |block| block.as_ptr().cast())
}

unsafe extern "C" fn alloc<H: Heap>(heap: Handle, size: usize, align: usize) -> Pointer {
    // SAFETY: the table's own handle.
    let heap = unsafe { heap_of::<H>(heap) };
    answer(Request::new(size, align).and_then(|request| heap.alloc(request)))
}

unsafe extern "C" fn alloc_zeroed<H: Heap>(heap: Handle, size: usize, align: usize) -> Pointer {
    // SAFETY: the table's own handle.
    let heap = unsafe { heap_of::<H>(heap) };
    answer(Request::new(size, align).and_then(|request| heap.alloc_zeroed(request)))
}

unsafe extern "C" fn free<H: Heap>(heap: Handle, block: Pointer) {
    if let Some(block) = NonNull::new(block.cast()) {
        // SAFETY: the table's own handle, and a block of its heap.
        unsafe { heap_of::<H>(heap).free(block) };
    }
}

unsafe extern "C" fn usable_size<H: Heap>(heap: Handle, block: Pointer) -> usize {
    // SAFETY: the table's own handle, and a block of its heap.
    NonNull::new(block.cast()).map_or(0, |block| unsafe { heap_of::<H>(heap).usable_size(block) })
}

unsafe extern "C" fn realloc<H: Heap>(heap: Handle, block: Pointer, size: usize, align: usize) -> Pointer {
    let (Some(block), Some(request)) = (NonNull::new(block.cast()), Request::new(size, align)) else {
        return core::ptr::null_mut();
    };
    // SAFETY: the table's own handle, and a block of its heap.
    answer(unsafe { heap_of::<H>(heap).realloc(block, request) })
}

unsafe extern "C" fn owns<H: Heap>(heap: Handle, address: *const c_void) -> c_int {
    // SAFETY: the table's own handle.
    match unsafe { heap_of::<H>(heap) }.owns(address.cast()) {
        Owns::No => 0,
        Owns::Yes => 1,
        Owns::Unknown => 2,
    }
}

unsafe extern "C" fn stats<H: Heap>(heap: Handle, out: *mut Stats) {
    // SAFETY: the table's own handle; room for the counts.
    unsafe { out.write(heap_of::<H>(heap).stats()) };
}

unsafe extern "C" fn fork_prepare<H: Heap>(heap: Handle) {
    // SAFETY: the table's own handle.
    unsafe { heap_of::<H>(heap) }.fork_prepare();
}

unsafe extern "C" fn fork_parent<H: Heap>(heap: Handle) {
    // SAFETY: the table's own handle; called after `fork_prepare`.
    unsafe { heap_of::<H>(heap).fork_parent() };
}

unsafe extern "C" fn fork_child<H: Heap>(heap: Handle) {
    // SAFETY: the table's own handle; called after `fork_prepare`, in the child.
    unsafe { heap_of::<H>(heap).fork_child() };
}

unsafe extern "C" fn thread_exit<H: Heap>(heap: Handle) {
    // SAFETY: the table's own handle.
    unsafe { heap_of::<H>(heap) }.thread_exit();
}

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
    /// * `table` begins with `abi` and `table_bytes`, has as many bytes as it says, and its functions do what
    ///   the table says, as [`Heap`] asks of its implementations.
    pub unsafe fn new(table: *const HeapTable) -> Result<TableHeap, Refused> {
        // SAFETY: the caller's contract.
        let (abi, said) =
            unsafe { ((&raw const (*table).abi).read(), (&raw const (*table).table_bytes).read()) };
        if abi != ABI {
            return Err(Refused::Abi(abi));
        }
        if said < TABLE_BYTES_MIN {
            return Err(Refused::TableBytes(said));
        }
        let mut copy = core::mem::MaybeUninit::<HeapTable>::zeroed();
        let len = (said as usize).min(size_of::<HeapTable>());
        // SAFETY: `len` bytes are there on both sides, and zeros are a table of nulls.
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

    fn tell(&self, event: Option<Event>) {
        if let Some(event) = event {
            // SAFETY: the table's function and handle.
            unsafe { event(self.table.heap) };
        }
    }
}

// SAFETY: whoever made the table promised what this trait asks, see `TableHeap::new`.
unsafe impl Heap for TableHeap {
    fn alloc(&self, request: Request) -> Option<NonNull<u8>> {
        // SAFETY: the table's function and handle.
        let block = unsafe { (self.alloc)(self.table.heap, request.size_bytes(), request.align_bytes()) };
        NonNull::new(block.cast())
    }

    unsafe fn free(&self, block: NonNull<u8>) {
        // SAFETY: the caller's contract.
        unsafe { (self.free)(self.table.heap, block.as_ptr().cast()) };
    }

    unsafe fn usable_size(&self, block: NonNull<u8>) -> usize {
        // SAFETY: the caller's contract.
        unsafe { (self.usable_size)(self.table.heap, block.as_ptr().cast()) }
    }

    fn alloc_zeroed(&self, request: Request) -> Option<NonNull<u8>> {
        let (size, align) = (request.size_bytes(), request.align_bytes());
        match self.table.alloc_zeroed {
            // SAFETY: the table's function and handle.
            Some(alloc) => NonNull::new(unsafe { alloc(self.table.heap, size, align) }.cast()),
            None => {
                let block = self.alloc(request)?;
                // SAFETY: just handed out with at least this size.
                unsafe { block.as_ptr().write_bytes(0, size) };
                Some(block)
            }
        }
    }

    unsafe fn realloc(&self, block: NonNull<u8>, request: Request) -> Option<NonNull<u8>> {
        let (size, align) = (request.size_bytes(), request.align_bytes());
        let old = block.as_ptr();
        // SAFETY: the caller's contract.
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
        // SAFETY: the table's function and handle.
        match self.table.owns.map(|owns| unsafe { owns(self.table.heap, address.cast()) }) {
            Some(0) => Owns::No,
            Some(1) => Owns::Yes,
            _ => Owns::Unknown,
        }
    }

    fn stats(&self) -> Stats {
        let mut out = Stats::EMPTY;
        if let Some(stats) = self.table.stats {
            // SAFETY: the table's function and handle; room for the counts.
            unsafe { stats(self.table.heap, &mut out) };
        }
        out
    }

    fn fork_prepare(&self) {
        self.tell(self.table.fork_prepare);
    }

    unsafe fn fork_parent(&self) {
        self.tell(self.table.fork_parent);
    }

    unsafe fn fork_child(&self) {
        self.tell(self.table.fork_child);
    }

    fn wants_thread_exit(&self) -> bool {
        self.table.thread_exit.is_some()
    }

    fn thread_exit(&self) {
        self.tell(self.table.thread_exit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locked::{Config, TlsfHeap, Wishes};

    static POOLS: TlsfHeap = TlsfHeap::new(Config {
        pool_bytes: 1 << 20,
        grow_bytes: 0,
        wishes: Wishes { prefault: false, lock: false, huge_pages: false },
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
