//! What became of a `realloc`, recorded.
#![allow(unsafe_code)]

use heapscribe_recorder::unwind::Registers;
use heapscribe_recorder::{Entered, RemovedBlock};

use crate::call::{AllocRequest, Pointer};

/// Records what became of a block that was removed from the live table for `realloc`.
///
/// # Safety
/// * `new` is what the heap has just returned for this request, which nobody else has yet.
/// * `registers` are those of the hook's caller, which is still active.
#[inline(always)]
pub(crate) unsafe fn record_resized(
    entered: &Entered,
    request: AllocRequest,
    removed: RemovedBlock,
    new: Pointer,
    registers: Registers,
) {
    let AllocRequest { call, size, .. } = request;
    // SAFETY: the heap has just returned `new`; the registers are the caller's.
    unsafe {
        match (new.is_null(), size) {
            (false, _) => entered.record_realloc(call, removed, new as usize, size, registers),
            // glibc's realloc(p, 0) frees and gives NULL; musl's gives a block and is the case above.
            (true, 0) => entered.record_free_of::<false>(call, removed),
            (true, _) => entered.record_realloc_failed(call, removed, size, registers),
        }
    }
}
