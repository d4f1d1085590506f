//! The pool heap asks for more memory: while the kernel works, other threads go on in the pools that there are.
#![allow(unsafe_code)]

use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use crate::request::Request;
use crate::tlsf::pool_bytes_for;

use super::tlsf_heap::TlsfHeap;

impl TlsfHeap {
    /// Adds a pool for a request that failed when there were `seen` pools, and serves it from there before
    /// another thread gets it. Others are served meanwhile: only `growing` is held while the kernel works.
    #[cold]
    pub(super) fn grow(&self, request: Request, seen: u64) -> Option<NonNull<u8>> {
        let needed = pool_bytes_for(request)?;
        let growing = self.growing.lock().ok()?;
        if self.pools.load(Ordering::Acquire) != seen {
            let held = self.lock.lock().ok()?;
            // SAFETY: the lock is held.
            let block = unsafe { (*self.tlsf_of(&held)).alloc(request) };
            if block.is_some() {
                return block;
            }
        }
        // SAFETY: `growing` is held.
        let growth = unsafe { &mut *self.growth_of(&growing) };
        let plan = growth.plan(needed)?;
        let options = growth.config.pages;
        let area = growth.sizes(plan).find_map(|bytes| (self.source)(bytes, options))?;
        let held = self.lock.lock().ok()?;
        // SAFETY: the lock is held; an `AreaSource` gives memory that is nobody else's for ever.
        let (is_pool, block) = unsafe {
            let tlsf = &mut *self.tlsf_of(&held);
            (tlsf.add_pool(area.base, area.len_bytes), tlsf.alloc(request))
        };
        drop(held);
        if is_pool {
            growth.add_pool(plan, &area);
            self.locked_bytes.store(growth.locked_bytes, Ordering::Relaxed);
            self.pools.fetch_add(1, Ordering::Release);
        }
        block
    }
}
