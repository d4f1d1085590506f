//! The file of a named snapshot, see `heapscribe_wire::named_snapshot`: written from the mapped session files, in
//! one pass, its beginning last.
#![allow(unsafe_code)]

use core::ffi::CStr;
use core::ops::Range;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use heapscribe_nolibc::sys::{self, Errno, File, Open};
use heapscribe_wire::head::HEAD_FILE_BYTES;
use heapscribe_wire::limits::LIVE_UNIT_BYTES;
use heapscribe_wire::named_snapshot::{
    EXTENT_HEADER_BYTES, FILE_PREFIX, HEADER_BYTES, Named, RECORDS_OFFSET, extent_header,
};
use heapscribe_wire::operation::RECORD_BYTES;

use crate::platform::mapped_file::{SharedFile, WINDOW_BYTES};
use crate::platform::session_path;
use crate::state::Session;

/// Names of files that are tried: others may have made some of them.
const TRIES: u32 = 64;

/// The number of the last snapshot. A child's may begin higher than it needs to.
static LAST: AtomicU32 = AtomicU32::new(0);

/// A file without its beginning, and how many extents it has.
pub(crate) struct Unfinished {
    file: File,
    directory: File,
    name: [u8; 24],
    extents: u32,
}

/// Writes all but the beginning. Nothing is left of it when that fails.
pub(crate) fn write(session: &Session, named: &Named<'_>) -> sys::Result<Unfinished> {
    let mut unfinished = create()?;
    match copy(session, named, &unfinished.file) {
        Ok(extents) => {
            unfinished.extents = extents;
            Ok(unfinished)
        }
        Err(e) => {
            unfinished.remove();
            Err(e)
        }
    }
}

/// Writes the beginning: now it is a snapshot.
pub(crate) fn finish(unfinished: Unfinished, named: &Named<'_>) -> sys::Result<()> {
    let bytes = Named { extents: unfinished.extents, ..*named }.to_bytes(true);
    let (magic, rest) = bytes.split_at(8);
    let written = unfinished.file.write_all_at(rest, 8).and_then(|()| unfinished.file.write_all_at(magic, 0));
    written.inspect_err(|_| unfinished.remove())
}

impl Unfinished {
    fn remove(&self) {
        if let Ok(name) = CStr::from_bytes_until_nul(&self.name) {
            let _ = self.directory.unlink_at(name);
        }
    }
}

/// Makes the next file of the session's directory.
fn create() -> sys::Result<Unfinished> {
    let directory = session_path::directory()?;
    for _ in 0..TRIES {
        let name = file_name(LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1));
        let path = CStr::from_bytes_until_nul(&name).map_err(|_| Errno::EINVAL)?;
        match directory.open_at(path, Open::CreateNew) {
            Ok(file) => return Ok(Unfinished { file, directory, name, extents: 0 }),
            Err(Errno::EEXIST) => {}
            Err(e) => return Err(e),
        }
    }
    Err(Errno::EEXIST)
}

/// `snapshot.N` and NULs.
fn file_name(number: u32) -> [u8; 24] {
    let mut name = [0; 24];
    let prefix = FILE_PREFIX.as_bytes();
    let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
    for (place, byte) in name.iter_mut().zip(prefix) {
        *place = *byte;
    }
    let mut rest = number;
    for place in name.iter_mut().skip(prefix.len()).take(digits).rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    name
}

/// Copies head, records and table; how many extents.
fn copy(session: &Session, named: &Named<'_>, file: &File) -> sys::Result<u32> {
    // A file over the limit would not be an error but SIGXFSZ.
    let limit = sys::file_size_limit();
    let records_bytes = named.records as usize * RECORD_BYTES;
    let mut at = (RECORDS_OFFSET + records_bytes) as u64;
    if at > limit {
        return Err(Errno::ENOMEM);
    }
    // SAFETY: the head is mapped as a whole.
    unsafe {
        file.write_memory_at(ptr::from_ref(session.head).cast(), HEAD_FILE_BYTES, HEADER_BYTES as u64)
    }?;
    write_mapped(session.threads.file(), 0..records_bytes, file, RECORDS_OFFSET as u64)?;
    let (mut extents, mut outcome) = (0, Ok(()));
    session.live.for_each_extent(named.live_units, |offset, length| {
        if outcome.is_err() {
            return;
        }
        let end = at + (EXTENT_HEADER_BYTES + length) as u64;
        outcome = if end > limit { Err(Errno::ENOMEM) } else { Ok(()) }
            .and_then(|()| file.write_all_at(&extent_header(offset as u64, length as u64), at))
            .and_then(|()| {
                write_mapped(
                    session.live.file(),
                    offset..offset + length,
                    file,
                    at + EXTENT_HEADER_BYTES as u64,
                )
            });
        (at, extents) = (end, extents + 1);
    });
    outcome.map(|()| extents)
}

/// Writes bytes of a mapped file, window by window.
fn write_mapped(from: &SharedFile, range: Range<usize>, to: &File, mut at: u64) -> sys::Result<()> {
    let mut offset = range.start;
    while offset < range.end {
        let n = (range.end - offset).min(WINDOW_BYTES - offset % WINDOW_BYTES);
        // SAFETY: in one window; what is not mapped there is an error code of the kernel's.
        unsafe { to.write_memory_at(from.at(offset), n, at) }?;
        (offset, at) = (offset + n, at + n as u64);
    }
    Ok(())
}

const _: () =
    assert!((LIVE_UNIT_BYTES as u64).is_multiple_of(heapscribe_wire::named_snapshot::EXTENT_STEP_BYTES));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_numbered() {
        for (number, name) in [(1, "snapshot.1"), (10, "snapshot.10"), (u32::MAX, "snapshot.4294967295")] {
            let bytes = file_name(number);
            assert_eq!(CStr::from_bytes_until_nul(&bytes).unwrap().to_str(), Ok(name));
        }
    }
}
