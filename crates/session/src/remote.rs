//! Words of another process's memory, by `/proc/PID/mem`: what an address has is copied, by pages, and nothing is believed of
//! it here. A page is read once until all are forgotten, so that words of one page are of one moment.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const PAGE_BYTES: u64 = 4096;
/// Pages that are kept: a power of two.
const PAGES: usize = 1024;
const NO_PAGE: u64 = u64::MAX;

/// The memory of a process.
#[derive(Debug)]
pub(crate) struct Remote {
    file: File,
    numbers: Vec<u64>,
    bytes: Vec<u8>,
}

impl Remote {
    pub(crate) fn open(pid: u32) -> io::Result<Remote> {
        Ok(Remote::new(File::open(format!("/proc/{pid}/mem"))?))
    }

    pub(crate) fn new(file: File) -> Remote {
        Remote { file, numbers: vec![NO_PAGE; PAGES], bytes: vec![0; PAGES * PAGE_BYTES as usize] }
    }

    /// The word at an address; `None` where nothing can be read, or that is no multiple of 8.
    pub(crate) fn word(&mut self, at: u64) -> Option<u64> {
        if !at.is_multiple_of(8) {
            return None;
        }
        let page = at / PAGE_BYTES;
        // Neighbours and pages that are a power of two apart go to different places.
        let place = ((page ^ page >> 10) as usize) % PAGES;
        let from = place * PAGE_BYTES as usize;
        if self.numbers[place] != page {
            self.numbers[place] = NO_PAGE;
            let bytes = &mut self.bytes[from..from + PAGE_BYTES as usize];
            self.file.read_exact_at(bytes, page * PAGE_BYTES).ok()?;
            self.numbers[place] = page;
        }
        let within = from + (at % PAGE_BYTES) as usize;
        Some(u64::from_le_bytes(self.bytes.get(within..within + 8)?.try_into().ok()?))
    }

    /// Reads pages anew from now on.
    pub(crate) fn forget(&mut self) {
        self.numbers.fill(NO_PAGE);
    }
}
