//! The file: its name, how it is created, and how its windows are mapped. It is opened by its path for a moment
//! only: programs close descriptors that they do not know, and give their numbers to files of theirs - a
//! database had heaphook's lines in it.
#![allow(unsafe_code)]

use core::ffi::CStr;

use heapscribe_interpose::setting;
use heapscribe_nolibc::sys::{self, Advice, Errno, File, Open};

use super::windows::{MAPPED_BYTES, WINDOW_BYTES};

/// Bytes of the path: the longest that the kernel takes, and the name behind it.
const PATH_BYTES: usize = 4096 + 64;
/// Numbers that are tried for a log that is in the way.
const ASIDE_MAX: u64 = 9999;

/// A path with its NUL.
#[derive(Debug)]
struct Path {
    bytes: [u8; PATH_BYTES],
    len: usize,
}

impl Path {
    fn clear(&mut self) {
        self.bytes.fill(0);
        self.len = 0;
    }

    /// `HEAPLOG_DIR`, or the working directory: whole, because that may change.
    fn set_directory(&mut self) -> Result<(), Errno> {
        let mut set = |value: &[u8]| {
            self.add(value);
        };
        if setting::with(c"HEAPLOG_DIR", &mut set).is_none() || self.len == 0 {
            self.len = sys::working_directory(&mut self.bytes)?;
        }
        Ok(())
    }

    /// What does not fit is omitted, so that the path is none.
    fn add(&mut self, text: &[u8]) -> &mut Path {
        if let Some(place) = self.bytes.get_mut(self.len..self.len + text.len()) {
            place.copy_from_slice(text);
            self.len += text.len();
        }
        self
    }

    fn number(&mut self, number: u64) -> &mut Path {
        let digits = number.checked_ilog10().unwrap_or(0);
        for power in (0..=digits).rev() {
            self.add(&[b'0' + (number / 10u64.pow(power) % 10) as u8]);
        }
        self
    }

    fn as_c(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or(c"")
    }

    /// The path without its NUL.
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// The log's file. All zeros is one that is not created yet. It is never moved: a thread's stack may have no room for
/// two paths.
#[derive(Debug)]
pub(super) struct LogFile {
    path: Path,
    /// What a log that is in the way is called from now on.
    aside: Path,
    identity: (u64, u64),
}

impl LogFile {
    /// Makes `heaplog.PID.log`. One that is there already - this process was another program before, or its
    /// number another's - becomes `heaplog.PID.1.log` or the next that is free.
    pub(super) fn create(&mut self, pid: u32) -> Result<(), Errno> {
        self.path.set_directory()?;
        self.path.add(b"/heaplog.").number(u64::from(pid));
        let stem = self.path.len;
        self.path.add(b".log");
        let open = |path: &Path| File::open(path.as_c(), Open::Publish);
        let file = match open(&self.path) {
            Err(Errno::EEXIST) => self.rename_aside(stem).and_then(|()| open(&self.path))?,
            made => made?,
        };
        self.identity = file.stat()?.identity;
        Ok(())
    }

    fn rename_aside(&mut self, stem: usize) -> Result<(), Errno> {
        for number in 1..=ASIDE_MAX {
            self.aside.clear();
            self.aside.add(self.path.bytes.get(..stem).unwrap_or_default());
            self.aside.add(b".").number(number).add(b".log");
            match sys::rename_new(self.path.as_c(), self.aside.as_c()) {
                Err(Errno::EEXIST) => {}
                done => return done,
            }
        }
        Err(Errno::EEXIST)
    }

    pub(super) fn path(&self) -> &[u8] {
        self.path.as_bytes()
    }

    /// Opens it again; it is no longer ours when another file has its name.
    fn open(&self) -> Result<(File, u64), Errno> {
        let file = File::open(self.path.as_c(), Open::ReadWrite)?;
        let stat = file.stat()?;
        if stat.identity == self.identity { Ok((file, stat.size_bytes)) } else { Err(Errno::ENOENT) }
    }

    /// Maps a window, with all its pages there, so that no store into it can fail.
    pub(super) fn map(&self, number: u64) -> Result<*mut u8, Errno> {
        let file = self.allocate(number)?;
        let at = file.map_shared_from(number * WINDOW_BYTES, MAPPED_BYTES)?;
        populate(at)?;
        Ok(at)
    }

    /// Makes the file long enough for this window, with memory or disk blocks for all of it; the file.
    pub(super) fn allocate(&self, number: u64) -> Result<File, Errno> {
        let (file, size) = self.open()?;
        let begin = number * WINDOW_BYTES;
        let end = begin + MAPPED_BYTES as u64;
        if sys::file_size_limit() < end {
            return Err(Errno::EFBIG); // the kernel would send SIGXFSZ
        }
        match file.allocate(begin, MAPPED_BYTES as u64) {
            Err(Errno::EOPNOTSUPP) => fill(&file, size, end)?,
            allocated => allocated?,
        }
        Ok(file)
    }

    /// Truncates it to `end`.
    pub(super) fn truncate(&self, end: u64) -> Result<(), Errno> {
        let (file, size) = self.open()?;
        if end < size { file.truncate(end) } else { Ok(()) }
    }

    /// Writes a line without a window.
    pub(super) fn write(&self, position: u64, text: &[u8]) -> Result<(), Errno> {
        if sys::file_size_limit() < position + text.len() as u64 {
            return Err(Errno::EFBIG);
        }
        self.open()?.0.write_all_at(text, position)
    }
}

/// Zeros where the file has nothing yet: for file systems that can not allocate.
fn fill(file: &File, from: u64, end: u64) -> Result<(), Errno> {
    static ZEROS: [u8; 4096] = [0; 4096];
    let mut at = from;
    while at < end {
        let len = (end - at).min(ZEROS.len() as u64);
        file.write_all_at(ZEROS.get(..len as usize).unwrap_or_default(), at)?;
        at += len;
    }
    Ok(())
}

fn populate(at: *mut u8) -> Result<(), Errno> {
    // SAFETY: a mapping of ours that nobody knows yet.
    match unsafe { sys::advise(at, MAPPED_BYTES, Advice::PopulateWrite) } {
        Err(Errno::EFAULT) => {
            // SAFETY: a mapping of ours that nobody knows yet.
            let _ = unsafe { sys::unmap(at, MAPPED_BYTES) };
            Err(Errno::EFAULT)
        }
        // An older kernel gives the pages when they are touched.
        _ => Ok(()),
    }
}
