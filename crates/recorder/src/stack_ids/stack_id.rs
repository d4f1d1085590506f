//! The number of a stack: of the native one, or with what an interpreter runs in it.
#![allow(unsafe_code)]

use heapscribe_wire::ids::StackId;

use super::capture::Caller;
use super::fast::native_number;
use super::interpreted;
use crate::interpreter::possible;
use crate::modules;
use crate::state::{Session, Thread};
use crate::unwind::Registers;

/// The number of the calling thread's stack.
///
/// # Safety
/// * `registers` are those of the hook's caller, which is still active.
#[inline(always)]
pub(crate) unsafe fn stack_id(registers: Registers, thread: &Thread, session: &Session) -> StackId {
    let caller = Caller { registers, thread, session, epoch: modules::epoch() };
    // SAFETY: the registers are the caller's, which is active.
    unsafe {
        if possible::is_any() && session.reads_interpreters {
            let apart = caller;
            interpreted::stack_id(&apart)
        } else {
            native_number(&caller)
        }
    }
}
