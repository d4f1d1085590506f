//! How much memory a recorded process has by the kernel's count, without what the recorder has of it.
//!
//! The kernel counts the pages of a session's files that the process has touched as its own: of a million blocks of
//! 64 bytes 39 MiB of 117. They are as many as these files take, which the file system says. What it has besides, private
//! memory, its head says: 0.1 MiB there, 15 of 57 MiB in a Python with 200,000 frames of different call paths.

use std::fs::{self, File};
use std::mem::offset_of;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use heapscribe_formats::model::MemorySample;
use heapscribe_wire::head::SharedHead;

use crate::clock::monotonic_ns;

/// The kernel's count for one process.
pub struct Memory {
    statm: Option<File>,
    /// The session whose files are not the program's.
    session: Option<PathBuf>,
}

/// The files of a session that its process maps.
const MAPPED: [&str; 5] = ["head", "defs", "live", "log", "threads"];
/// Where its head has how much private memory it has.
const OWN_BYTES_AT: u64 = offset_of!(SharedHead, own_bytes) as u64;
/// The unit of a file's blocks.
const BLOCK_BYTES: u64 = 512;

impl Memory {
    /// That of process `pid`; without samples when it has ended.
    pub fn of(pid: u32) -> Memory {
        Memory { statm: File::open(format!("/proc/{pid}/statm")).ok(), session: None }
    }

    /// That of a process that has ended, and whose pid may be another's by now: without samples.
    pub fn of_ended() -> Memory {
        Memory { statm: None, session: None }
    }

    /// The same without what the recorder has in the files of a session.
    pub fn without(self, session: &Path) -> Memory {
        Memory { session: Some(session.to_owned()), ..self }
    }

    /// What the recorder has in the files of the session.
    fn recorder_bytes(&self) -> u64 {
        let files = self.session.iter().flat_map(|session| MAPPED.map(|name| session.join(name)));
        files.filter_map(|path| Some(fs::metadata(path).ok()?.blocks() * BLOCK_BYTES)).sum()
    }

    /// A sample; `None` when the process has ended.
    pub fn sample(&self) -> Option<MemorySample> {
        let mut text = [0; 128];
        let n = self.statm.as_ref()?.read_at(&mut text, 0).ok()?;
        let mut pages = std::str::from_utf8(&text[..n]).ok()?.split_whitespace().map(str::parse::<u64>);
        let page_bytes = rustix::param::page_size() as u64;
        let mut next = || Some(pages.next()?.ok()? * page_bytes);
        let (virtual_bytes, rss_bytes, shared_bytes) = (next()?, next()?, next()?);
        let recorder_bytes = self.recorder_bytes().min(shared_bytes);
        let private_bytes = self.session.as_deref().map_or(0, recorder_private_bytes);
        let private_bytes = private_bytes.min(rss_bytes.saturating_sub(shared_bytes));
        (rss_bytes > 0).then_some(MemorySample {
            mono_ns: monotonic_ns(),
            rss_bytes: rss_bytes - (recorder_bytes + private_bytes).min(rss_bytes),
            shared_bytes: shared_bytes - recorder_bytes,
            virtual_bytes,
        })
    }
}

/// What the recorder of a session has of private memory. Nothing stays open: there may be thousands of processes.
pub(crate) fn recorder_private_bytes(session: &Path) -> u64 {
    let read = || {
        let mut word = [0; 8];
        File::open(session.join("head")).ok()?.read_exact_at(&mut word, OWN_BYTES_AT).ok()?;
        Some(u64::from_le_bytes(word))
    };
    read().unwrap_or(0)
}
