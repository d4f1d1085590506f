//! What a process has mapped, and which pages of it are in memory: `/proc/PID/smaps` and, for anonymous mappings,
//! `/proc/PID/pagemap`. Neither needs root for a process of one's own, and neither stops it: page faults go on, and a call
//! that changes mappings waits for the mapping that is being read, at most.
//!
//! *Invariants:* the process's memory is not read, and nothing of it becomes resident by being looked at.

mod own;
mod pagemap;
mod smaps;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Result;
use heapscribe_diagnostics::Problem;
use heapscribe_formats::model::{Mapping, PageRun};

use self::pagemap::Pagemap;
use crate::clock::monotonic_ns;
use crate::memory::recorder_private_bytes;

/// The kernel's files of a process, open.
#[derive(Debug)]
pub struct MapReader {
    smaps: File,
    pagemap: Pagemap,
    /// Files in it are the recorder's, not the program's; its head says how much other memory that has.
    session: PathBuf,
}

/// What was read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessMap {
    /// When reading began, CLOCK_MONOTONIC ns.
    pub begin_mono_ns: u64,
    /// When it ended.
    pub end_mono_ns: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// All mappings, by address.
    pub mappings: Vec<Mapping>,
    /// The pages of those that are anonymous, by address.
    pub runs: Vec<PageRun>,
}

impl MapReader {
    /// Opens the files of process `pid`, whose session this is.
    ///
    /// # Errors
    /// When the process has ended, or is not ours to look into.
    pub fn open(pid: u32, session: &Path) -> Result<MapReader> {
        let open = |name: &str| {
            let path = format!("/proc/{pid}/{name}");
            File::open(&path).map_err(|e| {
                let hint = "the pages of a process can be seen by its own user and by root, while it runs";
                Problem::new(format!("cannot open {path}: {e}"), hint)
            })
        };
        let smaps = open("smaps")?;
        let pagemap = Pagemap::new(open("pagemap")?, rustix::param::page_size() as u64);
        let session = session.canonicalize().unwrap_or_else(|_| session.to_owned());
        Ok(MapReader { smaps, pagemap, session })
    }

    /// Reads them, once.
    ///
    /// # Errors
    /// When the kernel refuses, as it does when the process has ended.
    pub fn read(&mut self) -> io::Result<ProcessMap> {
        let begin_mono_ns = monotonic_ns();
        let mut text = Vec::with_capacity(1 << 20);
        self.smaps.read_to_end(&mut text)?;
        let mut entries = smaps::parse(&text);
        if entries.is_empty() {
            return Err(io::Error::other("/proc/PID/smaps is empty: the process has ended"));
        }
        own::mark(&mut entries, recorder_private_bytes(&self.session));
        let mut mappings: Vec<_> = entries.into_iter().map(|entry| entry.mapping).collect();
        let mut runs = Vec::new();
        for mapping in &mut mappings {
            mapping.is_recorder |= is_in(&mapping.path, &self.session);
            if is_anonymous(mapping) {
                self.pagemap.read(mapping, &mut runs)?;
            }
        }
        let page_bytes = self.pagemap.page_bytes;
        Ok(ProcessMap { begin_mono_ns, end_mono_ns: monotonic_ns(), page_bytes, mappings, runs })
    }
}

/// Whether pages of a mapping are listed one by one: of none whose contents are those of a file.
fn is_anonymous(mapping: &Mapping) -> bool {
    let is_of_file = mapping.path.starts_with(b"/");
    let is_of_kernel = [&b"[vvar"[..], b"[vdso", b"[vsyscall", b"[uprobes"]
        .iter()
        .any(|name| mapping.path.starts_with(name));
    !is_of_file && !is_of_kernel && !mapping.access.shared
}

fn is_in(path: &[u8], directory: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let directory = directory.as_os_str().as_bytes();
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_were_written_to_are_seen_and_sum_to_what_the_kernel_counts() {
        // Larger than any block that glibc has not mapped by itself: of freed memory pages are in memory already.
        let bytes = 40 << 20;
        let mut block = vec![0u8; bytes];
        let page = rustix::param::page_size();
        block.iter_mut().step_by(2 * page).for_each(|byte| *byte = 1);
        let (address, written) = (block.as_ptr() as u64, (bytes / page / 2) as u64);
        let end = address + bytes as u64;
        let read = || MapReader::open(std::process::id(), Path::new("/nowhere")).unwrap().read().unwrap();
        let map = read();
        let is_in = |run: &&PageRun| run.start + page as u64 > address && run.start < end && !run.is_swapped;
        let pages: u64 = map.runs.iter().filter(is_in).map(|run| run.pages).sum();
        assert!((written..=written + 2).contains(&pages), "{pages} {written}");
        // Each run lies in an anonymous mapping, and those of one are about what the kernel counts of it.
        // Tests beside this one change what lies in the same mapping while it is read, but not always.
        let apart = |map: ProcessMap| {
            let of = map.mappings.iter().find(|m| m.start <= address && end <= m.end).unwrap();
            let runs =
                map.runs.iter().filter(|run| of.start <= run.start && run.start < of.end && !run.is_swapped);
            runs.map(|run| run.pages * map.page_bytes).sum::<u64>().abs_diff(of.resident_bytes)
        };
        let least = (0..100).map(|_| apart(read())).find(|apart| *apart <= 64 << 10);
        assert!(least.is_some());
    }

    #[test]
    fn a_process_that_is_not_there_has_no_map() {
        let error = MapReader::open(u32::MAX, Path::new("/nowhere")).unwrap_err();
        assert!(error.to_string().starts_with("cannot open /proc/4294967295/smaps"), "{error}");
    }

    #[test]
    fn files_of_the_session_are_the_recorders() {
        let check = |path: &str, expected| {
            assert_eq!(is_in(path.as_bytes(), Path::new("/dev/shm/hs/5.1")), expected, "{path}");
        };
        check("/dev/shm/hs/5.1/live", true);
        check("/dev/shm/hs/5.11/live", false);
        check("[heap]", false);
    }
}
