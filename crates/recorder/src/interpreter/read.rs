//! How memory of the interpreter is read: directly where it cannot go away, else through the kernel.
#![allow(unsafe_code)]

use heapscribe_nolibc::sys;

/// Where objects may be.
const ADDRESSES: core::ops::Range<usize> = 4096..1 << 56;

/// A way to read the program's memory.
pub(crate) trait Read: Copy {
    /// The word at an address; `None` when there is none.
    fn word(self, address: usize) -> Option<usize>;

    /// Fills `to` with the bytes from `address` on. False when they are not all there.
    fn bytes(self, address: usize, to: &mut [u8]) -> bool;

    /// The lower half of the word at an address.
    fn half(self, address: usize) -> Option<u32> {
        let mut bytes = [0; 4];
        self.bytes(address, &mut bytes).then_some(u32::from_le_bytes(bytes))
    }
}

/// By loads, for objects that are known to be there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direct(());

impl Direct {
    /// # Safety
    /// * Alive: what is read by this is an object of the interpreter, reached from the calling thread's state, while
    ///   nobody can free it: the thread holds the interpreter's lock.
    pub(crate) const unsafe fn new() -> Direct {
        Direct(())
    }
}

impl Read for Direct {
    #[inline(always)]
    fn word(self, address: usize) -> Option<usize> {
        // Frames and objects are aligned, and in the lower half of the address space.
        let is_possible = ADDRESSES.contains(&address) && address.is_multiple_of(8);
        // SAFETY: alive, by `new`.
        is_possible.then(|| unsafe { (address as *const usize).read_volatile() })
    }

    fn bytes(self, address: usize, to: &mut [u8]) -> bool {
        let is_possible = ADDRESSES.contains(&address);
        if is_possible {
            // SAFETY: alive, by `new`; `to` is the caller's own.
            unsafe { core::ptr::copy_nonoverlapping(address as *const u8, to.as_mut_ptr(), to.len()) };
        }
        is_possible
    }
}

/// By system calls, which fail where there is no memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel {
    /// This process.
    pub pid: u32,
}

impl Kernel {
    /// Whether a word may be written.
    pub(crate) fn is_writable(self, address: usize) -> bool {
        sys::is_writable(self.pid, address)
    }
}

impl Read for Kernel {
    fn word(self, address: usize) -> Option<usize> {
        let mut bytes = [0; 8];
        self.bytes(address, &mut bytes).then_some(usize::from_ne_bytes(bytes))
    }

    fn bytes(self, address: usize, to: &mut [u8]) -> bool {
        sys::read_own(self.pid, address, to).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_read_the_same_and_the_kernel_refuses_what_is_not_there() {
        let words = [7usize, 1 << 40];
        let address = words.as_ptr() as usize;
        let kernel = Kernel { pid: std::process::id() };
        // SAFETY: the words are ours.
        let direct = unsafe { Direct::new() };
        for (at, word) in words.into_iter().enumerate() {
            assert_eq!(direct.word(address + 8 * at), Some(word));
            assert_eq!(kernel.word(address + 8 * at), Some(word));
        }
        assert_eq!((direct.word(8), direct.word(address + 1)), (None, None));
        assert_eq!((kernel.word(8), kernel.half(address)), (None, Some(7)));
    }
}
