//! Reads `/proc/PID/pagemap`: 8 bytes for each page of the address space.
//!
//! ```text
//!   bit 63  in memory     62  swapped out     61  of a file, or shared anonymous memory
//!   bit 56  mapped by this process alone      0-54  frame number, 0 without privileges
//! ```
//! A page of an untouched mapping that was only read is the kernel's page of zeros: it is *in memory* here, and the
//! kernel's figures do not count it. It is mapped by others, too, as is a page that a forked child shares. So where the
//! sum of the pages is not what the kernel counts and the sum without those pages is, they are pages of zeros.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use heapscribe_formats::model::{Mapping, PageRun};

const IN_MEMORY: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const OF_FILE: u64 = 1 << 61;
const EXCLUSIVE: u64 = 1 << 56;
const ENTRY_BYTES: usize = 8;
/// Pages that are read at a time.
const PIECE_PAGES: usize = 1 << 17;

/// The file, open.
#[derive(Debug)]
pub(super) struct Pagemap {
    file: File,
    pub(super) page_bytes: u64,
    buffer: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Absent,
    Resident,
    /// In memory and not mapped by this process alone.
    Shared,
    Swapped,
}

fn state(entry: u64) -> State {
    match entry {
        // In an anonymous mapping only the huge page of zeros counts as a file's.
        _ if entry & IN_MEMORY != 0 && entry & OF_FILE != 0 => State::Absent,
        _ if entry & IN_MEMORY != 0 && entry & EXCLUSIVE != 0 => State::Resident,
        _ if entry & IN_MEMORY != 0 => State::Shared,
        _ if entry & SWAPPED != 0 => State::Swapped,
        _ => State::Absent,
    }
}

impl Pagemap {
    pub(super) fn new(file: File, page_bytes: u64) -> Pagemap {
        Pagemap { file, page_bytes, buffer: Vec::new() }
    }

    /// Appends the pages of an anonymous mapping to `runs`.
    pub(super) fn read(&mut self, mapping: &Mapping, runs: &mut Vec<PageRun>) -> io::Result<()> {
        // Nearly all of an address space may be reserved, and nothing of it used.
        if mapping.resident_bytes == 0 && mapping.swapped_bytes == 0 {
            return Ok(());
        }
        let mut found = Runs { page_bytes: self.page_bytes, runs: Vec::new() };
        let (mut page, end) = (mapping.start / self.page_bytes, mapping.end / self.page_bytes);
        while page < end {
            let pages = (end - page).min(PIECE_PAGES as u64);
            self.buffer.resize(pages as usize * ENTRY_BYTES, 0);
            let n = self.file.read_at(&mut self.buffer, page * ENTRY_BYTES as u64)?;
            for entry in self.buffer[..n].as_chunks().0 {
                found.push(page, state(u64::from_le_bytes(*entry)));
                page += 1;
            }
            if n < ENTRY_BYTES {
                break; // unmapped since
            }
        }
        runs.extend(found.settled(mapping.resident_bytes));
        Ok(())
    }
}

/// Runs of pages of one mapping.
struct Runs {
    page_bytes: u64,
    runs: Vec<(PageRun, State)>,
}

impl Runs {
    fn push(&mut self, page: u64, state: State) {
        if state == State::Absent {
            return;
        }
        let start = page * self.page_bytes;
        match self.runs.last_mut() {
            Some((run, last)) if *last == state && run.start + run.pages * self.page_bytes == start => {
                run.pages += 1;
            }
            _ => self.runs.push((PageRun { start, pages: 1, is_swapped: state == State::Swapped }, state)),
        }
    }

    fn bytes(&self, of: State) -> u64 {
        let pages = self.runs.iter().filter(|(_, state)| *state == of).map(|(run, _)| run.pages);
        pages.sum::<u64>() * self.page_bytes
    }

    /// The runs, without pages of zeros.
    fn settled(self, resident_bytes: u64) -> impl Iterator<Item = PageRun> {
        let (own, shared) = (self.bytes(State::Resident), self.bytes(State::Shared));
        let are_zeros = shared > 0 && own + shared != resident_bytes && own == resident_bytes;
        let counts = move |state: State| !(are_zeros && state == State::Shared);
        self.runs.into_iter().filter(move |(_, state)| counts(*state)).map(|(run, _)| run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: u64 = IN_MEMORY | EXCLUSIVE;

    /// Entries of pages from address 0 on; what they are when the kernel counts so many of them.
    fn check(entries: &[u64], resident_pages: u64, expected: &[(u64, u64, bool)]) {
        let mut runs = Runs { page_bytes: 1 << 12, runs: Vec::new() };
        (0..).zip(entries).for_each(|(page, entry)| runs.push(page, state(*entry)));
        let settled = runs.settled(resident_pages << 12);
        let found: Vec<_> = settled.map(|run| (run.start >> 12, run.pages, run.is_swapped)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn pages_of_one_state_are_one_run() {
        check(&[OWN, OWN, 0, SWAPPED, SWAPPED, OWN], 3, &[(0, 2, false), (3, 2, true), (5, 1, false)]);
        check(&[0, 0], 0, &[]);
        check(&[OWN | 5, IN_MEMORY | OF_FILE], 1, &[(0, 1, false)]);
    }

    #[test]
    fn pages_of_zeros_are_not_in_memory_and_those_of_a_child_are() {
        check(&[OWN, IN_MEMORY, OWN], 2, &[(0, 1, false), (2, 1, false)]);
        check(&[OWN, IN_MEMORY, OWN], 3, &[(0, 1, false), (1, 1, false), (2, 1, false)]);
        check(&[IN_MEMORY, IN_MEMORY], 2, &[(0, 2, false)]);
    }
}
