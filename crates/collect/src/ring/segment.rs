//! A file of events of a ring, and how files are written: all of what is to be added, or nothing.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use heapscribe_formats::model::Evicted;

/// Process, thread and number of a chunk that was not freed yet.
pub(super) type Unfreed = ((u32, u32), u64);

/// A file of events.
pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) file: File,
    pub(super) bytes: u64,
    pub(super) blocks: u64,
    pub(super) began_ns: u64,
    /// What it holds of each process, as it will be counted when it is evicted.
    pub(super) holds: BTreeMap<u32, Evicted>,
    /// Chunks in it that are in their sessions, too.
    pub(super) unfreed: Vec<Unfreed>,
}

/// Blocks of events that a ring is about to take.
#[derive(Default)]
pub(super) struct Coming {
    pub(super) bytes: Vec<u8>,
    pub(super) blocks: u64,
}

impl Coming {
    pub(super) fn push(&mut self, block: &[u8]) {
        self.bytes.extend_from_slice(block);
        self.blocks += 1;
    }
}

pub(super) fn append(path: &Path, at: u64, block: &[u8]) -> io::Result<()> {
    put(&mut OpenOptions::new().append(true).create(true).open(path)?, at, block)
}

/// Writes at the end of a file, which is at `at`; all of it or nothing.
pub(super) fn put(file: &mut File, at: u64, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes).inspect_err(|_| {
        let _ = file.set_len(at);
        let _ = io::Seek::seek(file, io::SeekFrom::Start(at));
    })
}
