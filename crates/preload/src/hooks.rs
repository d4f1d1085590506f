//! The hooks, one table: the name, its body, how many arguments it has. Bodies with `LIBC` forward to libc's heap, where
//! another's lies between, see `libc_hooks`.
#![allow(unsafe_code)]

use core::ffi::c_int;
use core::ptr;

use heapscribe_recorder::{Call, program};

use crate::call::{AllocRequest, Pointer};
use crate::forward::{self, alloc, heap, resize};
use crate::stub::{filter, gap, gate, stub};

macro_rules! hooks {
    ($($name:ident => $body:ident $(::<$libc:literal>)? / $n:tt $(, $early:expr)?;)*) => {
        $( stub!($name, $body $(::<$libc>)?, $n $(, $early)?); )*
    };
}

hooks! {
    malloc => on_malloc::<false> / 1, concat!(gate!(), "\n mov r11, rdi\n", gap!(), "\n jmp qword ptr [rip + {next}]");
    calloc => on_calloc::<false> / 2, concat!(gate!(), "\n mov rax, rdi\n mul rsi\n jo 2f\n mov r11, rax\n", gap!(),
        "\n jmp qword ptr [rip + {next} + 8]");
    realloc => on_realloc::<false> / 2, concat!(gate!(), "\n", filter!(), "\n mov r11, rsi\n", gap!(),
        "\n jmp qword ptr [rip + {next} + 16]");
    reallocarray => on_reallocarray / 3;
    free => on_free::<false> / 1, concat!(gate!(), "\n", filter!(), "\n jmp qword ptr [rip + {next} + 24]");
    cfree => on_cfree / 1;
    free_sized => on_free_sized / 2;
    free_aligned_sized => on_free_aligned_sized / 3;
    posix_memalign => on_posix_memalign::<false> / 3;
    aligned_alloc => on_aligned_alloc::<false> / 2;
    memalign => on_memalign::<false> / 2;
    valloc => on_valloc::<false> / 1;
    pvalloc => on_pvalloc::<false> / 1;
    malloc_usable_size => on_malloc_usable_size / 1;
    dlclose => on_dlclose / 1;
}

const PAGE_BYTES: usize = 4096;
pub(crate) const ENOMEM: c_int = 12;

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
}

pub(crate) fn set_errno(value: c_int) {
    // SAFETY: libc gives the address of the calling thread's errno.
    unsafe { *__errno_location() = value };
}

/// The body of `malloc`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of the C library.
/// * `sp` is the stack pointer at the entry of the hook.
pub(crate) unsafe extern "C" fn on_malloc<const LIBC: bool>(
    size: usize,
    sp: *const usize,
    bp: usize,
) -> Pointer {
    let request = AllocRequest { call: Call::Malloc, size, align: 0 };
    // SAFETY: the program's call, forwarded; `sp` is the stack pointer at the entry.
    unsafe { alloc::<LIBC>(request, sp, bp, |heap| (heap.malloc)(size)) }
}

/// The body of `calloc`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of the C library.
/// * `sp` is the stack pointer at the entry of the hook.
pub(crate) unsafe extern "C" fn on_calloc<const LIBC: bool>(
    count: usize,
    size: usize,
    sp: *const usize,
    bp: usize,
) -> Pointer {
    let request = AllocRequest { call: Call::Calloc, size: count.saturating_mul(size), align: 0 };
    // SAFETY: the program's call, forwarded; `sp` is the stack pointer at the entry.
    unsafe { alloc::<LIBC>(request, sp, bp, |heap| (heap.calloc)(count, size)) }
}

/// The body of `realloc`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of the C library.
/// * `sp` is the stack pointer at the entry of the hook.
pub(crate) unsafe extern "C" fn on_realloc<const LIBC: bool>(
    old: Pointer,
    size: usize,
    sp: *const usize,
    bp: usize,
) -> Pointer {
    // SAFETY: the program's call, forwarded; `sp` is the stack pointer at the entry.
    unsafe { resize::<LIBC>(Call::Realloc, old, size, sp, bp) }
}

