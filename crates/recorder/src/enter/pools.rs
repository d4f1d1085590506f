//! Blocks that the program hands out itself, inside blocks of the heap: told like these, under calls of their
//! own, and kept in the live table by a directory of their own.
#![allow(unsafe_code)]

use heapscribe_wire::record::Call;

use super::entered::Entered;
use crate::capture::Registers;

impl Entered {
    /// The program has handed a block out. Null is none.
    ///
    /// # Safety
    /// * `registers` are those of the caller.
    /// * The program owns the block at `address`: no other thread tells of one there meanwhile.
    pub unsafe fn record_pool_alloc(&self, address: usize, size_bytes: usize, registers: Registers) {
        if address != 0 {
            // SAFETY: the caller's contract.
            unsafe { self.record_alloc::<true>(Call::PoolAlloc, address, size_bytes, 0, registers) };
        }
    }

    /// The program has been given a block back. Null is none.
    ///
    /// # Safety
    /// * The program owns the block at `address`, as above.
    pub unsafe fn record_pool_free(&self, address: usize) {
        if address != 0 {
            // SAFETY: the caller's contract.
            let removed = unsafe { self.remove::<true>(address) };
            self.record_free_of::<true>(Call::PoolFree, removed);
        }
    }
}
