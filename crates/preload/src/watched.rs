//! The bodies of hooks for calls that need more than to be told of: that are timed, that may break a rule of
//! real time, or that a heap makes of itself. Apart from the others, so that these pay one look at one byte.
#![allow(unsafe_code)]

use heapscribe_alloc::system::SystemHeap;
use heapscribe_recorder::capture::Registers;
use heapscribe_recorder::program::Heap;
use heapscribe_recorder::{Call, Watched, enter, enter_again, took, ways};

use crate::hooks::{Pointer, Wish, resized};

/// Whether the program made this call, and not the heap itself.
#[inline(always)]
fn is_the_programs(heap: &Heap, registers: &Registers) -> bool {
    if heap.calls_itself(registers.pc) {
        return false;
    }
    ways::find_out(registers);
    true
}

/// As `hand_out`.
///
/// # Safety
/// * `registers` are those of the hook's caller; `ask` forwards the program's call.
#[inline(always)]
pub(crate) unsafe fn hand_out(
    heap: &Heap,
    wish: Wish,
    registers: Registers,
    ask: impl FnOnce(&SystemHeap) -> Pointer,
) -> Pointer {
    let is_the_programs = is_the_programs(heap, &registers);
    let (p, took) = heap.forward(ask);
    if is_the_programs {
        // SAFETY: the heap has just handed the block out, for this call; the caller's registers.
        unsafe { tell(wish, p, registers, took) };
    }
    p
}

/// # Safety
/// * As for `Entered::handed_out`.
#[inline(never)]
unsafe fn tell(wish: Wish, p: Pointer, registers: Registers, took: Option<u64>) {
    if let Some(entered) = enter(&registers) {
        let watched = Watched { call: wish.call, size_bytes: wish.size as u64, registers, took };
        // SAFETY: the caller's contract.
        unsafe {
            entered.watch(&watched, |entered| {
                entered.handed_out::<false>(wish.call, p as usize, wish.size, wish.align, registers);
                0
            });
        }
    }
}

/// As `resize`, of a block that is there.
///
/// # Safety
/// * As for the C library's `realloc`; `registers` are those of the hook's caller.
#[inline(never)]
pub(crate) unsafe fn resize(
    heap: &Heap,
    call: Call,
    old: Pointer,
    size: usize,
    registers: Registers,
) -> Pointer {
    // SAFETY: the program's call, forwarded; the block at `old` is the program's to give away.
    unsafe {
        let entered = if is_the_programs(heap, &registers) { enter(&registers) } else { None };
        let Some(taken) = entered.map(|entered| entered.take_for_resize(old as usize)) else {
            return heap.forward(|heap| (heap.realloc)(old, size)).0;
        };
        let (new, took) = heap.forward(|heap| (heap.realloc)(old, size));
        if let Some(entered) = enter_again(&registers) {
            let watched = Watched { call, size_bytes: size as u64, registers, took };
            entered.watch(&watched, |entered| {
                resized(entered, call, taken, (new, size), registers);
                0
            });
        }
        new
    }
}

/// As `release`: its event is written before the block goes, how long that took behind it.
///
/// # Safety
/// * As for the C library's `free`; `registers` are those of the hook's caller.
#[inline(never)]
pub(crate) unsafe fn release(heap: &Heap, call: Call, p: Pointer, registers: Registers) {
    // SAFETY: the program's call, forwarded; the block is the program's to give away.
    unsafe {
        let entered = if is_the_programs(heap, &registers) { enter(&registers) } else { None };
        let watched = Watched { call, size_bytes: 0, registers, took: None };
        let written =
            entered.and_then(|entered| entered.watch(&watched, |entered| entered.goes(call, p as usize)));
        let ((), units) = heap.forward(|heap| (heap.free)(p));
        if let (Some(written), Some(units)) = (written, units) {
            took(&registers, written, units);
        }
    }
}
