//! The unwinding rules found so far in this process, for all its threads, kept over a fork.
#![allow(unsafe_code)]

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use super::pc_cache::{ENTRIES, PcCache};
use crate::platform::memory;

static PC_CACHE: AtomicPtr<[AtomicU64; ENTRIES]> = AtomicPtr::new(ptr::null_mut());

/// The process's cache of rules, made when there is none. `None` when there is no memory.
#[inline(always)]
pub(crate) fn pc_cache() -> Option<PcCache> {
    match existing() {
        Some(cache) => Some(cache),
        None => make(),
    }
}

/// The same when there is one already.
#[inline(always)]
pub(crate) fn existing() -> Option<PcCache> {
    // SAFETY: a published cache stays for the life of the process.
    unsafe { PC_CACHE.load(Ordering::Acquire).as_ref() }.map(PcCache::new)
}

#[cold]
fn make() -> Option<PcCache> {
    let place = memory::pages(size_of::<[AtomicU64; ENTRIES]>())?.cast();
    // When another thread was faster its cache is used, and this one stays unused, untouched pages.
    let _ = PC_CACHE.compare_exchange(ptr::null_mut(), place.as_ptr(), Ordering::AcqRel, Ordering::Acquire);
    existing()
}
