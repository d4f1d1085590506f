//! What is in the blocks of a running process, a file each.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::reader::SessionReader;
use super::snapshot::Snapshot;
use heapscribe_diagnostics::Problem;

/// Read and written in one go.
const PIECE_BYTES: u64 = 1 << 20;

/// Where contents are to go to, and where they come from.
#[derive(Debug)]
pub struct Contents {
    directory: PathBuf,
    memory: File,
}

/// How many blocks there were.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Read {
    /// Written whole.
    pub written: u64,
    /// Not to be read: given back since, or in pages that can not be had.
    pub skipped: u64,
}

impl Contents {
    /// Opens the memory of a process that lives, and makes a directory that is new or empty.
    pub fn begin(directory: &Path, session: &SessionReader) -> Result<Contents> {
        let Some(pid) = session.living_pid() else {
            let what = "the process has ended, so the contents of its blocks are lost";
            return Err(Problem::new(what, "remove --contents to write its blocks without them").into());
        };
        let memory = File::open(format!("/proc/{pid}/mem")).map_err(|e| {
            let what = format!("cannot read the memory of process {pid}: {e}");
            Problem::new(
                what,
                "this needs permission to trace the process; see /proc/sys/kernel/yama/ptrace_scope",
            )
        })?;
        let shown = directory.display();
        match fs::read_dir(directory).map(Iterator::count) {
            Ok(1..) => {
                let hint = "choose a new or an empty directory";
                return Err(Problem::new(format!("the directory {shown} is not empty"), hint).into());
            }
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(directory).with_context(|| format!("cannot create {shown}"))?;
            }
            Err(e) => return Err(e).with_context(|| format!("cannot read {shown}")),
        }
        Ok(Contents { directory: directory.to_owned(), memory })
    }

    /// Writes a file for each block. The process goes on meanwhile.
    pub fn write(&self, snapshot: &Snapshot) -> Result<Read> {
        let (mut read, mut failure) = (Read::default(), None);
        snapshot.for_each(|found| {
            let Ok(block) = found else { return };
            if failure.is_some() {
                return;
            }
            match self.block(block.address.0, block.slot.size_bytes) {
                Ok(true) => read.written += 1,
                Ok(false) => read.skipped += 1,
                Err(e) => failure = Some(e),
            }
        })?;
        match failure {
            None => Ok(read),
            Some(e) => Err(e).with_context(|| format!("cannot write to {}", self.directory.display())),
        }
    }

    /// Writes one; whether it could be read. Blocks that are hardly ever used may be larger than all
    /// memory, so they are read in pieces.
    fn block(&self, address: u64, size_bytes: u64) -> io::Result<bool> {
        let path = self.directory.join(format!("{address:#x}"));
        let file = File::create(&path)?;
        let mut at = 0;
        while at < size_bytes {
            let mut piece = vec![0; (size_bytes - at).min(PIECE_BYTES) as usize];
            if self.memory.read_exact_at(&mut piece, address + at).is_err() {
                drop(file);
                fs::remove_file(&path)?;
                return Ok(false);
            }
            file.write_all_at(&piece, at)?;
            at += piece.len() as u64;
        }
        Ok(true)
    }
}
