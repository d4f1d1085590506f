//! The table, and the functions that a heap in Rust puts into it.
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

pub(super) type Handle = *mut c_void;
pub(super) type Pointer = *mut c_void;
pub(super) type Event = unsafe extern "C" fn(Handle);

/// The table; [`crate::vtable`] says what each field is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the module's table says what each is")]
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
// SAFETY: the functions of a table may be called from any thread, with any handle of it.
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
    // SAFETY: handle: it was a `&'static H`.
    unsafe { &*heap.cast_const().cast() }
}

fn answer(block: Option<NonNull<u8>>) -> Pointer {
    block.map_or(core::ptr::null_mut(), |block| block.as_ptr().cast())
}

/// # Safety
/// * Handle: `heap` is that of the table.
unsafe extern "C" fn alloc<H: Heap>(heap: Handle, size: usize, align: usize) -> Pointer {
    // SAFETY: handle.
    let heap = unsafe { heap_of::<H>(heap) };
    answer(Request::new(size, align).and_then(|request| heap.alloc(request)))
}

/// # Safety
/// * Handle: `heap` is that of the table.
unsafe extern "C" fn alloc_zeroed<H: Heap>(heap: Handle, size: usize, align: usize) -> Pointer {
    // SAFETY: handle.
    let heap = unsafe { heap_of::<H>(heap) };
    answer(Request::new(size, align).and_then(|request| heap.alloc_zeroed(request)))
}

/// # Safety
/// * Handle: `heap` is that of the table.
/// * Block: it is null, or a block of the table's heap that was not freed.
unsafe extern "C" fn free<H: Heap>(heap: Handle, block: Pointer) {
    if let Some(block) = NonNull::new(block.cast()) {
        // SAFETY: handle; block.
        unsafe { heap_of::<H>(heap).free(block) };
    }
}

/// # Safety
/// * Handle: `heap` is that of the table.
/// * Block: it is null, or a block of the table's heap that was not freed.
unsafe extern "C" fn usable_size<H: Heap>(heap: Handle, block: Pointer) -> usize {
    // SAFETY: handle; block.
    NonNull::new(block.cast()).map_or(0, |block| unsafe { heap_of::<H>(heap).usable_size(block) })
}

/// # Safety
/// * Handle: `heap` is that of the table.
/// * Block: it is null, or a block of the table's heap that was not freed.
unsafe extern "C" fn realloc<H: Heap>(heap: Handle, block: Pointer, size: usize, align: usize) -> Pointer {
    let (Some(block), Some(request)) = (NonNull::new(block.cast()), Request::new(size, align)) else {
        return core::ptr::null_mut();
    };
    // SAFETY: handle; block.
    answer(unsafe { heap_of::<H>(heap).realloc(block, request) })
}

/// # Safety
/// * Handle: `heap` is that of the table.
unsafe extern "C" fn owns<H: Heap>(heap: Handle, address: *const c_void) -> c_int {
    // SAFETY: handle.
    match unsafe { heap_of::<H>(heap) }.owns(address.cast()) {
        Owns::No => 0,
        Owns::Yes => 1,
        Owns::Unknown => 2,
    }
}

/// # Safety
/// * Handle: `heap` is that of the table.
/// * Out: statistics may be written there.
unsafe extern "C" fn stats<H: Heap>(heap: Handle, out: *mut Stats) {
    // SAFETY: handle; out.
    unsafe { out.write(heap_of::<H>(heap).stats()) };
}

/// # Safety
/// * Handle: `heap` is that of the table.
unsafe extern "C" fn fork_prepare<H: Heap>(heap: Handle) {
    // SAFETY: handle.
    unsafe { heap_of::<H>(heap) }.fork_prepare();
}

/// # Safety
/// * Handle: `heap` is that of the table.
/// * Prepared: this thread called `fork_prepare` for this fork.
unsafe extern "C" fn fork_parent<H: Heap>(heap: Handle) {
    // SAFETY: handle; prepared.
    unsafe { heap_of::<H>(heap).fork_parent() };
}

/// # Safety
/// * Handle: `heap` is that of the table.
/// * Prepared: this thread called `fork_prepare` for this fork.
unsafe extern "C" fn fork_child<H: Heap>(heap: Handle) {
    // SAFETY: handle; prepared.
    unsafe { heap_of::<H>(heap).fork_child() };
}

/// # Safety
/// * Handle: `heap` is that of the table.
unsafe extern "C" fn thread_exit<H: Heap>(heap: Handle) {
    // SAFETY: handle.
    unsafe { heap_of::<H>(heap) }.thread_exit();
}
