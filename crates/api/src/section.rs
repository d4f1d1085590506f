//! Sections: from here to where the guard is dropped.

use core::ffi::CStr;
use core::marker::PhantomData;

use crate::find;

/// A section of the calling thread; it ends when this is dropped. It stays on its thread.
#[derive(Debug)]
#[must_use = "the section ends when this is dropped"]
pub struct Section<'a> {
    name: &'a CStr,
    stays_on_thread: PhantomData<*const ()>,
}

/// Begins a section of the calling thread. Sections nest, up to 16 deep; the report shows how often, how
/// long, and what was allocated inside.
///
/// ```
/// let parsed = {
///     let _section = heapscribe_api::section(c"parse");
///     "1 2 3".split(' ').map(|n| n.parse().unwrap()).collect::<Vec<u32>>()
/// };
/// assert_eq!(parsed, [1, 2, 3]);
/// ```
///
/// A section cannot be moved to another thread, where it would end:
///
/// ```compile_fail
/// let section = heapscribe_api::section(c"parse");
/// std::thread::spawn(move || drop(section));
/// ```
#[inline(always)]
pub fn section(name: &CStr) -> Section<'_> {
    find::section_begin(name);
    Section { name, stays_on_thread: PhantomData }
}

impl Drop for Section<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        find::section_end(self.name);
    }
}
