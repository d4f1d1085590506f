//! Traces as files: the one place of the reading commands that opens something.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Deref;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use anyhow::{Context, Result};
use heapscribe_analyze::{Answer, Options, Recording};
use heapscribe_formats::detect::{self, Format};
use heapscribe_formats::memtrace::{ReadOptions, Reader};
use heapscribe_formats::{Source, Trace, TraceError, gotrace, heaplog};

use crate::cli::SalvageArgs;
use crate::convert::from_heaplog::{self, About};
use crate::convert::from_memtrace::{self, Sizes};
use crate::convert::log_tally::LogTally;
use crate::convert::tally::Tally;
use crate::live::{self, Saved, Snapshot};
use crate::message::Problem;
use crate::ring;

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

/// A trace that is open, whatever format its file has.
pub(crate) struct Opened {
    trace: Trace<FileSource>,
    /// What only a memtrace file has.
    pub(crate) memtrace: Option<Tally>,
    /// What only a log of heaphook's has.
    pub(crate) heaplog: Option<LogTally>,
    /// What could not be read of a file of another format.
    pub(crate) problems: Vec<String>,
}

impl Deref for Opened {
    type Target = Trace<FileSource>;

    fn deref(&self) -> &Self::Target {
        &self.trace
    }
}

/// Opens a trace of ours, a session directory, a log of heaphook's, or a trace of memtrace's, whose samples
/// become the bytes that they stand for. So is the ring of a recording that was not finished.
pub(crate) fn open(path: &Path, salvage: SalvageArgs) -> Result<Opened> {
    if ring::is_ring(path) {
        return open_ring(path);
    }
    if path.is_dir() && live::is_session(path) {
        return open_session(path);
    }
    match format(path)? {
        Format::Memtrace => open_converted(path, salvage, Sizes::Estimated),
        Format::Heaplog => open_heaplog(path),
        Format::Go => Err(go_has_no_blocks(path).into()),
        Format::Unknown if is_part(path)? => {
            let what = format!("{} is a message log, not a heap trace", path.display());
            Err(Problem::new(what, "`report`, `dump` and `convert --to aos` read message logs").into())
        }
        Format::Native | Format::Unknown => {
            let trace = Trace::open(source(path)?).map_err(|e| unreadable(path, e))?;
            Ok(Opened { trace, memtrace: None, heaplog: None, problems: Vec::new() })
        }
    }
}

/// Whether a file is a part of a message log.
pub(crate) fn is_part(path: &Path) -> Result<bool> {
    if path.is_dir() {
        return Ok(false);
    }
    let mut first = [0; heapscribe_aos_log::read::DETECT_BYTES];
    let source = source(path)?;
    let n = source.read_at(0, &mut first).with_context(|| format!("cannot read {}", path.display()))?;
    let is_other = detect::detect(&first[..n]) != Format::Unknown;
    Ok(!is_other && heapscribe_aos_log::read::detect(&first[..n]))
}

/// Whether a file begins with a byte, after white space.
pub(crate) fn begins_with(path: &Path, byte: u8) -> Result<bool> {
    let mut first = [0; 64];
    let n =
        source(path)?.read_at(0, &mut first).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(first[..n].trim_ascii_start().first() == Some(&byte))
}

/// Opens a part of a message log.
pub(crate) fn open_part(path: &Path) -> Result<File> {
    Ok(source(path)?.file)
}

/// What is live in a session, or was when its process ended, as a trace.
fn open_session(path: &Path) -> Result<Opened> {
    let session = live::at(path)?.open()?;
    let (opened, _) = of_snapshot(&Snapshot::take(&session)?)?;
    Ok(opened)
}

/// A snapshot as a trace that has no name.
pub(crate) fn of_snapshot(snapshot: &Snapshot) -> Result<(Opened, Saved)> {
    let file = nameless_file().context("cannot create a temporary file")?;
    let saved = live::save(snapshot, &mut BufWriter::new(&file))?;
    let len = file.metadata().context("cannot read a temporary file")?.len();
    let trace = Trace::open(FileSource { file, len }).context("cannot read the snapshot")?;
    Ok((Opened { trace, memtrace: None, heaplog: None, problems: saved.problems.clone() }, saved))
}

/// Which format a file has. A session or a ring is a directory, and of ours.
pub(crate) fn format(path: &Path) -> Result<Format> {
    if path.is_dir() {
        return Ok(Format::Native);
    }
    let mut first = [0; detect::DETECT_BYTES];
    let n =
        source(path)?.read_at(0, &mut first).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(detect::detect(&first[..n]))
}

/// Converts a memtrace file into a file without a name, and opens that.
fn open_converted(path: &Path, salvage: SalvageArgs, sizes: Sizes) -> Result<Opened> {
    let mut reader = open_memtrace(path, salvage.options(true))?;
    let file = nameless_file().context("cannot create a temporary file")?;
    let (tally, problems) = from_memtrace::convert(&mut reader, BufWriter::new(&file), sizes)?;
    let len = file.metadata().context("cannot read a temporary file")?.len();
    let trace = Trace::open(FileSource { file, len }).map_err(|e| unreadable(path, e))?;
    Ok(Opened { trace, memtrace: Some(tally), heaplog: None, problems })
}

