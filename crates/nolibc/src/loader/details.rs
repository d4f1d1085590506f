//! The identity of a module: what the trace needs to find its file and its symbols again, later and elsewhere.
#![allow(unsafe_code)]

use core::ffi::CStr;
use core::ops::Range;

use super::elf::{Headers, PT_NOTE};
use super::link_map::LinkMap;
use super::module_text::ModuleText;

/// A module's GNU build id, up to 32 bytes (linkers write 16 or 20); empty when it has none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct BuildId {
    bytes: [u8; 32],
    length: usize,
}

impl BuildId {
    /// The bytes of the id.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    fn new(id: &[u8]) -> BuildId {
        let mut build_id = BuildId { length: id.len().min(32), ..BuildId::default() };
        for (to, from) in build_id.bytes.iter_mut().zip(id) {
            *to = *from;
        }
        build_id
    }
}

/// What the trace records of a module.
#[derive(Clone, Copy, Debug)]
pub struct ModuleDetails<'a> {
    /// The path as the loader knows it: empty for the program itself on glibc.
    pub name: &'a [u8],
    /// What is added to a link-time address to make it one of this process.
    pub bias: usize,
    /// The first byte of the mapping.
    pub start: usize,
    /// The end of the mapping.
    pub end: usize,
    /// The GNU build id.
    pub build_id: BuildId,
    /// A hash of all the above: another file at the same place has another one.
    pub identity: u64,
}

impl ModuleText {
    /// Reads the identity of the module.
    ///
    /// # Safety
    /// * Loaded: the module is loaded, and stays so for `'a`.
    pub unsafe fn details<'a>(&self) -> ModuleDetails<'a> {
        // SAFETY: loaded: null, or the `link_map` that the loader gave.
        let map = unsafe { (self.link_map as *const LinkMap).as_ref() };
        let (bias, name) = map.map_or((0, core::ptr::null()), |map| (map.bias, map.name));
        // SAFETY: loaded: `l_name` is a C string that lives as long as the module.
        let name = if name.is_null() { &[][..] } else { unsafe { CStr::from_ptr(name) }.to_bytes() };
        // SAFETY: loaded.
        let build_id = unsafe { self.build_id() }.unwrap_or_default();
        let numbers = [self.start, self.end, bias];
        let identity =
            numbers.iter().fold(hash(0xcbf2_9ce4_8422_2325, name), |h, n| hash(h, &n.to_le_bytes()));
        let identity = hash(identity, build_id.as_bytes());
        ModuleDetails { name, bias, start: self.start, end: self.end, build_id, identity }
    }

    /// # Safety
    /// * Loaded: the module is loaded.
    unsafe fn build_id(&self) -> Option<BuildId> {
        // SAFETY: loaded: the first page of a module is readable.
        let headers = unsafe { Headers::at(self.start) }?;
        headers.ranges(PT_NOTE).find_map(|range| {
            // SAFETY: loaded.
            let notes = unsafe { self.bytes(&range) }?;
            find_build_id(notes)
        })
    }

    /// # Safety
    /// * Loaded: the module is loaded, and stays so for `'a`.
    unsafe fn bytes<'a>(&self, range: &Range<usize>) -> Option<&'a [u8]> {
        // SAFETY: loaded.
        unsafe { self.segment(range.start) }?.from(range.start)?.get(..range.len())
    }
}

/// FNV-1a.
fn hash(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |h, &byte| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The build id among the notes of a PT_NOTE segment.
fn find_build_id(mut notes: &[u8]) -> Option<BuildId> {
    const NT_GNU_BUILD_ID: u32 = 3;
    let word = |bytes: &[u8], at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    loop {
        let (name_size, size) = (word(notes, 0)? as usize, word(notes, 4)? as usize);
        let body_at = name_size.checked_next_multiple_of(4)?.checked_add(12)?;
        let body = notes.get(body_at..)?.get(..size)?;
        if word(notes, 8)? == NT_GNU_BUILD_ID && notes.get(12..)?.get(..name_size)? == b"GNU\0" {
            return Some(BuildId::new(body));
        }
        notes = notes.get(body_at.checked_add(size.checked_next_multiple_of(4)?)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_id_is_found_behind_another_note() {
        let mut notes = Vec::new();
        notes.extend([4, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0]);
        notes.extend(b"GNU\0abc\0");
        notes.extend([4, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
        notes.extend(b"GNU\0\x12\x34");
        assert_eq!(find_build_id(&notes).unwrap().as_bytes(), [0x12, 0x34]);
        assert_eq!(find_build_id(&notes[..notes.len() - 1]), None);
    }
}
