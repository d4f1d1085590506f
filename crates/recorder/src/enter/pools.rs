//! Blocks that the program hands out itself, inside blocks of the heap: told like these, under calls of their
//! own, and kept in the live table by a directory of their own.
#![allow(unsafe_code)]

use heapscribe_wire::record::Call;

use super::Entered;
use crate::capture::Registers;

impl Entered {
    /// The program has handed a block out. Null is none.
    ///
    /// # Safety
    /// * `registers` are those of the caller.
    /// * The program owns the block at `address`: no other thread tells of one there meanwhile.
    pub unsafe fn pool_handed_out(&self, address: usize, size_bytes: usize, registers: Registers) {
        if address != 0 {
            // SAFETY: the caller's contract.
            unsafe { self.handed_out::<true>(Call::PoolAlloc, address, size_bytes, 0, registers) };
        }
    }

    /// The program has been given a block back. Null is none.
    ///
    /// # Safety
    /// * The program owns the block at `address`, as above.
    pub unsafe fn pool_given_back(&self, address: usize) {
        if address != 0 {
            // SAFETY: the caller's contract.
            let taken = unsafe { self.take::<true>(address) };
            self.gone::<true>(Call::PoolFree, taken);
        }
    }
}
