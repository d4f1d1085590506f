//! Which library a heap is of, as far as that says whether it calls its own functions by name: hooks would take such
//! calls for the program's.

use super::lookup::Loader;

/// The library that a heap is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Maker {
    /// glibc: its functions call each other directly.
    Glibc,
    /// A heap behind `heapscribe_interpose` over glibc, which calls nothing by name. One that falls back to the
    /// program's own heap does, where that is musl's.
    Interposed,
    /// Any other: musl's `calloc` calls `malloc`.
    Other,
}

impl Loader {
    /// The library that this `malloc` belongs to; `None` when it is in no module.
    ///
    /// The modules are walked without a lock: only for when no other thread loads or unloads.
    pub fn maker(&self, malloc: usize) -> Option<Maker> {
        let malloc = self.find_text(malloc)?;
        let Some(libc) = self.find_anywhere(b"gnu_get_libc_version") else { return Some(Maker::Other) };
        if self.find_text(libc as usize).is_some_and(|libc| libc.start == malloc.start) {
            return Some(Maker::Glibc);
        }
        let mut modules = self.modules().filter(|module| module.link_map() == malloc.link_map);
        let is_interposed = modules.any(|module| module.find_symbol(b"heapscribe_heap_shell").is_some());
        Some(if is_interposed { Maker::Interposed } else { Maker::Other })
    }
}
