//! Programs that are started without the variables by which they would be recorded (`env -i`): counted, and the
//! first of them named, in the head of the process that starts them, or of the one it was forked from.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char};
use core::sync::atomic::Ordering;

use heapscribe_wire::head::UNRECORDED_NAME_BYTES_MAX;

use crate::platform::{inherited_head, session_path};
use crate::program;

type List = *const *const c_char;

/// Whether a program that is given this environment will not be recorded, though this one is. `None` stands for the
/// environment of this one, as it is now.
///
/// # Safety
/// * An environment is null, or a list of C strings that ends with null.
pub unsafe fn is_unrecorded(environment: Option<List>) -> bool {
    let (Some(base), Some(_)) = (session_path::base(), inherited_head::head()) else { return false };
    let Some(environment) = environment.or_else(own_environment) else { return false };
    // SAFETY: an environment.
    let is_set = |name: &[u8], is_it: &dyn Fn(&[u8]) -> bool| unsafe {
        variable(environment, name).is_some_and(is_it)
    };
    !(is_set(b"HEAPSCRIBE_SESSION=", &|value| value == base.to_bytes())
        && is_set(b"LD_PRELOAD=", &|value| value.windows(LIBRARY.len()).any(|part| part == LIBRARY)))
}

/// What the name of our library begins with, wherever it is.
const LIBRARY: &[u8] = b"/libheapscribe_preload";

fn own_environment() -> Option<List> {
    let place = program::loader()?.find_anywhere(b"environ")?.cast::<List>();
    // SAFETY: libc's variable of this name.
    Some(unsafe { place.read() })
}

/// The value of the variable whose name and `=` are `name`.
///
/// # Safety
/// * The environment is null, or a list of C strings that ends with null.
unsafe fn variable<'a>(environment: List, name: &[u8]) -> Option<&'a [u8]> {
    let mut at = environment;
    // SAFETY: a list of C strings that ends with null.
    unsafe {
        while !at.is_null() && !(*at).is_null() {
            if let Some(value) = CStr::from_ptr(*at).to_bytes().strip_prefix(name) {
                return Some(value);
            }
            at = at.add(1);
        }
    }
    None
}

/// Process `pid` becomes such a program.
///
/// # Safety
/// * The name is null or a C string.
pub unsafe fn count_unrecorded(pid: u32, name: *const c_char) {
    let Some(head) = inherited_head::head() else { return };
    if head.unrecorded.fetch_add(1, Ordering::Relaxed) != 0 || name.is_null() {
        return;
    }
    head.unrecorded_pid.store(pid, Ordering::Relaxed);
    // SAFETY: a C string.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    for (place, byte) in head.unrecorded_name.iter().zip(name) {
        place.store(*byte, Ordering::Relaxed);
    }
    let len = name.len().min(UNRECORDED_NAME_BYTES_MAX);
    head.unrecorded_len.store(len as u32, Ordering::Release);
}

/// It could not.
pub fn uncount_unrecorded() {
    if let Some(head) = inherited_head::head() {
        head.unrecorded.fetch_sub(1, Ordering::Relaxed);
    }
}
