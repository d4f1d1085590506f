//! ELF as it lies in memory: program headers, and the ranges of a module that may be read.
#![allow(unsafe_code)]

use core::mem::size_of;
use core::ops::Range;

use crate::sys::{self, Errno};

pub(super) const PT_LOAD: u32 = 1;
pub(super) const PT_DYNAMIC: u32 = 2;
pub(super) const PT_NOTE: u32 = 4;
pub(super) const PT_PHDR: u32 = 6;
pub(super) const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
pub(super) const PT_GNU_RELRO: u32 = 0x6474_e552;
/// Segment flag: may be executed.
pub(super) const PF_X: u32 = 1;
/// Segment flag: may be written.
const PF_W: u32 = 2;
/// Segment flag: may be read.
pub(super) const PF_R: u32 = 4;

/// `Elf64_Phdr`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct ProgramHeader {
    pub(super) kind: u32,
    pub(super) flags: u32,
    offset: u64,
    address: u64,
    physical: u64,
    file_size: u64,
    memory_size: u64,
    align: u64,
}

const _: () = assert!(size_of::<ProgramHeader>() == 56);

/// The program headers of a loaded module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Headers<'a> {
    table: &'a [ProgramHeader],
    /// What is added to a link-time address to make it one of this process.
    pub(super) bias: usize,
}

/// The page that is known to be mapped when a module's first byte is.
const PAGE: usize = 4096;

/// Whether a file that begins with these bytes is ELF of 64 bits, little endian.
fn is_elf(first_word: u64) -> bool {
    first_word.to_le_bytes().starts_with(b"\x7fELF\x02\x01")
}

/// A copy of the first bytes of a module, with room for 17 program headers; libraries have 7 to 13.
#[derive(Debug)]
pub(super) struct FirstBytes([u64; 128]);

impl FirstBytes {
    /// By the kernel, as another thread may unmap the module this instant: a load of ours was a SIGSEGV then, between
    /// the question whether it may be read and the reading. EFAULT when they are not all there; another error where
    /// the kernel is not allowed to copy.
    pub(super) fn read(start: usize) -> Result<FirstBytes, Errno> {
        let mut copy = FirstBytes([0; 128]);
        sys::read_own(sys::pid(), start, copy.bytes()).map(|()| copy)
    }

    /// Whether a module is there, still.
    pub(super) fn is_elf(&self) -> bool {
        is_elf(self.0[0])
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the same bytes, of which any bits are a word.
        unsafe { core::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), size_of::<[u64; 128]>()) }
    }
}

impl Headers<'_> {
    /// The headers of the module whose ELF header is at `start`, which must lie within the first page,
    /// as every linker puts them.
    ///
    /// # Safety
    /// * Readable: the page at `start` is readable and stays so for `'a`.
    pub(super) unsafe fn at<'a>(start: usize) -> Option<Headers<'a>> {
        if !start.is_multiple_of(PAGE) || start == 0 {
            return None;
        }
        // SAFETY: readable: the whole page, aligned.
        let page = unsafe { core::slice::from_raw_parts(start as *const u64, PAGE / size_of::<u64>()) };
        Headers::in_page(page, start)
    }

    /// The headers in a copy of the first bytes of the module that is mapped at `start`.
    pub(super) fn in_copy(copy: &FirstBytes, start: usize) -> Option<Headers<'_>> {
        Headers::in_page(&copy.0, start)
    }

    fn in_page(page: &[u64], start: usize) -> Option<Headers<'_>> {
        let half = |at: usize| page.get(at / 8).map(|word| usize::from((word >> (at % 8 * 8)) as u16));
        if !is_elf(*page.first()?) {
            return None;
        }
        let (offset, entry_size, count) = (usize::try_from(*page.get(4)?).ok()?, half(54)?, half(56)?);
        let words = count.checked_mul(size_of::<ProgramHeader>() / size_of::<u64>())?;
        if entry_size != size_of::<ProgramHeader>() || !offset.is_multiple_of(8) {
            return None;
        }
        let words = page.get(offset / 8..)?.get(..words)?;
        // SAFETY: `words` are those of `count` headers, aligned, and any bits are a header.
        let table = unsafe { core::slice::from_raw_parts(words.as_ptr().cast::<ProgramHeader>(), count) };
        let bias = start.wrapping_sub(Self::first_page(table)?);
        Some(Headers { table, bias })
    }

    /// Headers at an address that the kernel gave.
    ///
    /// # Safety
    /// * Loaded: `table` is that of `count` program headers of a module that stays loaded for `'a`.
    pub(super) unsafe fn from_table<'a>(table: usize, count: usize) -> Option<Headers<'a>> {
        // SAFETY: loaded.
        let headers = unsafe { core::slice::from_raw_parts(table as *const ProgramHeader, count) };
        let bias = match headers.iter().find(|h| h.kind == PT_PHDR) {
            Some(own) => table.wrapping_sub(own.address as usize),
            None => (table & !(PAGE - 1)).wrapping_sub(Self::first_page(headers)?),
        };
        Some(Headers { table: headers, bias })
    }

    /// Headers of which the loader has told where the module is.
    ///
    /// # Safety
    /// * Loaded: as for [`Headers::from_table`].
    pub(super) unsafe fn at_bias<'a>(table: usize, count: usize, bias: usize) -> Headers<'a> {
        // SAFETY: loaded.
        let table = unsafe { core::slice::from_raw_parts(table as *const ProgramHeader, count) };
        Headers { table, bias }
    }

    fn first_page(table: &[ProgramHeader]) -> Option<usize> {
        let first = table.iter().find(|h| h.kind == PT_LOAD)?;
        Some(first.address as usize & !(PAGE - 1))
    }

    /// Where header `h` says its bytes are in this process.
    fn range(&self, h: &ProgramHeader) -> Option<Range<usize>> {
        let start = self.bias.wrapping_add(h.address as usize);
        Some(start..start.checked_add(h.memory_size as usize)?)
    }

    /// The ranges of all headers of a kind.
    pub(super) fn ranges(&self, kind: u32) -> impl Iterator<Item = Range<usize>> + '_ {
        self.table.iter().filter(move |h| h.kind == kind).filter_map(|h| self.range(h))
    }

    /// The whole mapping, from the first segment to the last.
    pub(super) fn whole(&self) -> Option<Range<usize>> {
        let start = self.ranges(PT_LOAD).map(|r| r.start).min()? & !(PAGE - 1);
        let end = self.ranges(PT_LOAD).map(|r| r.end).max()?;
        Some(start..end)
    }

    /// The loaded segment around `address` that has all of `flags`.
    pub(super) fn segment(&self, address: usize, flags: u32) -> Option<Range<usize>> {
        let fits = self.table.iter().filter(|h| h.kind == PT_LOAD && h.flags & flags == flags);
        fits.filter_map(|h| self.range(h)).find(|r| r.contains(&address))
    }

    /// Whether an aligned word at `address` is in a segment that could be written when the module was bound.
    pub(super) fn has_writable_word(&self, address: usize) -> bool {
        address.is_multiple_of(size_of::<usize>()) && self.segment(address, PF_W).is_some()
    }
}
