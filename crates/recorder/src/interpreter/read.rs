//! How memory of the interpreter is read: directly where it cannot go away, else through the kernel, word by word or page
//! by page ([`pages`](super::pages)).
#![allow(unsafe_code)]

use heapscribe_nolibc::sys;

/// Where objects may be.
pub(super) const ADDRESSES: core::ops::Range<usize> = 4096..1 << 56;

/// How far words that are read together may be from each other.
const SPAN_BYTES: usize = 192;

/// A way to read the program's memory.
pub(crate) trait Read: Copy {
    /// The word at an address; `None` when there is none.
    fn word(self, address: usize) -> Option<usize>;

    /// The word at an address in an object that a word was read of, now or before.
    fn known_word(self, address: usize) -> Option<usize>;

    /// The byte at such an address.
    fn known_byte(self, address: usize) -> Option<u8>;

    /// Fills `to` with the bytes from `address` on. False when they are not all there.
    fn bytes(self, address: usize, to: &mut [u8]) -> bool;

    /// The words at these offsets from an address.
    #[inline(always)]
    fn words<const WORDS: usize>(self, address: usize, offsets: [usize; WORDS]) -> Option<[usize; WORDS]> {
        let mut words = [0; WORDS];
        for (word, offset) in words.iter_mut().zip(offsets) {
            *word = self.word(address.wrapping_add(offset))?;
        }
        Some(words)
    }

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

    #[inline(always)]
    fn known_word(self, address: usize) -> Option<usize> {
        // SAFETY: alive, by `new`: what leads to it was just read, and it was an aligned address in the program's half.
        Some(unsafe { (address as *const usize).read_volatile() })
    }

    #[inline(always)]
    fn known_byte(self, address: usize) -> Option<u8> {
        // SAFETY: alive, by `new`, as above.
        Some(unsafe { (address as *const u8).read_volatile() })
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

    fn known_word(self, address: usize) -> Option<usize> {
        self.word(address)
    }

    fn known_byte(self, address: usize) -> Option<u8> {
        let mut byte = [0];
        self.bytes(address, &mut byte).then_some(byte[0])
    }

    fn bytes(self, address: usize, to: &mut [u8]) -> bool {
        sys::read_own(self.pid, address, to).is_ok()
    }

    /// By one call, where they are not far from each other.
    fn words<const WORDS: usize>(self, address: usize, offsets: [usize; WORDS]) -> Option<[usize; WORDS]> {
        let mut bytes = [0; SPAN_BYTES];
        let start = offsets.into_iter().min()?;
        let part = bytes.get_mut(..offsets.into_iter().max()?.wrapping_sub(start).wrapping_add(8))?;
        if !self.bytes(address.wrapping_add(start), part) {
            return None;
        }
        let mut words = [0; WORDS];
        for (word, offset) in words.iter_mut().zip(offsets) {
            let bytes = part.get(offset - start..)?.first_chunk()?;
            *word = usize::from_ne_bytes(*bytes);
        }
        Some(words)
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
        assert_eq!(
            (direct.words(address, [8, 0]), kernel.words(address, [8, 0])),
            (Some([1 << 40, 7]), Some([1 << 40, 7]))
        );
        assert_eq!((kernel.words(8, [0, 8]), kernel.words(address, [0, SPAN_BYTES])), (None, None));
        assert_eq!((direct.word(8), direct.word(address + 1)), (None, None));
        assert_eq!((kernel.word(8), kernel.half(address)), (None, Some(7)));
    }
}
