//! What gcc's unwinder sees of the same stack.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn _Unwind_Backtrace(
        visit: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIPInfo(context: *mut c_void, is_exact: *mut c_int) -> usize;
}

/// An address, and whether a signal interrupted it.
pub(crate) type Seen = (usize, bool);

extern "C" fn visit(context: *mut c_void, argument: *mut c_void) -> c_int {
    let mut is_exact = 0;
    // SAFETY: gcc's unwinder calls with its context and our argument.
    unsafe {
        let pc = _Unwind_GetIPInfo(context, &mut is_exact);
        (*argument.cast::<Vec<Seen>>()).push((pc, is_exact != 0));
    }
    0
}

/// What gcc's unwinder sees from `pc` outward.
pub(crate) fn reference(pc: usize) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::new();
    // SAFETY: `visit` takes this argument.
    unsafe { _Unwind_Backtrace(visit, (&raw mut seen).cast()) };
    seen.retain(|&(pc, _)| pc != 0);
    let first = seen.iter().position(|&(seen, _)| seen == pc).expect("the caller is in the reference");
    seen.split_off(first)
}
