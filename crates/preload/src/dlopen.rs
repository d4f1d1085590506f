//! `dlopen` with RTLD_DEEPBIND: what it opens would call libc's functions in place of ours. Its blocks that others
//! free, and those of others that it frees, would be leaks that are none.
#![allow(unsafe_code)]

use core::ffi::{c_char, c_int};

use heapscribe_nolibc::deep_open::{self, Dlopen};
use heapscribe_nolibc::loader::Function;
use heapscribe_recorder::program;

use crate::call::Pointer;
use crate::{hooks, libc_hooks};

/// Functions that are hooked for what lies behind us.
const HOOKS: usize = 14;

heapscribe_nolibc::export_dlopen!(target);

/// # Safety
/// * The arguments are those of a call that the program may make of `dlopen`, which returns to `caller`.
unsafe extern "C" fn target(file: *const c_char, flags: c_int, caller: usize) -> Dlopen {
    // SAFETY: the program's arguments.
    unsafe {
        deep_open::target(
            program::loader(),
            (file, flags, caller),
            target as *const (),
            open_with_deep_binding,
        )
    }
}

/// # Safety
/// * The arguments are those of a call that the program may make of `dlopen`.
unsafe extern "C" fn open_with_deep_binding(file: *const c_char, flags: c_int) -> Pointer {
    let own = target as *const ();
    let next = |name| program::loader().and_then(|loader| loader.find_next(name, own));
    let hooks: [(&[u8], *const ()); HOOKS] = [
        (b"malloc", hooks::malloc as *const ()),
        (b"calloc", hooks::calloc as *const ()),
        (b"realloc", hooks::realloc as *const ()),
        (b"reallocarray", hooks::reallocarray as *const ()),
        (b"free", hooks::free as *const ()),
        (b"cfree", hooks::cfree as *const ()),
        (b"posix_memalign", hooks::posix_memalign as *const ()),
        (b"aligned_alloc", hooks::aligned_alloc as *const ()),
        (b"memalign", hooks::memalign as *const ()),
        (b"valloc", hooks::valloc as *const ()),
        (b"pvalloc", hooks::pvalloc as *const ()),
        (b"malloc_usable_size", hooks::malloc_usable_size as *const ()),
        (b"dlopen", dlopen as *const ()),
        (b"dlclose", hooks::dlclose as *const ()),
    ];
    let function = |(name, own)| Function { name, own, next: next(name).unwrap_or(own), is_first: true };
    let mut functions = [function(hooks[0]); HOOKS + libc_hooks::NUMBER];
    functions[..HOOKS].copy_from_slice(&hooks.map(function));
    functions[HOOKS..].copy_from_slice(&libc_hooks::functions());
    // SAFETY: the program's call; each hook forwards to what it hides.
    unsafe { deep_open::open(program::loader(), (file, flags), own, &functions) }
}
