//! glibc's heap, by names that nobody interposes, for a process whose loader is not found: nothing that we do not
//! understand may make `malloc` fail. What such a process does is not recorded.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_int, c_void};
use core::ptr;

use heapscribe_alloc::system::SystemHeap;

type Pointer = *mut c_void;

/// The address of a function that not every libc has; null where it is missing.
macro_rules! weak {
    ($name:literal) => {{
        let address: *const ();
        // SAFETY: reads an address that the loader has put there.
        unsafe {
            core::arch::asm!(concat!(".weak ", $name), concat!("mov {0}, qword ptr [rip + ", $name, "@GOTPCREL]"),
                out(reg) address, options(pure, nomem, nostack));
        }
        address
    }};
}

/// The heap. `None` on another libc.
pub(super) fn plain() -> Option<SystemHeap> {
    let find = |name: &CStr| {
        let address = match name.to_bytes() {
            b"malloc" => weak!("__libc_malloc"),
            b"free" => weak!("__libc_free"),
            b"calloc" => weak!("__libc_calloc"),
            b"realloc" => weak!("__libc_realloc"),
            b"memalign" | b"aligned_alloc" => weak!("__libc_memalign"),
            b"posix_memalign" => posix_memalign as *const (),
            b"malloc_usable_size" => usable_size as *const (),
            _ => ptr::null(),
        };
        (!address.is_null()).then_some(address)
    };
    // SAFETY: each is glibc's function of that name, or does the same.
    unsafe { SystemHeap::find(find) }
}

/// # Safety
/// * As for the C library's function.
unsafe extern "C" fn posix_memalign(out: *mut Pointer, align: usize, size: usize) -> c_int {
    const EINVAL: c_int = 22;
    const ENOMEM: c_int = 12;
    type Memalign = unsafe extern "C" fn(usize, usize) -> Pointer;
    let memalign = weak!("__libc_memalign");
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<Pointer>()) || memalign.is_null() {
        return EINVAL;
    }
    // SAFETY: glibc's function of this type; `out` is the caller's.
    unsafe {
        let p = core::mem::transmute::<*const (), Memalign>(memalign)(align, size);
        if p.is_null() {
            return ENOMEM;
        }
        out.write(p);
    }
    0
}

/// glibc exports its function under no other name: the word before a block has the size of its chunk, with flags in
/// the last three bits, since glibc 2.0.
///
/// # Safety
/// * As for the C library's `malloc_usable_size`.
unsafe extern "C" fn usable_size(p: Pointer) -> usize {
    const MAPPED: usize = 2;
    const WORD: usize = size_of::<usize>();
    if p.is_null() {
        return 0;
    }
    // SAFETY: a block of glibc's, which has this word before it.
    let word = unsafe { p.cast::<usize>().wrapping_sub(1).read() };
    // A chunk of its own mapping has no chunk behind it, whose first word it could use.
    let overhead = if word & MAPPED != 0 { 2 * WORD } else { WORD };
    (word & !7).saturating_sub(overhead)
}

#[cfg(all(test, target_env = "gnu"))]
mod tests {
    use super::*;

    unsafe extern "C" {
        fn malloc_usable_size(p: Pointer) -> usize;
    }

    #[test]
    fn it_is_glibcs_heap() {
        let heap = plain().expect("glibc has these names");
        // SAFETY: each block is used and freed as the heap says.
        unsafe {
            for size in [0, 1, 24, 25, 1000, 100_000, 1 << 20, 100 << 20] {
                let p = (heap.malloc)(size);
                assert_eq!((heap.malloc_usable_size)(p), malloc_usable_size(p), "{size} bytes");
                let p = (heap.realloc)(p, size + 100);
                assert!((heap.malloc_usable_size)(p) >= size + 100);
                (heap.free)(p);
            }
            let mut p = ptr::null_mut();
            for (align, result) in [(8, 0), (4096, 0), (4, 22), (24, 22), (0, 22)] {
                assert_eq!((heap.posix_memalign)(&raw mut p, align, 10), result, "aligned to {align}");
                if result == 0 {
                    assert!((p as usize).is_multiple_of(align));
                    (heap.free)(p);
                }
            }
            assert_eq!((heap.malloc_usable_size)(ptr::null_mut()), 0);
        }
    }
}
