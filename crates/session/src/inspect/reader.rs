//! One session, open for looking: its files, read by copies, and whether its process lives.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use heapscribe_formats::model::ModeChange;
use heapscribe_wire::chunk::{HEADER_BYTES, Header};
use heapscribe_wire::head::{BadHead, HEAD_FILE_BYTES, HOLD_OFFSET, Head};
use heapscribe_wire::limits::{CHUNKS_MAX, DEFS_BYTES_MAX};
use heapscribe_wire::operation::{FILE_NAME, Record};

use crate::clock::monotonic_ns;
use crate::files::{open_file, read_up_to};
use crate::head::read_records;
use crate::jit::{Running, Wanted};
use crate::key::SessionKey;
use crate::liveness::{self, Alive};
use crate::mode_changes::modes_with_off;
use heapscribe_diagnostics::Problem;

/// A head as it was at a moment.
#[derive(Clone, Debug)]
pub struct HeadCopy(Box<[u8]>);

impl HeadCopy {
    /// Takes bytes that are one.
    pub(super) fn from(bytes: Vec<u8>) -> Result<HeadCopy, BadHead> {
        Head::parse(&bytes)?;
        Ok(HeadCopy(bytes.into()))
    }

    fn read(file: &File) -> Result<HeadCopy, BadHead> {
        let mut bytes = vec![0; HEAD_FILE_BYTES];
        let n = read_up_to(file, &mut bytes, 0);
        bytes.truncate(n);
        HeadCopy::from(bytes)
    }

    /// The head in a file.
    pub(super) fn of(path: &Path) -> Result<HeadCopy> {
        let file = open_file(path, false).with_context(|| format!("cannot open {}", path.display()))?;
        HeadCopy::read(&file).with_context(|| path.display().to_string())
    }

    /// As it lay in the file.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The head, parsed.
    pub fn get(&self) -> Head<'_> {
        match Head::parse(&self.0) {
            Ok(head) => head,
            Err(_) => unreachable!("looked at when it was made"),
        }
    }
}

/// A session whose files are open.
#[derive(Debug)]
pub struct SessionReader {
    pub(super) directory: PathBuf,
    head: File,
    defs: File,
    pub(super) live: File,
    /// Whether the marks of its units may be written.
    pub(super) is_live_writable: bool,
    threads: File,
    log: File,
    alive: Option<Alive>,
    namespace: u64,
    /// Names of code that its runtime has compiled, when they were asked for.
    jit: Mutex<Option<Running>>,
}

impl SessionReader {
    pub(super) fn open(directory: &Path, key: SessionKey) -> Result<SessionReader> {
        let file = |name: &str, write: bool| {
            let path = directory.join(name);
            open_file(&path, write).ok_or_else(|| missing(&path))
        };
        let (head, writable) = (file("head", true)?, open_file(&directory.join("live"), true));
        let is_live_writable = writable.is_some();
        let namespace = HeadCopy::read(&head)
            .with_context(|| directory.join("head").display().to_string())?
            .get()
            .pid_namespace;
        Ok(SessionReader {
            directory: directory.to_owned(),
            head,
            defs: file("defs", false)?,
            live: writable.map_or_else(|| file("live", false), Ok)?,
            is_live_writable,
            threads: file(FILE_NAME, false)?,
            log: file("log", false)?,
            alive: Alive::find_in(namespace, key.pid, key.created_mono_ns),
            namespace,
            jit: Mutex::default(),
        })
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The head as it is now.
    pub fn head(&self) -> Result<HeadCopy> {
        HeadCopy::read(&self.head).with_context(|| self.directory.join("head").display().to_string())
    }

    /// The file of the head, to be written where readers may.
    pub(super) fn head_file(&self) -> &File {
        &self.head
    }

    /// The word by which readers hold operations back.
    pub(super) fn hold(&self) -> u32 {
        let mut word = [0; 4];
        read_up_to(&self.head, &mut word, HOLD_OFFSET as u64);
        u32::from_le_bytes(word)
    }

    /// Writes that word.
    pub(super) fn set_hold(&self, word: u32) -> std::io::Result<()> {
        self.head.write_all_at(&word.to_le_bytes(), HOLD_OFFSET as u64)
    }

    /// Its process in our own pid namespace, while it lives.
    pub fn living_pid(&self) -> Option<u32> {
        self.alive.as_ref().filter(|alive| alive.is_alive()).map(Alive::pid)
    }

    /// Whether numbers of its threads are those that we see.
    pub(super) fn is_in_our_namespace(&self) -> bool {
        self.namespace == 0 || self.namespace == liveness::own_namespace()
    }

    /// The records of its threads.
    pub fn records(&self, head: &Head<'_>) -> Vec<Record> {
        read_records(&self.threads, head)
    }

    /// Definitions from a byte on, as far as they are whole.
    pub fn definitions(&self, from: u64, committed: u64) -> Vec<u8> {
        let end = committed.min(DEFS_BYTES_MAX as u64);
        let mut bytes = vec![0; end.saturating_sub(from) as usize];
        let n = read_up_to(&self.defs, &mut bytes, from);
        bytes.truncate(n);
        bytes
    }

    /// The definitions that name what these run through of code that its runtime has compiled so far; none when it has ended.
    pub(super) fn jit_names(&self, definitions: &[u8]) -> Vec<u8> {
        let Some((pid, wanted)) = self.living_pid().zip(Wanted::of(&self.head, None, monotonic_ns())) else {
            return Vec::new();
        };
        let mut jit = self.jit.lock().unwrap_or_else(PoisonError::into_inner);
        jit.get_or_insert_with(|| Running::of(pid)).names(&wanted, definitions)
    }

    /// What was recorded of the process, when that was nothing for a time.
    pub(super) fn modes(&self, head: &Head<'_>) -> Vec<ModeChange> {
        modes_with_off(&self.directory, head.created_mono_ns, head.mode)
    }

    /// The headers of its chunks, of those too that are empty now.
    pub fn chunks(&self, head: &Head<'_>) -> Vec<Header> {
        let mut bytes = vec![0; (head.chunks_in_use as usize).min(CHUNKS_MAX) * HEADER_BYTES];
        let n = read_up_to(&self.log, &mut bytes, 0);
        bytes[..n].as_chunks().0.iter().map(Header::parse).collect()
    }
}

fn missing(path: &Path) -> anyhow::Error {
    let what = format!("cannot open {}", path.display());
    Problem::new(what, "a session is removed when its process ends; list sessions with `heapscribe ps`")
        .into()
}