/// Overflow is ENOMEM and leaves the old block alone; otherwise it is `realloc`. Done here, because
/// glibc's own calls `realloc` through the PLT and would be seen as two calls. When a module before us defines
/// `realloc` - the program has its own heap - it is called, as glibc would: no other heap knows its blocks.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of the C library.
/// * `sp` is the stack pointer at the entry of the hook.
unsafe extern "C" fn on_reallocarray(
    old: Pointer,
    count: usize,
    size: usize,
    sp: *const usize,
    bp: usize,
) -> Pointer {
    match (count.checked_mul(size), heap::<false>().and_then(|heap| heap.ahead.realloc)) {
        // SAFETY: the program's call, forwarded to the function that it calls by this name.
        (Some(total), Some(realloc)) => unsafe { realloc(old, total) },
        // SAFETY: the program's call, forwarded; `sp` is the stack pointer at the entry.
        (Some(total), None) => unsafe { resize::<false>(Call::Reallocarray, old, total, sp, bp) },
        (None, Some(_)) => overflow(old, count, size),
        (None, None) => {
            let request = AllocRequest { call: Call::Reallocarray, size: usize::MAX, align: 0 };
            // SAFETY: nothing is allocated; `sp` is the stack pointer at the entry.
            unsafe { alloc::<false>(request, sp, bp, |_| overflow(old, count, size)) }
        }
    }
}

/// What the function that the program would have called does with a size that no address space has.
fn overflow(old: Pointer, count: usize, size: usize) -> Pointer {
    type Reallocarray = unsafe extern "C" fn(Pointer, usize, usize) -> Pointer;
    let own = overflow as *const ();
    match program::loader().and_then(|loader| loader.find_after(b"reallocarray", own)) {
        // SAFETY: a function that takes the place of the C library's of this name, given the program's arguments.
        Some(next) => unsafe { core::mem::transmute::<*const (), Reallocarray>(next)(old, count, size) },
        None => {
            set_errno(ENOMEM);
            ptr::null_mut()
        }
    }
}

/// The body of `free`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of the C library.
/// * `sp` is the stack pointer at the entry of the hook.
pub(crate) unsafe extern "C" fn on_free<const LIBC: bool>(p: Pointer, sp: *const usize, bp: usize) {
    // SAFETY: the program's call, forwarded; `sp` is the stack pointer at the entry.
    unsafe { forward::free::<LIBC>(Call::Free, p, sp, bp) }
}

/// `free` under another name: that of a module before us, when the program has its own heap.
///
/// # Safety
/// * As for the C library's `free`.
/// * `sp` is the stack pointer at the entry of the hook.
unsafe fn free_as(call: Call, p: Pointer, sp: *const usize, bp: usize) {
    match heap::<false>().and_then(|heap| heap.ahead.free) {
        // SAFETY: the program's call, forwarded to the function that it calls by this name.
        Some(free) => unsafe { free(p) },
        // SAFETY: the program's call, forwarded; `sp` is the stack pointer at the entry.
        None => unsafe { forward::free::<false>(call, p, sp, bp) },
    }
}

/// The body of `cfree`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of the C library.
/// * `sp` is the stack pointer at the entry of the hook.
unsafe extern "C" fn on_cfree(p: Pointer, sp: *const usize, bp: usize) {
    // SAFETY: the program's call, forwarded; `sp` is the stack pointer at the entry.
    unsafe { free_as(Call::Cfree, p, sp, bp) }
}

/// The body of `free_sized`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of the C library.
/// * `sp` is the stack pointer at the entry of the hook.
unsafe extern "C" fn on_free_sized(p: Pointer, _size: usize, sp: *const usize, bp: usize) {
    // SAFETY: the program's call, for which C23 lets free stand; `sp` is the stack pointer at the entry.
    unsafe { free_as(Call::FreeSized, p, sp, bp) }
}

/// The body of `free_aligned_sized`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of the C library.
/// * `sp` is the stack pointer at the entry of the hook.
unsafe extern "C" fn on_free_aligned_sized(
    p: Pointer,
    _align: usize,
    _size: usize,
    sp: *const usize,
    bp: usize,
) {
    // SAFETY: the program's call, for which C23 lets free stand; `sp` is the stack pointer at the entry.
    unsafe { free_as(Call::FreeAlignedSized, p, sp, bp) }
}

