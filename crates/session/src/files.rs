//! Files that other programs of the user may write while we read.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// A file of a session: no symlink and no pipe, since other programs of the user may write there.
pub fn open_file(path: &Path, write: bool) -> Option<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
    let file = OpenOptions::new().read(true).write(write).custom_flags(flags).open(path).ok()?;
    file.metadata().is_ok_and(|meta| meta.is_file()).then_some(file)
}

/// Reads until the buffer is full or the file ends.
pub fn read_up_to(file: &File, into: &mut [u8], offset: u64) -> usize {
    let mut n = 0;
    while n < into.len() {
        match file.read_at(&mut into[n..], offset + n as u64) {
            Ok(0) | Err(_) => break,
            Ok(k) => n += k,
        }
    }
    n
}
