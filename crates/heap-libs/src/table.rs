//! The heap of another library: its `heapscribe_get_heap` gives a table of functions, see
//! `heapscribe_heap.h`. That library is an ordinary one, in C or in anything that can speak C, and is
//! preloaded together with this one, or has this one linked into it.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use heapscribe_alloc::vtable::{HeapTable, Refused, TableHeap};
use heapscribe_interpose::{Heap, Line, Owns, Request, Start, Stats, export};
use heapscribe_nolibc::once::Once;

/// The function that gives the table.
const GET_HEAP: &[u8] = b"heapscribe_get_heap";
type GetHeap = unsafe extern "C" fn() -> *const HeapTable;

/// The other library's heap, once it is known; before that every allocation fails.
#[derive(Debug)]
struct PluginHeap(Once<TableHeap>);

export! {
    static HEAP: PluginHeap = PluginHeap(Once::new());
    start = start;
    nests;
}

fn start(heap: &'static PluginHeap) -> Start {
    HEAP.describe(Line::blank().text(b"table"), Line::blank());
    let why: &[u8] = match find() {
        Ok(table) => {
            heap.0.set(table);
            return Start::Ready;
        }
        Err(why) => why,
    };
    Line::new().text(why).text(b"; the program keeps the heap that it has").print();
    Start::Pass
}

/// The table of the library that this one is linked into, else that of any other.
fn find() -> Result<TableHeap, &'static [u8]> {
    let function = HEAP.loader().and_then(|loader| {
        let own = loader.find_in_module_of(GET_HEAP, core::ptr::from_ref(&HEAP).cast());
        own.or_else(|| loader.find_anywhere(GET_HEAP))
    });
    let function = function.ok_or(b"no library has heapscribe_get_heap".as_slice())?;
    // SAFETY: the function of this name has this type (`heapscribe_heap.h`).
    let table = unsafe { core::mem::transmute::<*const (), GetHeap>(function)() };
    if table.is_null() {
        return Err(b"heapscribe_get_heap gave no table");
    }
    // SAFETY: sized; functions: what it gave is a table, which stays (`heapscribe_heap.h`).
    unsafe { TableHeap::new(table) }.map_err(|refused| match refused {
        Refused::Abi(_) => b"the heap's table is of another version".as_slice(),
        Refused::TableBytes(_) => b"the heap's table is too small".as_slice(),
        Refused::Missing(_) => b"the heap's table lacks alloc, free or usable_size".as_slice(),
    })
}

// SAFETY: the table's author promises what a heap promises; all calls are forwarded to it.
unsafe impl Heap for PluginHeap {
    fn alloc(&self, request: Request) -> Option<NonNull<u8>> {
        self.0.get()?.alloc(request)
    }

    fn alloc_zeroed(&self, request: Request) -> Option<NonNull<u8>> {
        self.0.get()?.alloc_zeroed(request)
    }

    unsafe fn free(&self, block: NonNull<u8>) {
        if let Some(heap) = self.0.get() {
            // SAFETY: used, by `Heap::free`.
            unsafe { heap.free(block) };
        }
    }

    unsafe fn usable_size(&self, block: NonNull<u8>) -> usize {
        // SAFETY: used, by `Heap::usable_size`.
        self.0.get().map_or(0, |heap| unsafe { heap.usable_size(block) })
    }

    unsafe fn realloc(&self, block: NonNull<u8>, request: Request) -> Option<NonNull<u8>> {
        // SAFETY: used, by `Heap::realloc`.
        unsafe { self.0.get()?.realloc(block, request) }
    }

    fn owns(&self, address: *const u8) -> Owns {
        self.0.get().map_or(Owns::No, |heap| heap.owns(address))
    }

    fn stats(&self) -> Stats {
        self.0.get().map_or(Stats::EMPTY, Heap::stats)
    }

    fn fork_prepare(&self) {
        if let Some(heap) = self.0.get() {
            heap.fork_prepare();
        }
    }

    unsafe fn fork_parent(&self) {
        if let Some(heap) = self.0.get() {
            // SAFETY: prepared, by `Heap::fork_parent`.
            unsafe { heap.fork_parent() };
        }
    }

    unsafe fn fork_child(&self) {
        if let Some(heap) = self.0.get() {
            // SAFETY: prepared, by `Heap::fork_child`.
            unsafe { heap.fork_child() };
        }
    }

    fn wants_thread_exit(&self) -> bool {
        self.0.get().is_some_and(Heap::wants_thread_exit)
    }

    fn thread_exit(&self) {
        if let Some(heap) = self.0.get() {
            heap.thread_exit();
        }
    }
}
