//! The heaps that are compared: a function that allocates and one that frees, called the same way.
#![allow(unsafe_code)]

use std::ptr::null_mut;

use clap::ValueEnum;
use heapscribe_alloc::locked::{Config, PageOptions, TlsfHeap};
use heapscribe_alloc::{Heap, Request};

/// A heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ComparedHeap {
    /// glibc's, as it is
    Glibc,
    /// Ours
    Tlsf,
    /// Ours with a cache for each thread
    TlsfCached,
    /// rlsf behind the same lock, told the alignment of what it frees; 32 lists a size class as mattconte/tlsf
    Rlsf,
    Mimalloc,
    Jemalloc,
}

/// Its functions.
#[derive(Clone, Copy)]
pub(crate) struct Calls {
    pub(crate) alloc: fn(usize) -> *mut u8,
    pub(crate) free: fn(*mut u8),
}

/// Of `tlsf-cached`, for each thread.
const CACHE_BYTES: usize = 64 << 10;

static TLSF: TlsfHeap = TlsfHeap::new(Config::DEFAULT);

impl ComparedHeap {
    /// All that were built in.
    pub(crate) fn all() -> Vec<ComparedHeap> {
        let peers = [ComparedHeap::Rlsf, ComparedHeap::Mimalloc, ComparedHeap::Jemalloc];
        let ours = [ComparedHeap::Glibc, ComparedHeap::Tlsf, ComparedHeap::TlsfCached];
        ours.into_iter().chain(peers.into_iter().filter(|_| cfg!(feature = "peers"))).collect()
    }

    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Makes it ready: heaps of pools get one of `pool_bytes`, prefaulted or not.
    pub(crate) fn prepare(self, pool_bytes: usize, prefault: bool) -> Option<Calls> {
        let pages = PageOptions { prefault, lock: false, huge_pages: false };
        match self {
            ComparedHeap::Glibc => Some(Calls { alloc: glibc::alloc, free: glibc::free }),
            ComparedHeap::Tlsf | ComparedHeap::TlsfCached => {
                let cache_bytes = if self == ComparedHeap::TlsfCached { CACHE_BYTES } else { 0 };
                TLSF.configure(Config { pool_bytes, grow_bytes: 0, cache_bytes, pages, ..Config::DEFAULT });
                TLSF.start().then_some(Calls { alloc: tlsf_alloc, free: tlsf_free })
            }
            #[cfg(feature = "peers")]
            ComparedHeap::Rlsf => peers::rlsf(pool_bytes, pages),
            #[cfg(feature = "peers")]
            ComparedHeap::Mimalloc => Some(Calls { alloc: peers::mi_alloc, free: peers::mi_free }),
            #[cfg(feature = "peers")]
            ComparedHeap::Jemalloc => Some(Calls { alloc: peers::je_alloc, free: peers::je_free }),
            #[cfg(not(feature = "peers"))]
            _ => None,
        }
    }
}

fn tlsf_alloc(size: usize) -> *mut u8 {
    let block = Request::bytes(size).and_then(|request| TLSF.alloc(request));
    block.map_or(null_mut(), |block| block.as_ptr())
}

fn tlsf_free(block: *mut u8) {
    if let Some(block) = std::ptr::NonNull::new(block) {
        // SAFETY: used: the workload frees what it allocated, once.
        unsafe { TLSF.free(block) };
    }
}

mod glibc {
    unsafe extern "C" {
        #[link_name = "malloc"]
        fn c_malloc(size: usize) -> *mut u8;
        #[link_name = "free"]
        fn c_free(block: *mut u8);
    }

    pub(super) fn alloc(size: usize) -> *mut u8 {
        // SAFETY: any size will do.
        unsafe { c_malloc(size) }
    }

    pub(super) fn free(block: *mut u8) {
        // SAFETY: used: the workload frees what it allocated, once.
        unsafe { c_free(block) };
    }
}

#[cfg(feature = "peers")]
mod peers {
    use std::alloc::Layout;
    use std::cell::UnsafeCell;
    use std::ptr::{NonNull, null_mut};

    use heapscribe_alloc::locked::{PageOptions, PiMutex, from_kernel};

    use super::Calls;

    struct Locked(PiMutex, UnsafeCell<rlsf::Tlsf<'static, u32, u32, 28, 32>>);
    // SAFETY: used while the lock is held only.
    unsafe impl Sync for Locked {}
    static RLSF: Locked = Locked(PiMutex::new(), UnsafeCell::new(rlsf::Tlsf::new()));

    pub(super) fn rlsf(pool_bytes: usize, pages: PageOptions) -> Option<Calls> {
        let area = from_kernel(pool_bytes, pages)?;
        let pool = NonNull::slice_from_raw_parts(area.base, area.len_bytes);
        let _held = RLSF.0.lock().ok()?;
        // SAFETY: the lock is held; an area is nobody else's.
        unsafe { (*RLSF.1.get()).insert_free_block_ptr(pool) }?;
        Some(Calls { alloc: rlsf_alloc, free: rlsf_free })
    }

    fn rlsf_alloc(size: usize) -> *mut u8 {
        let (Ok(layout), Ok(_held)) = (Layout::from_size_align(size, 16), RLSF.0.lock()) else {
            return null_mut();
        };
        // SAFETY: the lock is held.
        unsafe { (*RLSF.1.get()).allocate(layout) }.map_or(null_mut(), |block| block.as_ptr())
    }

    fn rlsf_free(block: *mut u8) {
        if let (Some(block), Ok(_held)) = (NonNull::new(block), RLSF.0.lock()) {
            // SAFETY: the lock is held; allocated with this alignment.
            unsafe { (*RLSF.1.get()).deallocate(block, 16) };
        }
    }

    pub(super) fn mi_alloc(size: usize) -> *mut u8 {
        // SAFETY: any size will do.
        unsafe { libmimalloc_sys::mi_malloc(size).cast() }
    }

    pub(super) fn mi_free(block: *mut u8) {
        // SAFETY: used: the workload frees what it allocated, once.
        unsafe { libmimalloc_sys::mi_free(block.cast()) };
    }

    pub(super) fn je_alloc(size: usize) -> *mut u8 {
        // SAFETY: any size will do.
        unsafe { tikv_jemalloc_sys::malloc(size).cast() }
    }

    pub(super) fn je_free(block: *mut u8) {
        // SAFETY: used: the workload frees what it allocated, once.
        unsafe { tikv_jemalloc_sys::free(block.cast()) };
    }
}
