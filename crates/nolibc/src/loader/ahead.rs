//! Functions of modules before ours: of an executable that has its own heap, or of a library that was preloaded earlier.
//! Such a heap often lacks `reallocarray` or C23's `free_sized`, which the program then calls of us. libc's
//! `reallocarray` would call the program's `realloc`, and so do we: no other heap knows its blocks, and given to
//! libc's they ended the program.
#![allow(unsafe_code)]

use core::ffi::c_void;

use super::lookup::Loader;

type Realloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);

/// What the program calls by these names, where that is not ours.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ahead {
    /// `realloc`.
    pub realloc: Option<Realloc>,
    /// `free`.
    pub free: Option<Free>,
}

impl Ahead {
    /// Those of the modules before the one around `own_address`.
    pub fn find(loader: &Loader, own_address: *const ()) -> Ahead {
        let find = |name| loader.find_before(name, own_address);
        // SAFETY: a function that takes the place of the C library's of this name has its type.
        unsafe {
            Ahead {
                realloc: find(b"realloc").map(|f| core::mem::transmute::<*const (), Realloc>(f)),
                free: find(b"free").map(|f| core::mem::transmute::<*const (), Free>(f)),
            }
        }
    }
}
