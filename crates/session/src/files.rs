//! Files that other programs of the user may write while we read.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// A file of a session: no symlink and no pipe, since other programs of the user may write there.
pub fn open_file(path: &Path, write: bool) -> Option<File> {
    try_open_file(path, write).ok()
}

/// The same.
///
/// # Errors
/// When there is none, or none can be opened: see [`is_out_of_descriptors`].
pub fn try_open_file(path: &Path, write: bool) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
    let file = OpenOptions::new().read(true).write(write).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Whether a file could not be opened for want of a descriptor, or of the kernel's memory for it.
pub fn is_out_of_descriptors(e: &io::Error) -> bool {
    let errno = Errno::from_io_error(e);
    errno.is_some_and(|errno| [Errno::MFILE, Errno::NFILE, Errno::NOMEM].contains(&errno))
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
