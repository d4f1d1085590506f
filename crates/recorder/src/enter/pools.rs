//! Blocks of the program's own pools, inside blocks of the heap: recorded like these, under calls of their own,
//! and kept in the live table by a directory of their own.
#![allow(unsafe_code)]

use heapscribe_wire::record::Call;

use super::entry_token::Entered;
use crate::unwind::Registers;

impl Entered {
    /// Records a block that the program has allocated from a pool. Null is none.
    ///
    /// # Safety
    /// * `registers` are those of the hook's caller, which is still active.
    /// * The program owns the block at `address`: no other thread records one there meanwhile.
    pub unsafe fn record_pool_alloc(&self, address: usize, size_bytes: usize, registers: Registers) {
        if address != 0 {
            // SAFETY: the registers are the caller's, which is active; the program owns the block.
            unsafe { self.record_alloc::<true>(Call::PoolAlloc, address, size_bytes, 0, registers) };
        }
    }

    /// Records a block that the program frees to a pool. Null is none.
    ///
    /// # Safety
    /// * The program owns the block at `address`: no other thread records one there meanwhile.
    pub unsafe fn record_pool_free(&self, address: usize) {
        if address != 0 {
            // SAFETY: the program owns the block.
            let removed = unsafe { self.remove::<true>(address) };
            self.record_free_of::<true>(Call::PoolFree, removed);
        }
    }
}
