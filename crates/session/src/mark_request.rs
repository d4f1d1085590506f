//! A mark that `ctl` requests: `ctl PID mark NAME` writes a request in the session's directory, and the collector
//! takes it.
//!
//! ```text
//!   mark      CLOCK_MONOTONIC ns u64   name          made beside and moved to its place; the collector removes it
//! ```

use std::fs;
use std::io;
use std::path::Path;

use heapscribe_wire::limits::MARK_NAME_BYTES_MAX;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::clock::monotonic_ns;
use crate::files::{open_file, read_up_to};

/// The request's name in a session's directory.
const FILE_NAME: &str = "mark";
/// Bytes before the name.
const TIME_BYTES: usize = 8;

/// A mark that was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MarkRequest {
    /// When, by CLOCK_MONOTONIC.
    pub mono_ns: u64,
    /// Its name.
    pub name: Vec<u8>,
}

/// Leaves a request for the drainer of this session.
///
/// # Errors
/// `AlreadyExists` while another waits to be taken, and those of the file system.
pub fn request(directory: &Path, name: &[u8]) -> io::Result<()> {
    let made = directory.join(format!("{FILE_NAME}.{}", std::process::id()));
    let name = name.get(..MARK_NAME_BYTES_MAX).unwrap_or(name);
    fs::write(&made, [&monotonic_ns().to_le_bytes(), name].concat())?;
    let moved = renameat_with(CWD, &made, CWD, directory.join(FILE_NAME), RenameFlags::NOREPLACE);
    moved.map_err(|e| {
        let _ = fs::remove_file(&made);
        io::Error::from(e)
    })
}

/// Whether a request waits to be taken.
pub fn is_waiting(directory: &Path) -> bool {
    directory.join(FILE_NAME).exists()
}

/// Takes the request that waits, if there is one.
pub fn take(directory: &Path) -> Option<MarkRequest> {
    let path = directory.join(FILE_NAME);
    let file = open_file(&path, false)?;
    let mut bytes = [0; TIME_BYTES + MARK_NAME_BYTES_MAX];
    let n = read_up_to(&file, &mut bytes, 0);
    fs::remove_file(&path).ok()?;
    let (time, name) = bytes.get(..n)?.split_first_chunk()?;
    Some(MarkRequest { mono_ns: u64::from_le_bytes(*time), name: name.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_taken_once_and_refused_while_another_waits() {
        let place = tempfile::tempdir().unwrap();
        request(place.path(), b"warm").unwrap();
        assert!(is_waiting(place.path()));
        assert_eq!(request(place.path(), b"next").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(take(place.path()).unwrap().name, b"warm");
        assert_eq!((take(place.path()), is_waiting(place.path())), (None, false));
    }
}
