//! The recorder's private memory: pages mapped once, allocated front to back, never unmapped while the process
//! lives. It can be sealed: after that every allocation fails, which is how a test shows that the hot path
//! allocates nothing.
//!
//! A forked child starts anew with the same pages, emptied: no thread, no table and no lock of its
//! parent's, see [`Arena::restart`].
#![allow(unsafe_code)]

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Bytes asked of the source at least, at a time.
pub const REGION_BYTES: usize = 256 << 10;
/// Regions that an arena keeps count of.
pub const REGIONS_MAX: usize = 256;

/// Where pages come from: zeroed, page-aligned, `len_bytes` of them, for ever.
pub type PageSource = fn(len_bytes: usize) -> Option<NonNull<u8>>;

struct Region {
    base: AtomicUsize,
    len: AtomicUsize,
    used: AtomicUsize,
}

impl Region {
    const fn new() -> Self {
        Region { base: AtomicUsize::new(0), len: AtomicUsize::new(0), used: AtomicUsize::new(0) }
    }
}

/// A bump allocator over regions of pages. One caller at a time allocates (the recorder's lock); the
/// counters may be read by any thread.
pub struct Arena {
    source: PageSource,
    regions: [Region; REGIONS_MAX],
    total: AtomicUsize,
    sealed: AtomicBool,
}

impl core::fmt::Debug for Arena {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Arena").field("total_bytes", &self.total_bytes()).finish_non_exhaustive()
    }
}

impl Arena {
    /// An arena without memory yet.
    pub const fn new(source: PageSource) -> Self {
        Arena {
            source,
            regions: [const { Region::new() }; REGIONS_MAX],
            total: AtomicUsize::new(0),
            sealed: AtomicBool::new(false),
        }
    }

    /// Bytes asked of the source so far.
    pub fn total_bytes(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }

    /// Bytes allocated so far.
    pub fn used_bytes(&self) -> usize {
        let regions = self.regions.iter().take_while(|region| region.base.load(Ordering::Relaxed) != 0);
        regions.map(|region| region.used.load(Ordering::Relaxed)).sum()
    }

    /// From now on every allocation fails.
    pub fn seal(&self) {
        self.sealed.store(true, Ordering::Relaxed);
    }

    /// Allocates zeroed memory of `len_bytes` at a multiple of 64. `None` when sealed or out of pages.
    ///
    /// # Safety
    /// * One at a time: no two threads allocate at the same time.
    pub unsafe fn alloc(&self, len_bytes: usize) -> Option<NonNull<u8>> {
        if self.sealed.load(Ordering::Relaxed) {
            return None;
        }
        let len = len_bytes.checked_next_multiple_of(64)?;
        for (number, region) in self.regions.iter().enumerate() {
            if region.base.load(Ordering::Relaxed) == 0 {
                // Larger ones as they become more: 256 of 256 KiB would do for 1750 threads only.
                self.fill(region, len.max(REGION_BYTES << (number / 16).min(10)))?;
            }
            let used = region.used.load(Ordering::Relaxed);
            if region.len.load(Ordering::Relaxed) - used >= len {
                region.used.store(used + len, Ordering::Relaxed);
                return NonNull::new((region.base.load(Ordering::Relaxed) + used) as *mut u8);
            }
        }
        None
    }

    fn fill(&self, region: &Region, len: usize) -> Option<()> {
        let len = len.checked_next_multiple_of(4096)?;
        let base = (self.source)(len)?;
        region.base.store(base.as_ptr() as usize, Ordering::Relaxed);
        region.len.store(len, Ordering::Relaxed);
        region.used.store(0, Ordering::Relaxed);
        self.total.fetch_add(len, Ordering::Relaxed);
        Some(())
    }

    /// In a forked child: makes all pages free again, after `empty` has made them zero.
    ///
    /// # Safety
    /// * Unused: nothing refers to memory that was allocated before.
    /// * One at a time: no other thread allocates meanwhile.
    /// * Zeroes: `empty` leaves the bytes from its first argument on, as many as the second says, zero.
    pub unsafe fn restart(&self, empty: unsafe fn(NonNull<u8>, usize)) {
        for region in &self.regions {
            if let Some(base) = NonNull::new(region.base.load(Ordering::Relaxed) as *mut u8) {
                // SAFETY: unused: the whole region is the arena's again.
                unsafe { empty(base, region.len.load(Ordering::Relaxed)) };
            }
            region.used.store(0, Ordering::Relaxed);
        }
        self.sealed.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(len_bytes: usize) -> Option<NonNull<u8>> {
        let v: &'static mut [u8] = vec![0u8; len_bytes + 4096].leak();
        NonNull::new(v.as_mut_ptr().wrapping_add(4096 - v.as_ptr() as usize % 4096))
    }

    #[test]
    fn memory_is_zeroed_aligned_and_disjoint() {
        let arena = Arena::new(pages);
        let mut ends = Vec::new();
        for len in [1, 64, 65, 300_000, 7] {
            // SAFETY: one at a time: there is one thread.
            let p = unsafe { arena.alloc(len) }.unwrap().as_ptr() as usize;
            assert_eq!(p % 64, 0);
            assert!(ends.iter().all(|&(a, b)| p >= b || p + len <= a), "{ends:?} {p:#x}");
            // SAFETY: just allocated, `len` bytes.
            assert!(unsafe { core::slice::from_raw_parts(p as *const u8, len) }.iter().all(|&b| b == 0));
            ends.push((p, p + len));
        }
    }

    /// # Safety
    /// * Owned: the bytes are the caller's.
    unsafe fn zero(base: NonNull<u8>, len_bytes: usize) {
        // SAFETY: owned: the caller's bytes, `len_bytes` of them.
        unsafe { base.as_ptr().write_bytes(0, len_bytes) };
    }

    #[test]
    fn a_sealed_arena_allocates_nothing_until_it_restarts() {
        let arena = Arena::new(pages);
        // SAFETY: one at a time: there is one thread. Unused: nothing keeps the memory.
        unsafe {
            let first = arena.alloc(100).unwrap();
            arena.seal();
            assert_eq!(arena.alloc(1), None);
            first.as_ptr().write(7);
            arena.restart(zero);
            assert_eq!(arena.alloc(100).unwrap(), first);
            assert_eq!(first.as_ptr().read(), 0);
        }
    }
}
