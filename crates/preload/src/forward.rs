//! The bodies that hooks share: a call goes to the heap behind us, and what became of it is recorded; a block
//! is removed from the live table before it is really freed, and put in after it was really allocated.
#![allow(unsafe_code)]

use core::ptr;

use heapscribe_alloc::system::SystemHeap;
use heapscribe_recorder::program::{self, Heap};
use heapscribe_recorder::{Call, enter, hook_flags, resume};

use crate::call::{AllocRequest, Pointer, caller};
use crate::resized::record_resized;
use crate::slow_hooks;

/// The heap behind us, or libc's behind that. A process without one cannot have come this far; should it, the call fails.
#[inline(always)]
pub(crate) fn heap<const LIBC: bool>() -> Option<&'static Heap> {
    if LIBC { program::libc_heap() } else { program::heap() }
}

/// Asks the heap for a block, and records it, or that the call failed.
///
/// # Safety
/// * `sp` is the stack pointer at the entry of the hook.
/// * `ask` forwards the program's call.
#[inline(always)]
pub(crate) unsafe fn alloc<const LIBC: bool>(
    request: AllocRequest,
    sp: *const usize,
    bp: usize,
    ask: impl FnOnce(&SystemHeap) -> Pointer,
) -> Pointer {
    let Some(heap) = heap::<LIBC>() else { return ptr::null_mut() };
    // SAFETY: `sp` is the stack pointer at the entry.
    let registers = unsafe { caller(sp, bp) };
    let AllocRequest { call, size, align } = request;
    if !hook_flags::are_clear() {
        let apart = registers;
        // SAFETY: the caller's registers; `ask` forwards the program's call.
        return unsafe { slow_hooks::alloc(heap, (call, size, align), &apart, ask) };
    }
    let p = ask(&heap.system);
    if let Some(entered) = enter(&registers) {
        // SAFETY: the heap has just returned `p` for this call; the caller's registers.
        unsafe { entered.record_alloc::<false>(call, p as usize, size, align, registers) };
    }
    p
}

/// `realloc`, for the function that `call` names.
///
/// # Safety
/// * As for the C library's `realloc`.
/// * `sp` is the stack pointer at the entry of the hook.
pub(crate) unsafe fn resize<const LIBC: bool>(
    call: Call,
    old: Pointer,
    size: usize,
    sp: *const usize,
    bp: usize,
) -> Pointer {
    let Some(heap) = heap::<LIBC>() else { return ptr::null_mut() };
    let request = AllocRequest { call, size, align: 0 };
    // SAFETY: the program's call, forwarded; the block at `old` is the program's, so nobody else removes it; `sp`
    // is the stack pointer at the entry.
    unsafe {
        if old.is_null() {
            return alloc::<LIBC>(request, sp, bp, |heap| (heap.realloc)(old, size));
        }
        let registers = caller(sp, bp);
        if !hook_flags::are_clear() {
            return slow_hooks::resize(heap, request, old, registers);
        }
        // Removed before, because another thread may be given the address as soon as realloc has moved.
        let Some(removed) = enter(&registers).map(|entered| entered.remove_for_resize(old as usize)) else {
            return (heap.system.realloc)(old, size);
        };
        let new = (heap.system.realloc)(old, size);
        if let Some(entered) = resume(&registers) {
            record_resized(&entered, request, removed, new, registers);
        }
        new
    }
}

/// `free`, for the function that `call` names: recorded before it is done, while the address is still ours.
///
/// # Safety
/// * As for the C library's `free`.
/// * `sp` is the stack pointer at the entry of the hook.
#[inline(always)]
pub(crate) unsafe fn free<const LIBC: bool>(call: Call, p: Pointer, sp: *const usize, bp: usize) {
    let Some(heap) = heap::<LIBC>() else { return };
    if p.is_null() {
        return;
    }
    // SAFETY: the program's call, forwarded; the block at `p` is the program's, so nobody else removes it; `sp`
    // is the stack pointer at the entry.
    unsafe {
        let registers = caller(sp, bp);
        if !hook_flags::are_clear() {
            return slow_hooks::free(heap, call, p, registers, |heap| (heap.free)(p));
        }
        if let Some(entered) = enter(&registers) {
            entered.record_free(call, p as usize);
        }
        (heap.system.free)(p);
    }
}
