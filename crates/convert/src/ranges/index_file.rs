//! The index of a trace as a file: opened if it is of this trace, else made.

use std::io::{self, BufWriter};
use std::path::Path;

use heapscribe_analyze::input::History;
use heapscribe_index::{BuildOptions, Index, TraceId, build};

use super::place::{AtomicFile, places};
use crate::file_source::{FileSource, source};

/// How to make an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexOptions {
    /// Memory that making it may take, bytes.
    pub memory_bytes: u64,
    /// Whether to use and to make one at all.
    pub is_wanted: bool,
}

impl Default for IndexOptions {
    fn default() -> Self {
        IndexOptions { memory_bytes: 1 << 30, is_wanted: true }
    }
}

/// The index of a trace; made and kept if there is none of it. `None` if there is no place for it.
pub(super) fn open_or_make<H: History>(
    history: &H,
    trace: &Path,
    options: &IndexOptions,
    progress: &mut dyn FnMut(u64, u64),
) -> io::Result<Option<Index<FileSource>>> {
    let Ok(file) = source(trace) else { return Ok(None) };
    let id = TraceId::of(&file)?;
    let places = places(trace);
    // What cannot be opened, is damaged, or of another trace or version is made again.
    let opened = places.iter().find_map(|place| Index::open(source(place).ok()?, &id).ok());
    if opened.is_some() {
        return Ok(opened);
    }
    let Some(unfinished) = places.iter().find_map(|place| AtomicFile::create(place).ok()) else {
        return Ok(None);
    };
    let out = BufWriter::with_capacity(1 << 20, &unfinished.file);
    build(history, &id, &BuildOptions::within(options.memory_bytes), out, progress)?;
    let made = unfinished.finish(&file.file)?;
    Ok(Index::open(FileSource::of(made)?, &id).ok())
}
