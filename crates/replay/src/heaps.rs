//! The heaps that can be run: the pool heap, and whatever stands behind `malloc` in this process.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

pub use heapscribe_alloc::locked::{Config, PageOptions, TlsfHeap};
use heapscribe_alloc::system::SystemHeap;

type Pointer = *mut c_void;

unsafe extern "C" {
    fn malloc(size: usize) -> Pointer;
    fn free(block: Pointer);
    fn calloc(count: usize, size: usize) -> Pointer;
    fn realloc(block: Pointer, size: usize) -> Pointer;
    fn posix_memalign(block: *mut Pointer, align: usize, size: usize) -> c_int;
    fn aligned_alloc(align: usize, size: usize) -> Pointer;
    fn memalign(align: usize, size: usize) -> Pointer;
    fn malloc_usable_size(block: Pointer) -> usize;
}

/// The heap behind `malloc`: the C library's, or that of a library loaded before it.
pub const fn behind_malloc() -> SystemHeap {
    SystemHeap {
        malloc,
        free,
        calloc,
        realloc,
        posix_memalign,
        aligned_alloc,
        memalign,
        valloc: None,
        pvalloc: None,
        malloc_usable_size,
    }
}

/// Has the C library's heap give back what is free: of glibc, nothing of others.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    {
        unsafe extern "C" {
            safe fn malloc_trim(pad: usize) -> c_int;
        }
        malloc_trim(0);
    }
}

/// The file whose `malloc` that is, by what `/proc/self/maps` says.
pub fn file_of_malloc(maps: &str) -> Option<&str> {
    file_at(maps, malloc as *const () as usize)
}

/// The file that is mapped at an address.
fn file_at(maps: &str, address: usize) -> Option<&str> {
    maps.lines().find_map(|line| {
        let (range, _) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let parse = |text| usize::from_str_radix(text, 16).ok();
        let is_in = (parse(start)?..parse(end)?).contains(&address);
        // Five fields stand before the path, which may itself have blanks.
        is_in.then(|| line.find('/').map(|at| &line[at..])).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lie_in_files() {
        let maps = "1000-2000 r-xp 00000000 08:01 5      /lib/a b.so\n2000-3000 rw-p 00000000 00:00 0 \n";
        assert_eq!(file_at(maps, 0x1800), Some("/lib/a b.so"));
        assert_eq!([file_at(maps, 0x2800), file_at(maps, 0x3000)], [None, None]);
    }

    #[test]
    fn malloc_of_a_test_is_of_a_library() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let file = file_of_malloc(&maps).unwrap();
        assert!(file.contains("libc") || file.contains("ld-musl"), "{file}");
    }
}