/// Converts a log of heaphook's into a file without a name, and opens that.
fn open_heaplog(path: &Path) -> Result<Opened> {
    let file = nameless_file().context("cannot create a temporary file")?;
    let (tally, problems) = convert_heaplog(path, BufWriter::new(&file))?;
    let len = file.metadata().context("cannot read a temporary file")?.len();
    let trace = Trace::open(FileSource { file, len }).map_err(|e| unreadable(path, e))?;
    Ok(Opened { trace, memtrace: None, heaplog: Some(tally), problems })
}

/// Converts a log of heaphook's; what is not whole, in words.
pub(crate) fn convert_heaplog(path: &Path, out: impl Write) -> Result<(LogTally, Vec<String>)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    from_heaplog::convert(&mut heaplog::Reader::new(source(path)?), &About::named(&name), out)
}

/// Makes one trace of the files of a ring, in a file without a name, and opens that.
fn open_ring(path: &Path) -> Result<Opened> {
    let file = nameless_file().context("cannot create a temporary file")?;
    let gathered = ring::gather(path, &file, false)?;
    let len = file.metadata().context("cannot read a temporary file")?.len();
    let trace = Trace::open(FileSource { file, len }).map_err(|e| unreadable(path, e))?;
    Ok(Opened { trace, memtrace: None, heaplog: None, problems: gathered.problems })
}

/// A file that goes with its last descriptor.
pub(crate) fn nameless_file() -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let path = std::env::temp_dir().join(format!(
        "heapscribe.{}.{}",
        std::process::id(),
        TEMPORARY.fetch_add(1, Relaxed)
    ));
    let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Numbers temporary files.
static TEMPORARY: AtomicU32 = AtomicU32::new(0);

/// Opens a trace of Go's execution tracer.
pub(crate) fn open_go(path: &Path) -> Result<gotrace::Trace<FileSource>> {
    gotrace::Trace::open(source(path)?).map_err(|e| {
        let what = format!("{}: {e}", path.display());
        Problem::new(what, "a Go trace begins with `go 1.NN trace`; heapscribe may not know this version")
            .into()
    })
}

/// What is wrong with a Go trace, in words.
pub(crate) fn go_problems<S: Source>(trace: &gotrace::Trace<S>) -> Vec<String> {
    let mut problems: Vec<_> = trace.problems().iter().map(ToString::to_string).collect();
    if trace.problems_more() != 0 {
        problems.push(format!("{} more like these", trace.problems_more()));
    }
    problems
}

/// Opens a memtrace file.
pub(crate) fn open_memtrace(path: &Path, options: ReadOptions) -> Result<Reader<FileSource>> {
    Reader::open(source(path)?, options).map_err(|e| {
        let what = format!("{}: {e}", path.display());
        Problem::new(what, "a memtrace file cannot be read without its first packet").into()
    })
}

/// Opens a file to be read at offsets.
pub(crate) fn source(path: &Path) -> Result<FileSource> {
    let shown = path.display();
    let file = File::open(path).map_err(|e| no_file(path, &e))?;
    let meta = file.metadata().with_context(|| format!("cannot read {shown}"))?;
    if !meta.is_file() {
        return Err(not_a_file(path, meta.is_dir()).into());
    }
    Ok(FileSource { file, len: meta.len() })
}

/// A Go trace where blocks are wanted.
pub(crate) fn go_has_no_blocks(path: &Path) -> Problem {
    let shown = path.display();
    Problem::new(
        format!("{shown} is a Go trace, which has no blocks with stacks"),
        format!("use report, plot, flame or dump: heapscribe report {shown}"),
    )
}

fn no_file(path: &Path, e: &io::Error) -> Problem {
    Problem::new(
        format!("cannot open {}: {}", path.display(), why(e)),
        "record a trace with `heapscribe record -o TRACE -- CMD`",
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
            format!("to recover a session: heapscribe recover {shown} -o run.hst"),
        )
    } else {
        Problem::new(format!("{shown} is not a regular file"), "write the trace to a file first")
    }
}

fn unreadable(path: &Path, e: TraceError) -> Problem {
    let hint = match &e {
        TraceError::Version { .. } => "it was written by a newer version of heapscribe; install that version",
        TraceError::NotATrace => "record a trace with `heapscribe record -o TRACE -- CMD`",
        TraceError::Io { .. } | TraceError::Damaged { .. } => "record it again; nothing of it can be read",
    };
    Problem::new(format!("{}: {e}", path.display()), hint)
}

/// Explains a trace.
pub(crate) fn analyze(opened: &Opened) -> Answer {
    let mut answer = heapscribe_analyze::analyze(&Recording::new(&opened.trace), &Options::default());
    answer.problems.extend_from_slice(&opened.problems);
    answer
}
