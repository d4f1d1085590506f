//! Hooks of libc's own heap where another heap lies between it and us: a library opened with RTLD_DEEPBIND calls libc's
//! functions past both. They forward to what it would have called, since neither heap knows the blocks of the other.
//! `reallocarray` is not among them: libc's calls `realloc` by name, which passes us.
#![allow(unsafe_code)]

use heapscribe_nolibc::loader::Function;
use heapscribe_recorder::program;

use crate::hooks::{
    on_aligned_alloc, on_calloc, on_free, on_malloc, on_memalign, on_posix_memalign, on_pvalloc, on_realloc,
    on_valloc,
};
use crate::stub::stub;

/// How many there are.
pub(crate) const NUMBER: usize = 9;

macro_rules! hooks {
    ($($name:ident => $body:ident / $n:tt of $function:literal;)*) => {
        $( stub!(private $name, $body::<true>, $n); )*

        /// The hooks, each with what it hides: nothing where the heap behind us is libc's.
        pub(crate) fn functions() -> [Function; NUMBER] {
            let is_there = program::find_libc_heap().is_some();
            let function = |name: &'static [u8], own: *const ()| {
                let next = if is_there { program::libc_function(name) } else { None };
                Function { name, own, next: next.unwrap_or(own), is_first: false }
            };
            [$( function($function, $name as *const ()) ),*]
        }
    };
}

hooks! {
    libc_malloc => on_malloc / 1 of b"malloc";
    libc_calloc => on_calloc / 2 of b"calloc";
    libc_realloc => on_realloc / 2 of b"realloc";
    libc_free => on_free / 1 of b"free";
    libc_posix_memalign => on_posix_memalign / 3 of b"posix_memalign";
    libc_aligned_alloc => on_aligned_alloc / 2 of b"aligned_alloc";
    libc_memalign => on_memalign / 2 of b"memalign";
    libc_valloc => on_valloc / 1 of b"valloc";
    libc_pvalloc => on_pvalloc / 1 of b"pvalloc";
}
