//! Traces as files: the one place of the reading commands that opens something.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result};
use heapscribe_analyze::{Answer, Options, Recording};
use heapscribe_trace::memtrace::{ReadOptions, Reader};
use heapscribe_trace::{Source, Trace, TraceError};

use crate::message::Problem;

/// A file that is read at offsets, by several threads at a time.
#[derive(Debug)]
pub(crate) struct FileSource {
    file: File,
    len: u64,
}

impl Source for FileSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, at: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(at, offset)
    }
}

/// Opens a trace.
pub(crate) fn open(path: &Path) -> Result<Trace<FileSource>> {
    Trace::open(source(path)?).map_err(|e| unreadable(path, e).into())
}

/// Opens a memtrace file.
pub(crate) fn open_memtrace(path: &Path, options: ReadOptions) -> Result<Reader<FileSource>> {
    Reader::open(source(path)?, options).map_err(|e| {
        let what = format!("{}: {e}", path.display());
        Problem::new(what, "without its first packet nothing of a memtrace file can be read").into()
    })
}

fn source(path: &Path) -> Result<FileSource> {
    let shown = path.display();
    let file = File::open(path).map_err(|e| no_file(path, &e))?;
    let meta = file.metadata().with_context(|| format!("cannot read {shown}"))?;
    if !meta.is_file() {
        return Err(not_a_file(path, meta.is_dir()).into());
    }
    Ok(FileSource { file, len: meta.len() })
}

fn no_file(path: &Path, e: &io::Error) -> Problem {
    Problem::new(
        format!("cannot open {}: {}", path.display(), why(e)),
        "a trace comes from `heapscribe record -o TRACE -- CMD`",
    )
}

fn why(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        kind => kind.to_string(),
    }
}

fn not_a_file(path: &Path, is_dir: bool) -> Problem {
    let shown = path.display();
    if is_dir {
        Problem::new(
            format!("{shown} is a directory, not a trace"),
            format!("if it is a session that was left behind: heapscribe collect {shown} -o run.hst"),
        )
    } else {
        Problem::new(format!("{shown} is no regular file"), "write the trace to a file first")
    }
}

fn unreadable(path: &Path, e: TraceError) -> Problem {
    let hint = match &e {
        TraceError::Version { .. } => "it was written by a later heapscribe; install that one to read it",
        TraceError::NotATrace => "a trace comes from `heapscribe record -o TRACE -- CMD`",
        TraceError::Io { .. } | TraceError::Damaged { .. } => "nothing of it can be read; record again",
    };
    Problem::new(format!("{}: {e}", path.display()), hint)
}

/// Explains a trace.
pub(crate) fn analyze(trace: &Trace<FileSource>) -> Answer {
    heapscribe_analyze::analyze(&Recording::new(trace), &Options::default())
}
