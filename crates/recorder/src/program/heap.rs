//! The heap that would be the program's without us.
#![allow(unsafe_code)]

use core::ffi::CStr;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};

use heapscribe_alloc::system::SystemHeap;
use heapscribe_nolibc::loader::Maker;
use heapscribe_nolibc::once::Once;
use heapscribe_wire::live::{GRANULE_SHIFT_GLIBC, GRANULE_SHIFT_OTHER};

use super::loader::loader;
use crate::state::{hook_flags, words};

/// The heap that would be the program's without us, and what kind it is.
#[derive(Debug)]
pub struct Heap {
    /// Its functions.
    pub system: SystemHeap,
    /// It is glibc's own, whose blocks start at least 32 bytes apart.
    pub is_glibc: bool,
    /// Its functions may call each other through the hooks: musl's calloc calls malloc.
    pub may_nest: bool,
    /// Whoever calls while it is at work, calls for it: a heap of somebody else's, with the libraries that it
    /// uses. Of others only their own module does.
    nests_anywhere: bool,
    /// The module that its malloc is in, and our own: musl's memalign jumps to aligned_alloc, which then
    /// returns to us.
    text: [Range<usize>; 2],
}

impl Heap {
    /// Calls the heap, and measures how long that took if it is wanted. While the call lasts, calls from the
    /// heap's own module are its own.
    #[inline(always)]
    pub fn forward<T>(&self, call: impl FnOnce(&SystemHeap) -> T) -> (T, Option<u64>) {
        let call = || call(&self.system);
        if !self.may_nest {
            return hook_flags::timed(call);
        }
        let words = words::words();
        let before = words.forwards.replace(true);
        let result = hook_flags::timed(call);
        words.forwards.set(before);
        result
    }

    /// Whether a hook was called by the heap itself, serving another hook's call, and not by the program.
    #[inline(always)]
    pub fn calls_itself(&self, caller_pc: usize) -> bool {
        let is_its = || self.nests_anywhere || self.text.iter().any(|text| text.contains(&caller_pc));
        self.may_nest && words::words().forwards.get() && is_its()
    }
}

/// The program records its blocks itself, see `global`.
static IS_OWN: AtomicBool = AtomicBool::new(false);

/// Notes that the program records its blocks itself, whichever heap they are of.
pub(crate) fn set_own_heap() {
    IS_OWN.store(true, Ordering::Relaxed);
}

/// How far apart blocks start, as a power of two; `None` when there is no heap.
pub(crate) fn granule_shift() -> Option<u32> {
    let is_glibc = !IS_OWN.load(Ordering::Relaxed) && heap()?.is_glibc;
    Some(if is_glibc { GRANULE_SHIFT_GLIBC } else { GRANULE_SHIFT_OTHER })
}

static HEAP: Once<Heap> = Once::new();

/// The program's heap. `None` only when a libc lacks a function that every libc has.
#[inline(always)]
pub fn heap() -> Option<&'static Heap> {
    match HEAP.get() {
        Some(heap) => Some(heap),
        None => find_heap(),
    }
}

#[cold]
fn find_heap() -> Option<&'static Heap> {
    let loader = loader()?;
    let own = find_heap as *const ();
    // SAFETY: the symbols of these names are the C library's functions, or those of a heap that took
    // their place and so has their types.
    let system = unsafe { SystemHeap::find(|name: &CStr| loader.find_next(name.to_bytes(), own)) }?;
    let maker = loader.maker(system.malloc as usize)?;
    let malloc = loader.find_text(system.malloc as usize)?;
    let ours = loader.find_text(own as usize)?;
    let text = [malloc.start..malloc.end, ours.start..ours.end];
    // A heap behind an interposed library calls nothing by name, but what it was given: another library's functions.
    let mut modules = loader.modules().filter(|module| module.link_map() == malloc.link_map);
    let nests_anywhere = modules.any(|module| module.find_symbol(b"heapscribe_heap_nests").is_some());
    let may_nest = maker == Maker::Other || nests_anywhere;
    if may_nest {
        hook_flags::set_nesting();
    }
    HEAP.set(Heap { system, is_glibc: maker == Maker::Glibc, may_nest, nests_anywhere, text });
    HEAP.get()
}
