//! Words of another process's memory, by `/proc/PID/mem`: what an address has is copied, by pages, and nothing is believed of
//! it here. A page is read once until all are forgotten, so that words of one page are of one moment. How much is read is
//! bounded: then there are no more words, and every list ends.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const PAGE_BYTES: u64 = 4096;
/// Pages that are kept: a power of two.
const PAGES: usize = 1024;
const NO_PAGE: u64 = u64::MAX;
/// Words that are asked for at most: five for each free chunk.
const WORDS_MAX: u64 = 1 << 25;
/// Pages that are read at most, some of them more than once: 4 GiB.
const PAGES_MAX: u64 = 1 << 20;

/// The memory of a process.
#[derive(Debug)]
pub(crate) struct Remote {
    file: File,
    numbers: Vec<u64>,
    bytes: Vec<u8>,
    words_left: u64,
    pages_left: u64,
}

impl Remote {
    pub(crate) fn open(pid: u32) -> io::Result<Remote> {
        Ok(Remote::new(File::open(format!("/proc/{pid}/mem"))?))
    }

    pub(crate) fn new(file: File) -> Remote {
        Remote {
            file,
            numbers: vec![NO_PAGE; PAGES],
            bytes: vec![0; PAGES * PAGE_BYTES as usize],
            words_left: WORDS_MAX,
            pages_left: PAGES_MAX,
        }
    }

    /// Whether as much was read as may be.
    pub(crate) fn is_spent(&self) -> bool {
        self.words_left == 0 || self.pages_left == 0
    }

    /// The same, to be read no further than so many words and pages.
    #[cfg(test)]
    pub(crate) fn bounded(file: File, words: u64, pages: u64) -> Remote {
        Remote { words_left: words, pages_left: pages, ..Remote::new(file) }
    }

    /// Words that were asked for.
    #[cfg(test)]
    pub(crate) fn words_read(&self) -> u64 {
        WORDS_MAX - self.words_left
    }

    /// The word at an address; `None` where nothing can be read, or that is no multiple of 8, or when enough was read.
    pub(crate) fn word(&mut self, at: u64) -> Option<u64> {
        if !at.is_multiple_of(8) || self.is_spent() {
            return None;
        }
        self.words_left -= 1;
        let page = at / PAGE_BYTES;
        // Neighbours and pages that are a power of two apart go to different places.
        let place = ((page ^ page >> 10) as usize) % PAGES;
        let from = place * PAGE_BYTES as usize;
        if self.numbers[place] != page {
            self.numbers[place] = NO_PAGE;
            self.pages_left -= 1;
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
