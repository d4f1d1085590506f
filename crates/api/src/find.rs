//! The functions of the library that `heapscribe record` preloads, found without a look-up: each is a
//! weak symbol whose address the loader writes into the program's own table, null where there is none.
//! Reading it is one instruction; no library has to be linked, and a static program has only nulls.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char, c_int, c_void};

use crate::counts::Counts;

/// The address that the table has for a symbol.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
macro_rules! address {
    ($name:literal) => {{
        let address: *const c_void;
        // SAFETY: a load from the program's own table of addresses, which the linker makes an entry in for it.
        unsafe {
            core::arch::asm!(concat!(".weak ", $name), concat!("mov {}, qword ptr [rip + ", $name, "@GOTPCREL]"),
                out(reg) address, options(pure, nomem, nostack, preserves_flags));
        }
        address
    }};
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
macro_rules! address {
    ($name:literal) => {
        core::ptr::null::<c_void>()
    };
}

/// Calls a function if there is one.
macro_rules! call {
    ($name:literal as $kind:ty, $($argument:expr),*) => {{
        let address = address!($name);
        // SAFETY: the library's function of this name has this type, and null is its `None`. Names are C strings,
        // places for counts are valid for writes, and addresses of blocks are not followed.
        unsafe { core::mem::transmute::<*const c_void, Option<$kind>>(address).map(|f| f($($argument),*)) }
    }};
}

type Named = unsafe extern "C" fn(*const c_char);
type PoolAlloc = unsafe extern "C" fn(*const c_void, usize);
type PoolFree = unsafe extern "C" fn(*const c_void);
type PoolRealloc = unsafe extern "C" fn(*const c_void, *const c_void, usize);
type Stats = unsafe extern "C" fn(*mut Counts, *mut Counts) -> c_int;

#[inline(always)]
pub(crate) fn mark(name: &CStr) {
    let _ = call!("heapscribe_api_mark" as Named, name.as_ptr());
}

#[inline(always)]
pub(crate) fn snapshot(name: &CStr) {
    let _ = call!("heapscribe_api_snapshot" as Named, name.as_ptr());
}

#[inline(always)]
pub(crate) fn section_begin(name: &CStr) {
    let _ = call!("heapscribe_api_section_begin" as Named, name.as_ptr());
}

#[inline(always)]
pub(crate) fn section_end(name: &CStr) {
    let _ = call!("heapscribe_api_section_end" as Named, name.as_ptr());
}

#[inline(always)]
pub(crate) fn pool_alloc(p: *const c_void, size_bytes: usize) {
    let _ = call!("heapscribe_api_pool_alloc" as PoolAlloc, p, size_bytes);
}

#[inline(always)]
pub(crate) fn pool_free(p: *const c_void) {
    let _ = call!("heapscribe_api_pool_free" as PoolFree, p);
}

#[inline(always)]
pub(crate) fn pool_realloc(old: *const c_void, p: *const c_void, size_bytes: usize) {
    let _ = call!("heapscribe_api_pool_realloc" as PoolRealloc, old, p, size_bytes);
}

/// The mode's number; `None` without the library.
#[inline(always)]
pub(crate) fn stats(process: &mut Counts, thread: &mut Counts) -> Option<c_int> {
    call!("heapscribe_api_stats" as Stats, process, thread)
}
