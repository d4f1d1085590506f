//! Memory of the interpreter that another thread may free, read through the kernel a page at a time.
#![allow(unsafe_code)]

use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::{Ordering, compiler_fence};

use heapscribe_nolibc::sys::{self, PAGES_MAX};

use super::read::{Kernel, Read};
use crate::platform::lock::Lock;
use crate::platform::memory;
use crate::unwind::StackRange;

const PAGE_BYTES: usize = 4096;
/// Where no page begins.
const NOWHERE: usize = 1;

/// Copies of the pages that a walk reads.
#[derive(Debug)]
pub(crate) struct Pages {
    /// Where they are, or [`NOWHERE`].
    starts: Cell<[usize; PAGES_MAX]>,
    /// A bit for each that this walk has looked at.
    used: Cell<u32>,
    /// The one that was looked at last.
    last: Cell<usize>,
    bytes: UnsafeCell<[[u8; PAGE_BYTES]; PAGES_MAX]>,
}

impl Pages {
    /// Those of a thread, made for its first walk. `None` when there is no memory.
    pub(crate) fn of_thread(place: &mut Option<&'static Pages>, lock: &Lock) -> Option<&'static Pages> {
        *place = place.or_else(|| Pages::new(lock));
        *place
    }

    #[cold]
    fn new(lock: &Lock) -> Option<&'static Pages> {
        let place = memory::alloc(size_of::<Pages>(), &lock.hold()?)?;
        // SAFETY: new zeroed memory of this size, aligned to 64, which stays; zero is valid for integers.
        Some(unsafe { place.cast::<Pages>().as_ref() })
    }

    /// Reads those pages anew that the last walk has looked at: mostly the next one looks at the same.
    fn begin(&self, kernel: Kernel) {
        let (old, used) = (self.starts.get(), self.used.get());
        let (mut starts, mut count) = ([NOWHERE; PAGES_MAX], 0);
        for (_, start) in old.iter().enumerate().filter(|(page, _)| used >> page & 1 == 1) {
            if let Some(place) = starts.get_mut(count) {
                (*place, count) = (*start, count + 1);
            }
        }
        // A handler that jumps away in between leaves nothing that is believed.
        self.starts.set([NOWHERE; PAGES_MAX]);
        self.used.set(0);
        self.last.set(PAGES_MAX);
        compiler_fence(Ordering::SeqCst);
        // SAFETY: nobody else has these pages, and nothing of them is lent.
        let bytes = unsafe { &mut *self.bytes.get() };
        let read = bytes.get_mut(..count).map_or(0, |to| sys::read_own_pages(kernel.pid, &starts, to));
        compiler_fence(Ordering::SeqCst);
        starts.iter_mut().skip(read).for_each(|start| *start = NOWHERE);
        self.starts.set(starts);
    }

    /// The bytes from `address` on, which are all in one page. `None` when they cannot be read.
    #[inline(always)]
    fn part(&self, kernel: Kernel, address: usize, len: usize) -> Option<&[u8]> {
        let (start, at) = (address & !(PAGE_BYTES - 1), address % PAGE_BYTES);
        let (starts, last) = (self.starts.get(), self.last.get());
        let page = match starts.get(last) == Some(&start) {
            true => last,
            false => self.find(kernel, &starts, start)?,
        };
        // SAFETY: nobody else has these pages, and what is given is copied before one is filled anew.
        unsafe { &*self.bytes.get() }.get(page)?.get(at..at + len)
    }

    /// The number of a page that is not the last one.
    #[inline(never)]
    fn find(&self, kernel: Kernel, starts: &[usize; PAGES_MAX], start: usize) -> Option<usize> {
        let found = starts.iter().position(|other| *other == start);
        let page = match found {
            Some(page) => page,
            None => self.fill(kernel, starts, start)?,
        };
        self.used.set(self.used.get() | 1 << page);
        self.last.set(page);
        Some(page)
    }

    /// Reads a page in the place of one that this walk has not looked at, or not for the longest time.
    #[cold]
    fn fill(&self, kernel: Kernel, starts: &[usize; PAGES_MAX], start: usize) -> Option<usize> {
        let (free, unused) =
            (starts.iter().position(|start| *start == NOWHERE), self.used.get().trailing_ones());
        let unused = Some(unused as usize).filter(|page| *page < PAGES_MAX);
        let page = free.or(unused).unwrap_or((self.last.get() + 1) % PAGES_MAX);
        let (mut without, mut with) = (*starts, *starts);
        (*without.get_mut(page)?, *with.get_mut(page)?) = (NOWHERE, start);
        self.starts.set(without);
        compiler_fence(Ordering::SeqCst);
        // SAFETY: nobody else has these pages, and nothing of them is lent.
        let is_there = kernel.bytes(start, unsafe { &mut *self.bytes.get() }.get_mut(page)?);
        compiler_fence(Ordering::SeqCst);
        is_there.then(|| self.starts.set(with)).map(|()| page)
    }
}

/// By system calls for whole pages, all of the last walk at once: frames stand one behind the other, and a call takes as
/// long for 4 KiB as for a word (1.35 and 1.11 us). What is read is as it was at some time since [`Paged::new`]. What the
/// interpreter has on the thread's own stack is read by loads: from 3.12 on there is something of each call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paged {
    kernel: Kernel,
    pages: Option<&'static Pages>,
    own: StackRange,
}

