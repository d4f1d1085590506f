//! Files by their paths alone: what needs no descriptor, of which a process may have none left.
#![allow(unsafe_code)]

use core::ffi::CStr;

use super::errno::{Errno, Result};
use super::file::{AT_FDCWD, Stat};
use super::syscall::{call, number};

/// What `path`, relative to the working directory, leads to.
pub fn stat_path(path: &CStr) -> Result<Stat> {
    let mut raw = [0u64; 18]; // struct stat is 144 bytes on x86_64
    let a = [AT_FDCWD as isize as usize, path.as_ptr() as usize, raw.as_mut_ptr() as usize, 0, 0, 0];
    // SAFETY: `path` is a C string that lives through the call, `raw` as large as the kernel's struct stat.
    unsafe { call(number::NEWFSTATAT, a) }?;
    Ok(Stat::of(&raw))
}

/// Whether a path, relative to the working directory, is on a file system that is mounted to be read only.
pub fn is_read_only(path: &CStr) -> bool {
    const W_OK: usize = 2;
    let a = [AT_FDCWD as isize as usize, path.as_ptr() as usize, W_OK, 0, 0, 0];
    // SAFETY: `path` is a C string that lives through the call.
    unsafe { call(number::FACCESSAT, a) }.err() == Some(Errno::EROFS)
}

/// Whether a file has an extended attribute of this name.
pub fn has_attribute(path: &CStr, name: &CStr) -> bool {
    // SAFETY: two C strings that live through the call; of the value only the length is asked for.
    unsafe { call(number::GETXATTR, [path.as_ptr() as usize, name.as_ptr() as usize, 0, 0, 0, 0]) }.is_ok()
}

/// Makes a symbolic link `path` to `target`, without a descriptor. `EEXIST` when there is anything of that name.
pub fn symlink(target: &CStr, path: &CStr) -> Result<()> {
    let a = [target.as_ptr() as usize, path.as_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: two C strings that live through the call.
    unsafe { call(number::SYMLINK, a) }.map(drop)
}

/// Removes a file.
pub fn unlink(path: &CStr) -> Result<()> {
    // SAFETY: `path` is a C string that lives through the call.
    unsafe { call(number::UNLINK, [path.as_ptr() as usize, 0, 0, 0, 0, 0]) }.map(drop)
}