/// The body of `posix_memalign`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of the C library.
/// * `sp` is the stack pointer at the entry of the hook.
pub(crate) unsafe extern "C" fn on_posix_memalign<const LIBC: bool>(
    out: *mut Pointer,
    align: usize,
    size: usize,
    sp: *const usize,
    bp: usize,
) -> c_int {
    let mut result = ENOMEM;
    let request = AllocRequest { call: Call::PosixMemalign, size, align };
    // SAFETY: the program's call, forwarded: `out` is read only when the heap has written it; `sp` is the stack
    // pointer at the entry.
    unsafe {
        alloc::<LIBC>(request, sp, bp, |heap| {
            result = (heap.posix_memalign)(out, align, size);
            if result == 0 { *out } else { ptr::null_mut() }
        });
    }
    result
}

/// The body of `aligned_alloc`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of the C library.
/// * `sp` is the stack pointer at the entry of the hook.
pub(crate) unsafe extern "C" fn on_aligned_alloc<const LIBC: bool>(
    align: usize,
    size: usize,
    sp: *const usize,
    bp: usize,
) -> Pointer {
    let request = AllocRequest { call: Call::AlignedAlloc, size, align };
    // SAFETY: the program's call, forwarded; `sp` is the stack pointer at the entry.
    unsafe { alloc::<LIBC>(request, sp, bp, |heap| (heap.aligned_alloc)(align, size)) }
}

/// The body of `memalign`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of the C library.
/// * `sp` is the stack pointer at the entry of the hook.
pub(crate) unsafe extern "C" fn on_memalign<const LIBC: bool>(
    align: usize,
    size: usize,
    sp: *const usize,
    bp: usize,
) -> Pointer {
    let request = AllocRequest { call: Call::Memalign, size, align };
    // SAFETY: the program's call, forwarded; `sp` is the stack pointer at the entry.
    unsafe { alloc::<LIBC>(request, sp, bp, |heap| (heap.memalign)(align, size)) }
}

/// The body of `valloc`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of the C library.
/// * `sp` is the stack pointer at the entry of the hook.
pub(crate) unsafe extern "C" fn on_valloc<const LIBC: bool>(
    size: usize,
    sp: *const usize,
    bp: usize,
) -> Pointer {
    let request = AllocRequest { call: Call::Valloc, size, align: PAGE_BYTES };
    // SAFETY: the program's call, forwarded; `sp` is the stack pointer at the entry.
    unsafe { alloc::<LIBC>(request, sp, bp, |heap| heap.valloc_or_memalign(size)) }
}

/// The body of `pvalloc`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of the C library.
/// * `sp` is the stack pointer at the entry of the hook.
pub(crate) unsafe extern "C" fn on_pvalloc<const LIBC: bool>(
    size: usize,
    sp: *const usize,
    bp: usize,
) -> Pointer {
    let request = AllocRequest { call: Call::Pvalloc, size, align: PAGE_BYTES };
    // SAFETY: the program's call, forwarded; `sp` is the stack pointer at the entry.
    unsafe { alloc::<LIBC>(request, sp, bp, |heap| heap.pvalloc_or_memalign(size)) }
}

/// The body of `malloc_usable_size`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of the C library.
unsafe extern "C" fn on_malloc_usable_size(p: Pointer, _sp: *const usize, _bp: usize) -> usize {
    // SAFETY: the program's call, forwarded.
    heap::<false>().map_or(0, |heap| unsafe { (heap.system.malloc_usable_size)(p) })
}

/// Not of the heap, but what makes addresses change their meaning: noted before and after.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of the C library.
unsafe extern "C" fn on_dlclose(handle: Pointer, _sp: *const usize, _bp: usize) -> c_int {
    type Dlclose = unsafe extern "C" fn(Pointer) -> c_int;
    const FAILED: c_int = -1;
    let own = on_dlclose as *const ();
    // Looked up at each call: until glibc 2.34 it is in a library that may come later than we do.
    let Some(next) = program::loader().and_then(|loader| loader.find_next(b"dlclose", own)) else {
        return FAILED;
    };
    heapscribe_recorder::begin_close();
    // SAFETY: the C library's dlclose, given the program's handle.
    let result = unsafe { core::mem::transmute::<*const (), Dlclose>(next)(handle) };
    heapscribe_recorder::end_close();
    result
}
