//! How much memory a recorded process has by the kernel's count.

use std::fs::File;
use std::os::unix::fs::FileExt;

use heapscribe_formats::model::MemorySample;

use crate::clock::monotonic_ns;

/// The kernel's count for one process.
pub struct Memory {
    statm: Option<File>,
}

impl Memory {
    /// That of process `pid`; without samples when it has ended.
    pub fn of(pid: u32) -> Memory {
        Memory { statm: File::open(format!("/proc/{pid}/statm")).ok() }
    }

    /// A sample; `None` when the process has ended.
    pub fn sample(&self) -> Option<MemorySample> {
        let mut text = [0; 128];
        let n = self.statm.as_ref()?.read_at(&mut text, 0).ok()?;
        let mut pages = std::str::from_utf8(&text[..n]).ok()?.split_whitespace().map(str::parse::<u64>);
        let page_bytes = rustix::param::page_size() as u64;
        let mut next = || Some(pages.next()?.ok()? * page_bytes);
        let (virtual_bytes, rss_bytes, shared_bytes) = (next()?, next()?, next()?);
        (rss_bytes > 0).then_some(MemorySample {
            mono_ns: monotonic_ns(),
            rss_bytes,
            shared_bytes,
            virtual_bytes,
        })
    }
}

/// The memory of a process now; `None` when it has ended.
pub fn memory_of(pid: u32) -> Option<MemorySample> {
    Memory::of(pid).sample()
}
