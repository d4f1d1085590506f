//! How far a stack may be read: the mapping that holds the stack pointer, as the kernel knows it.
//!
//! Asked once for each thread and each change of stack. Linux 6.11 answers for one address
//! (PROCMAP_QUERY); older kernels give all mappings as text, which is read in small pieces.
#![allow(unsafe_code)]

use core::ffi::CStr;

use heapscribe_nolibc::sys::{File, Open};

/// The process's, which are empty once its first thread has ended (`pthread_exit` in `main`); then the calling
/// thread's. Not these alone: proot, which translates paths for a process, takes `thread-self` for its own.
const MAPS: [&CStr; 2] = [c"/proc/self/maps", c"/proc/thread-self/maps"];

/// A mapping with a stack in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackRange {
    /// Its first byte.
    pub lo: usize,
    /// The first byte behind it.
    pub hi: usize,
}

impl StackRange {
    /// The readable mapping around `sp`. None when there is none, or no `/proc`.
    pub fn around(sp: usize) -> Option<StackRange> {
        MAPS.into_iter().find_map(|maps| StackRange::around_in(maps, sp))
    }

    fn around_in(maps: &CStr, sp: usize) -> Option<StackRange> {
        let maps = File::open(maps, Open::Read).ok()?;
        match query(&maps, sp) {
            Answer::Mapping(range) => Some(range),
            Answer::Nothing => None,
            Answer::UnknownQuestion => search(&maps, sp),
        }
    }

    /// Whether `address` is in the mapping.
    #[inline(always)]
    pub const fn contains(&self, address: usize) -> bool {
        self.lo <= address && address < self.hi
    }
}

/// `struct procmap_query`.
#[repr(C)]
#[derive(Default)]
struct Query {
    size: u64,
    flags: u64,
    address: u64,
    start: u64,
    end: u64,
    mapping_flags: u64,
    page_size: u64,
    offset: u64,
    inode: u64,
    device: [u32; 2],
    name_size: u32,
    build_id_size: u32,
    name: u64,
    build_id: u64,
}

const _: () = assert!(size_of::<Query>() == 104);
/// `_IOWR('f', 17, struct procmap_query)`.
const PROCMAP_QUERY: usize = 3 << 30 | size_of::<Query>() << 16 | (b'f' as usize) << 8 | 17;

enum Answer {
    Mapping(StackRange),
    Nothing,
    UnknownQuestion,
}

fn query(maps: &File, address: usize) -> Answer {
    const READABLE: u64 = 1;
    let size = size_of::<Query>() as u64;
    let mut query = Query { size, flags: READABLE, address: address as u64, ..Query::default() };
    // SAFETY: the request takes this structure, and its size is in it.
    match unsafe { maps.ioctl(PROCMAP_QUERY, &mut query) } {
        Ok(_) => Answer::Mapping(StackRange { lo: query.start as usize, hi: query.end as usize }),
        Err(heapscribe_nolibc::sys::Errno::ENOENT) => Answer::Nothing,
        Err(_) => Answer::UnknownQuestion,
    }
}

/// Reads the lines of the text until one is the mapping of `address`.
fn search(maps: &File, address: usize) -> Option<StackRange> {
    let mut buffer = [0u8; 512];
    let mut line = Line::default();
    loop {
        let length = maps.read(&mut buffer).ok()?;
        for &byte in buffer.get(..length).filter(|bytes| !bytes.is_empty())? {
            let Some((range, is_readable)) = line.feed(byte) else { continue };
            if range.contains(address) {
                return is_readable.then_some(range);
            }
        }
    }
}

/// A line of `/proc/self/maps` as it comes in, byte by byte: `start-end rwxp ...`.
#[derive(Default)]
struct Line {
    field: Field,
    start: usize,
    end: usize,
}

#[derive(Default)]
enum Field {
    #[default]
    Start,
    End,
    Access,
    Rest,
}

impl Line {
    /// Gives the range, and whether it is readable, when `byte` is the one that says so.
    fn feed(&mut self, byte: u8) -> Option<(StackRange, bool)> {
        let digit = (byte as char).to_digit(16).map_or(0, |d| d as usize);
        match (&self.field, byte) {
            (_, b'\n') => *self = Line::default(),
            (Field::Start, b'-') => self.field = Field::End,
            (Field::Start, _) => self.start = self.start << 4 | digit,
            (Field::End, b' ') => self.field = Field::Access,
            (Field::End, _) => self.end = self.end << 4 | digit,
            (Field::Access, access) => {
                self.field = Field::Rest;
                return Some((StackRange { lo: self.start, hi: self.end }, access == b'r'));
            }
            (Field::Rest, _) => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_find_the_same_mapping() {
        let local = 0u64;
        let sp = &raw const local as usize;
        let by_kernel = StackRange::around(sp).unwrap();
        assert!(by_kernel.contains(sp));
        let maps = File::open(MAPS[0], Open::Read).unwrap();
        assert_eq!(search(&maps, sp), Some(by_kernel));
    }

    #[test]
    fn nothing_is_readable_at_the_null_page() {
        assert_eq!(StackRange::around(8), None);
        let maps = File::open(MAPS[0], Open::Read).unwrap();
        assert_eq!(search(&maps, 8), None);
    }

    #[test]
    fn lines_in_the_kernels_format() {
        let mut line = Line::default();
        let text = b"7f0000-7f1000 ---p 00 00:00 0 \n7ffe0a000-7ffe0b000 rw-p 00 [stack]\n";
        let found: Vec<_> = text.iter().filter_map(|&b| line.feed(b)).collect();
        let range = |lo, hi| StackRange { lo, hi };
        assert_eq!(found, [(range(0x7f0000, 0x7f1000), false), (range(0x7ffe0a000, 0x7ffe0b000), true)]);
    }
}
