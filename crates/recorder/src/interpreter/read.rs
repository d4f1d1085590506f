//! How memory of the interpreter is read: directly where it cannot go away, else through the kernel, word by word or page
//! by page.
#![allow(unsafe_code)]

use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::{Ordering, compiler_fence};

use heapscribe_nolibc::sys;

use crate::platform::lock::Lock;
use crate::platform::memory;

/// Where objects may be.
const ADDRESSES: core::ops::Range<usize> = 4096..1 << 56;

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

const PAGE_BYTES: usize = 4096;
/// Where no page begins.
const NOWHERE: usize = 1;

/// A copy of the page that was read last.
#[derive(Debug)]
pub(crate) struct Page {
    /// Where it is, or [`NOWHERE`].
    start: Cell<usize>,
    bytes: UnsafeCell<[u8; PAGE_BYTES]>,
}

impl Page {
    /// The page of a thread, made for its first walk. `None` when there is no memory.
    pub(crate) fn of_thread(place: &mut Option<&'static Page>, lock: &Lock) -> Option<&'static Page> {
        *place = place.or_else(|| Page::new(lock));
        *place
    }

    #[cold]
    fn new(lock: &Lock) -> Option<&'static Page> {
        let place = memory::alloc(size_of::<Page>(), &lock.hold()?)?;
        // SAFETY: new zeroed memory of this size, aligned to 64, which stays; zero is valid for integers.
        Some(unsafe { place.cast::<Page>().as_ref() })
    }

    /// The bytes from `address` on, which are all in one page. `None` when they cannot be read.
    #[inline(always)]
    fn part(&self, kernel: Kernel, address: usize, len: usize) -> Option<&[u8]> {
        let (start, at) = (address & !(PAGE_BYTES - 1), address % PAGE_BYTES);
        if self.start.get() != start {
            self.fill(kernel, start)?;
        }
        // SAFETY: nobody else has this page, and what is given is copied before it is filled anew.
        unsafe { &*self.bytes.get() }.get(at..at + len)
    }

    #[inline(never)]
    fn fill(&self, kernel: Kernel, start: usize) -> Option<()> {
        // A handler that jumps away in between leaves nothing that is believed.
        self.start.set(NOWHERE);
        compiler_fence(Ordering::SeqCst);
        // SAFETY: nobody else has this page, and nothing of it is lent.
        let is_there = kernel.bytes(start, unsafe { &mut *self.bytes.get() });
        compiler_fence(Ordering::SeqCst);
        is_there.then(|| self.start.set(start))
    }
}

/// By system calls for whole pages: frames stand one behind the other, and a call takes as long for 4 KiB as for a word
/// (1.35 and 1.11 us). What is read is as it was at some time since [`Paged::new`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paged {
    kernel: Kernel,
    page: Option<&'static Page>,
}

impl Paged {
    /// Reads anew; word by word where there is no page.
    pub(crate) fn new(kernel: Kernel, page: Option<&'static Page>) -> Paged {
        if let Some(page) = page {
            page.start.set(NOWHERE);
        }
        Paged { kernel, page }
    }
}

impl Read for Paged {
    #[inline(always)]
    fn word(self, address: usize) -> Option<usize> {
        match self.page {
            Some(page) if address % PAGE_BYTES <= PAGE_BYTES - 8 => {
                let bytes = page.part(self.kernel, address, 8)?.first_chunk()?;
                Some(usize::from_ne_bytes(*bytes))
            }
            _ => self.kernel.word(address),
        }
    }

    fn known_word(self, address: usize) -> Option<usize> {
        self.word(address)
    }

    fn known_byte(self, address: usize) -> Option<u8> {
        let mut byte = [0];
        self.bytes(address, &mut byte).then_some(byte[0])
    }

    fn bytes(self, address: usize, to: &mut [u8]) -> bool {
        match self.page {
            Some(page) if address % PAGE_BYTES + to.len() <= PAGE_BYTES => {
                let part = page.part(self.kernel, address, to.len());
                part.map(|part| to.copy_from_slice(part)).is_some()
            }
            _ => self.kernel.bytes(address, to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Zeroed, and for the life of the process, as the recorder's own memory is.
    fn page() -> &'static Page {
        Box::leak(Box::new(Page { start: Cell::new(0), bytes: UnsafeCell::new([0; PAGE_BYTES]) }))
    }

    #[test]
    fn pages_have_what_the_kernel_reads() {
        let words: Vec<usize> = (0..3 * PAGE_BYTES / 8).collect();
        let (address, kernel) = (words.as_ptr() as usize, Kernel { pid: std::process::id() });
        for page in [Some(page()), None] {
            let paged = Paged::new(kernel, page);
            assert_eq!(paged.word(8), None);
            for offset in (0..8 * words.len() - 8).step_by(5).rev() {
                assert_eq!(paged.word(address + offset), kernel.word(address + offset), "{offset}");
                assert_eq!(paged.known_byte(address + offset), kernel.known_byte(address + offset));
            }
            let mut bytes = [0; 2 * PAGE_BYTES];
            assert!(paged.bytes(address, &mut bytes) && bytes[8] == 1);
            assert_eq!((paged.word(8), paged.word(1 << 60), paged.word(address)), (None, None, Some(0)));
        }
    }

    /// One call brings a page: what has changed since is not seen before the next walk.
    #[test]
    fn a_walk_reads_a_page_once() {
        let mut words = vec![7usize; 2 * PAGE_BYTES / 8];
        let place = words.as_mut_ptr().align_offset(PAGE_BYTES);
        let place = words.as_mut_ptr().wrapping_add(place);
        let (page, kernel) = (page(), Kernel { pid: std::process::id() });
        for (before, after) in [(7, 8), (8, 9)] {
            let paged = Paged::new(kernel, Some(page));
            assert_eq!(paged.word(place as usize), Some(before));
            // SAFETY: the words are ours, and this one is among them.
            unsafe { place.wrapping_add(511).write_volatile(after) };
            // SAFETY: the first of the words.
            unsafe { place.write_volatile(after) };
            assert_eq!(paged.word(place as usize + 511 * 8), Some(before));
        }
    }

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
