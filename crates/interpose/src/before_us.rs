//! Functions of modules before us: of an executable that has its own heap, or of a library that was preloaded earlier.
//! Such a heap often lacks `reallocarray` or C23's `free_sized`, which the program then calls of us. libc's
//! `reallocarray` would call the program's `realloc`, and so do we: no other heap knows its blocks, and given to
//! libc's they ended the program.
#![allow(unsafe_code)]

use core::ffi::c_void;

use heapscribe_nolibc::loader::Loader;

/// What the program calls by these names, where that is not ours.
#[derive(Clone, Copy, Debug, Default)]
pub struct BeforeUs {
    /// Its `realloc`.
    pub realloc: Option<unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void>,
    /// Its `free`.
    pub free: Option<unsafe extern "C" fn(*mut c_void)>,
}

impl BeforeUs {
    /// Those of the modules before the one around `own_address`.
    pub(crate) fn find(loader: &Loader, own_address: *const ()) -> BeforeUs {
        let find = |name: &[u8]| loader.find_before(name, own_address);
        // SAFETY: what a module defines by these names is called as the C library's functions of them.
        unsafe {
            BeforeUs {
                realloc: find(b"realloc").map(|function| core::mem::transmute(function)),
                free: find(b"free").map(|function| core::mem::transmute(function)),
            }
        }
    }
}
