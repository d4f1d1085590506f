//! Which module holds a code address: the question of every unwinding step that is new.
#![allow(unsafe_code)]

use core::mem::MaybeUninit;

use super::elf::{Headers, PF_R, PF_X};

/// A module's place in memory, and the way to its unwinding tables.
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
    /// - The module is loaded, and stays so for `'a`.
    pub unsafe fn segment<'a>(&self, address: usize) -> Option<Segment<'a>> {
        // SAFETY: the caller's contract.
        unsafe { self.segment_with(address, PF_R) }
    }

    /// The readable segment around `pc`, if it is code.
    ///
    /// # Safety
    /// - The module is loaded, and stays so for `'a`.
    pub unsafe fn code<'a>(&self, pc: usize) -> Option<Segment<'a>> {
        // SAFETY: the caller's contract.
        unsafe { self.segment_with(pc, PF_R | PF_X) }
    }

    unsafe fn segment_with<'a>(&self, address: usize, flags: u32) -> Option<Segment<'a>> {
        let whole = self.start..self.end;
        // SAFETY: a loaded module's first page is readable.
        let found = match unsafe { Headers::at(self.start) } {
            Some(headers) => headers.segment(address, flags)?,
            None => whole.clone(),
        };
        if !whole.contains(&address) || found.start < whole.start || found.end > whole.end {
            return None;
        }
        // SAFETY: a readable segment of a loaded module.
        let bytes = unsafe { core::slice::from_raw_parts(found.start as *const u8, found.len()) };
        Some(Segment { bytes, address: found.start })
    }
}

/// glibc's `struct dl_find_object` on x86_64.
#[repr(C)]
struct Found {
    flags: u64,
    start: usize,
    end: usize,
    link_map: usize,
    eh_frame: usize,
    reserved: [u64; 7],
}

const _: () = assert!(size_of::<Found>() == 96);

/// glibc's `_dl_find_object`: lock-free, safe in signal handlers.
#[derive(Clone, Copy, Debug)]
pub(super) struct FindObject(unsafe extern "C" fn(usize, *mut Found) -> i32);

impl FindObject {
    /// # Safety
    /// - `address` is that of glibc's `_dl_find_object`.
    pub(super) unsafe fn from_address(address: *const ()) -> FindObject {
        // SAFETY: the caller's contract.
        FindObject(unsafe {
            core::mem::transmute::<*const (), unsafe extern "C" fn(usize, *mut Found) -> i32>(address)
        })
    }

    pub(super) fn call(self, pc: usize) -> Option<ModuleText> {
        let mut found = MaybeUninit::<Found>::zeroed();
        // SAFETY: any address may be asked for; the structure is of the size that the function fills.
        let status = unsafe { (self.0)(pc, found.as_mut_ptr()) };
        if status != 0 {
            return None;
        }
        // SAFETY: all zero is a value of it already.
        let Found { start, end, link_map, eh_frame, .. } = unsafe { found.assume_init() };
        Some(ModuleText { start, end, eh_frame_hdr: eh_frame, link_map })
    }
}