impl Paged {
    /// Reads anew; word by word where there are no pages.
    ///
    /// # Safety
    /// * Own: this is a part of the calling thread's stack that is in use while anything is read, or empty.
    pub(crate) unsafe fn new(kernel: Kernel, pages: Option<&'static Pages>, own: StackRange) -> Paged {
        if let Some(pages) = pages {
            pages.begin(kernel);
        }
        Paged { kernel, pages, own }
    }

    /// Whether this is a word of the thread's own stack.
    #[inline(always)]
    fn is_own(self, address: usize) -> bool {
        (self.own.lo..self.own.hi.saturating_sub(7)).contains(&address) && address.is_multiple_of(8)
    }
}

impl Read for Paged {
    #[inline(always)]
    fn word(self, address: usize) -> Option<usize> {
        if self.is_own(address) {
            // SAFETY: own, by `new`.
            return Some(unsafe { (address as *const usize).read_volatile() });
        }
        match self.pages {
            Some(pages) if address % PAGE_BYTES <= PAGE_BYTES - 8 => {
                let bytes = pages.part(self.kernel, address, 8)?.first_chunk()?;
                Some(usize::from_ne_bytes(*bytes))
            }
            _ => self.kernel.word(address),
        }
    }

    fn known_word(self, address: usize) -> Option<usize> {
        self.word(address)
    }

    fn known_byte(self, address: usize) -> Option<u8> {
        let word = self.word(address & !7)?.to_ne_bytes();
        word.get(address & 7).copied()
    }

    fn bytes(self, address: usize, to: &mut [u8]) -> bool {
        match self.pages {
            Some(pages) if address % PAGE_BYTES + to.len() <= PAGE_BYTES => {
                let part = pages.part(self.kernel, address, to.len());
                part.map(|part| to.copy_from_slice(part)).is_some()
            }
            _ => self.kernel.bytes(address, to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A walk that reads nothing by loads.
    fn paged(kernel: Kernel, pages: Option<&'static Pages>) -> Paged {
        // SAFETY: the range is empty.
        unsafe { Paged::new(kernel, pages, StackRange { lo: 0, hi: 0 }) }
    }

    /// Zeroed, and for the life of the process, as the recorder's own memory is.
    fn pages() -> &'static Pages {
        Box::leak(Box::new(Pages {
            starts: Cell::new([0; PAGES_MAX]),
            used: Cell::new(0),
            last: Cell::new(0),
            bytes: UnsafeCell::new([[0; PAGE_BYTES]; PAGES_MAX]),
        }))
    }

    #[test]
    fn pages_have_what_the_kernel_reads() {
        let words: Vec<usize> = (0..3 * PAGE_BYTES / 8).collect();
        let (address, kernel) = (words.as_ptr() as usize, Kernel { pid: std::process::id() });
        for pages in [Some(pages()), None] {
            let paged = paged(kernel, pages);
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
        let (of_thread, kernel) = (pages(), Kernel { pid: std::process::id() });
        for (before, after) in [(7, 8), (8, 9)] {
            let paged = paged(kernel, Some(of_thread));
            assert_eq!(paged.word(place as usize), Some(before));
            // SAFETY: the words are ours, and this one is among them.
            unsafe { place.wrapping_add(511).write_volatile(after) };
            // SAFETY: the first of the words.
            unsafe { place.write_volatile(after) };
            assert_eq!(paged.word(place as usize + 511 * 8), Some(before));
        }
    }

    /// What is on the stack is seen as it is now, and what is beside it through pages.
    #[test]
    fn the_own_stack_is_read_by_loads() {
        let mut words = [[7usize; 4]; 2];
        let (first, last) = (&raw mut words[0][0], &raw mut words[1][3]);
        let (own, kernel) =
            (StackRange { lo: first as usize, hi: last as usize }, Kernel { pid: std::process::id() });
        // SAFETY: the words are on this thread's stack.
        let paged = unsafe { Paged::new(kernel, Some(pages()), own) };
        let read = || [first, last].map(|place| paged.word(place as usize));
        assert_eq!(read(), [Some(7), Some(7)]);
        // SAFETY: the words are ours.
        unsafe { (first.write_volatile(8), last.write_volatile(8)) };
        assert_eq!(read(), [Some(8), Some(7)]);
    }

    /// More pages than there is room for, some of which go away between walks.
    #[test]
    fn pages_come_and_go() {
        let (of_thread, kernel) = (pages(), Kernel { pid: std::process::id() });
        let mut words = vec![0usize; 14 * PAGE_BYTES / 8];
        let first = words.as_mut_ptr().wrapping_add(words.as_ptr().align_offset(PAGE_BYTES));
        let places: Vec<*mut usize> = (0..12).map(|page| first.wrapping_add(page * PAGE_BYTES / 8)).collect();
        for round in 1..9usize {
            // SAFETY: the words are ours, and these are among them.
            places
                .iter()
                .enumerate()
                .for_each(|(page, place)| unsafe { place.write_volatile(100 * round + page) });
            let paged = paged(kernel, Some(of_thread));
            for page in (0..12).filter(|page| page % round < 3).chain([0, 5, 0]) {
                assert_eq!(paged.word(places[page] as usize), Some(100 * round + page));
                assert_eq!(paged.word(8 * page), None);
            }
        }
    }
}
