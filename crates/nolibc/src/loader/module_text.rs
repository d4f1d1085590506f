//! Which module holds a code address: the question of every unwinding step that is new.
#![allow(unsafe_code)]

use super::elf::{Headers, PF_R, PF_X};

/// A module's place in memory, and where its unwinding tables are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModuleText {
    /// The first byte of the mapping, which is the ELF header.
    pub start: usize,
    /// The end of the last segment.
    pub end: usize,
    /// Where `.eh_frame_hdr` is; 0 when the module has none.
    pub eh_frame_hdr: usize,
    /// The loader's `link_map`.
    pub link_map: usize,
}

/// A run of readable bytes of a module.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Where they are.
    pub address: usize,
}

impl<'a> Segment<'a> {
    /// The bytes from `address` to the end of the segment.
    pub fn from(&self, address: usize) -> Option<&'a [u8]> {
        self.bytes.get(address.checked_sub(self.address)?..)
    }
}

impl ModuleText {
    /// Whether `pc` is in the mapping.
    pub fn contains(&self, pc: usize) -> bool {
        (self.start..self.end).contains(&pc)
    }

    /// The readable segment around `address`. When the program headers are not on the first page (a tool
    /// moved them) it is the whole mapping, which the module's own tables are then trusted not to leave.
    ///
    /// # Safety
    /// * Loaded: the module is loaded, and stays so for `'a`.
    pub unsafe fn segment<'a>(&self, address: usize) -> Option<Segment<'a>> {
        // SAFETY: loaded.
        unsafe { self.segment_with(address, PF_R) }
    }

    /// The readable segment around `pc`, if it is code.
    ///
    /// # Safety
    /// * Loaded: the module is loaded, and stays so for `'a`.
    pub unsafe fn code<'a>(&self, pc: usize) -> Option<Segment<'a>> {
        // SAFETY: loaded.
        unsafe { self.segment_with(pc, PF_R | PF_X) }
    }

    /// # Safety
    /// * Loaded: the module is loaded, and stays so for `'a`.
    unsafe fn segment_with<'a>(&self, address: usize, flags: u32) -> Option<Segment<'a>> {
        let whole = self.start..self.end;
        // SAFETY: loaded: the first page of a module is readable.
        let segment = match unsafe { Headers::at(self.start) } {
            Some(headers) => headers.segment(address, flags)?,
            None => whole.clone(),
        };
        if !whole.contains(&address) || segment.start < whole.start || segment.end > whole.end {
            return None;
        }
        // SAFETY: loaded: the segment is readable.
        let bytes = unsafe { core::slice::from_raw_parts(segment.start as *const u8, segment.len()) };
        Some(Segment { bytes, address: segment.start })
    }
}
