//! ELF as it lies in memory: program headers, and the ranges of a module that may be read.
#![allow(unsafe_code)]

use core::mem::size_of;
use core::ops::Range;

pub(super) const PT_LOAD: u32 = 1;
pub(super) const PT_DYNAMIC: u32 = 2;
pub(super) const PT_NOTE: u32 = 4;
pub(super) const PT_PHDR: u32 = 6;
pub(super) const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
pub(super) const PT_GNU_RELRO: u32 = 0x6474_e552;
/// Segment flag: may be executed.
pub(super) const PF_X: u32 = 1;
/// Segment flag: may be written.
pub(super) const PF_W: u32 = 2;
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

impl Headers<'_> {
    /// The headers of the module whose ELF header is at `start`, which must lie within the first page,
    /// as every linker puts them.
    ///
    /// # Safety
    /// * Readable: the page at `start` is readable and stays so for `'a`.
    pub(super) unsafe fn at<'a>(start: usize) -> Option<Headers<'a>> {
        const CLASS64_LITTLE_ENDIAN: [u8; 6] = *b"\x7fELF\x02\x01";
        if !start.is_multiple_of(PAGE) || start == 0 {
            return None;
        }
        // SAFETY: readable: 64 bytes of the page, aligned.
        let header = unsafe { &*(start as *const [u8; 64]) };
        if !header.starts_with(&CLASS64_LITTLE_ENDIAN) {
            return None;
        }
        let offset = usize::try_from(u64::from_le_bytes(*header.get(32..40)?.first_chunk()?)).ok()?;
        let entry_size = usize::from(u16::from_le_bytes(*header.get(54..56)?.first_chunk()?));
        let count = usize::from(u16::from_le_bytes(*header.get(56..58)?.first_chunk()?));
        let end = count.checked_mul(size_of::<ProgramHeader>())?.checked_add(offset)?;
        if entry_size != size_of::<ProgramHeader>() || end > PAGE || !offset.is_multiple_of(8) {
            return None;
        }
        // SAFETY: readable: aligned and within the page.
        let table = unsafe { core::slice::from_raw_parts((start + offset) as *const ProgramHeader, count) };
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
}
