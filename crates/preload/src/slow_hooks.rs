//! The bodies of hooks for calls that need more than to be recorded: that are timed, that may break a rule of
//! real time, or that a heap makes of itself. Apart from the others, so that these pay one look at one byte.
#![allow(unsafe_code)]

use heapscribe_alloc::system::SystemHeap;
use heapscribe_recorder::program::Heap;
use heapscribe_recorder::unwind::Registers;
use heapscribe_recorder::{Call, TimedCall, enter, record_took, resume, settle_flags};

use crate::call::{AllocRequest, Pointer};
use crate::resized::record_resized;

/// Whether the program made this call, and not the heap itself.
#[inline(always)]
fn is_the_programs(heap: &Heap, registers: &Registers) -> bool {
    if heap.calls_itself(registers.pc) {
        return false;
    }
    settle_flags(registers);
    true
}

/// As `forward::alloc`, of a request in three parts, so that those of other calls stay in registers.
///
/// # Safety
/// * `registers` are those of the hook's caller, which is still active.
/// * `ask` forwards the program's call.
#[inline(always)]
pub(crate) unsafe fn alloc(
    heap: &Heap,
    (call, size, align): (Call, usize, usize),
    registers: &Registers,
    ask: impl FnOnce(&SystemHeap) -> Pointer,
) -> Pointer {
    let is_the_programs = is_the_programs(heap, registers);
    let (p, took) = heap.forward(ask);
    if is_the_programs {
        // SAFETY: the heap has just returned `p` for this call; the registers are the caller's.
        unsafe { record(AllocRequest { call, size, align }, p, *registers, took) };
    }
    p
}

/// The first half of `alloc`, for a call that is made in between and may throw: a number for the second, 0 when the
/// call is the heap's own.
pub(crate) fn begin(heap: &Heap, registers: &Registers) -> u64 {
    if is_the_programs(heap, registers) { heap.begin_forward() << 1 | 1 } else { 0 }
}

/// The second half.
///
/// # Safety
/// * `registers` are those of the hook's caller, which is still active.
/// * `p` is what the heap has just returned for this request, which nobody else has yet.
/// * `begun` is what the first half gave.
pub(crate) unsafe fn end(heap: &Heap, request: AllocRequest, p: Pointer, registers: Registers, begun: u64) {
    if begun != 0 {
        let took = heap.end_forward(begun >> 1);
        // SAFETY: the heap has just returned `p` for this call; the registers are the caller's.
        unsafe { record(request, p, registers, took) };
    }
}

/// # Safety
/// * `registers` are those of the hook's caller, which is still active.
/// * `p` is what the heap has just returned for this request, which nobody else has yet.
#[inline(never)]
unsafe fn record(request: AllocRequest, p: Pointer, registers: Registers, took: Option<u64>) {
    if let Some(entered) = enter(&registers) {
        let AllocRequest { call, size, align } = request;
        let timed = TimedCall { call, size_bytes: size as u64, registers, took };
        // SAFETY: the registers are the caller's; `p` was just returned for this request.
        unsafe {
            entered.record_timed(&timed, |entered| {
                entered.record_alloc::<false>(call, p as usize, size, align, registers);
                0
            });
        }
    }
}

/// As `forward::resize`, of a block that is there.
///
/// # Safety
/// * As for the C library's `realloc` of `old`, which is not null.
/// * `registers` are those of the hook's caller, which is still active.
#[inline(never)]
pub(crate) unsafe fn resize(
    heap: &Heap,
    request: AllocRequest,
    old: Pointer,
    registers: Registers,
) -> Pointer {
    let AllocRequest { call, size, .. } = request;
    // SAFETY: the program's call, forwarded; the block at `old` is the program's, so nobody else removes it;
    // the registers are the caller's.
    unsafe {
        let entered = if is_the_programs(heap, &registers) { enter(&registers) } else { None };
        let Some(removed) = entered.map(|entered| entered.remove_for_resize(old as usize)) else {
            return heap.forward(|heap| (heap.realloc)(old, size)).0;
        };
        let (new, took) = heap.forward(|heap| (heap.realloc)(old, size));
        if let Some(entered) = resume(&registers) {
            let timed = TimedCall { call, size_bytes: size as u64, registers, took };
            entered.record_timed(&timed, |entered| {
                record_resized(entered, request, removed, new, registers);
                0
            });
        }
        new
    }
}

/// As `forward::free`: its event is written before the block is freed, how long that took behind it.
///
/// # Safety
/// * As for the C library's `free` of `p`, which is not null.
/// * `registers` are those of the hook's caller, which is still active.
/// * `ask` forwards the program's call.
#[inline(never)]
pub(crate) unsafe fn free(
    heap: &Heap,
    call: Call,
    p: Pointer,
    registers: Registers,
    ask: impl FnOnce(&SystemHeap),
) {
    // SAFETY: the program's call, forwarded; the block at `p` is the program's, so nobody else removes it; the
    // registers are the caller's.
    unsafe {
        let entered = if is_the_programs(heap, &registers) { enter(&registers) } else { None };
        let timed = TimedCall { call, size_bytes: 0, registers, took: None };
        let written = entered.and_then(|entered| {
            entered.record_timed(&timed, |entered| entered.record_free(call, p as usize))
        });
        let ((), units) = heap.forward(ask);
        if let (Some(written), Some(units)) = (written, units) {
            record_took(&registers, written, units);
        }
    }
}
