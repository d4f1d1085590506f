//! The one way in: a path is looked at once, for what it holds, and every command takes what that gives.
//!
//! ```text
//!   directory   with `session`                  Ring       of a recording that was not finished
//!               with `head`, or a base of one   Session    of a process, alive or dead
//!   file        by its first bytes              File(Format), AosPart, Json
//! ```
//! Most commands want blocks with stacks: [`Input::into_trace`] makes a trace of ours of whatever has them. A format
//! that is added is a folder in `heapscribe-formats`, with a line in its table of first bytes, and an arm of
//! [`Input::into_trace`] here.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use heapscribe_diagnostics::Problem;
use heapscribe_formats::detect::{self, Format};
use heapscribe_formats::memtrace::{ReadOptions, Reader};
use heapscribe_formats::{Trace, TraceError, gotrace, heaplog};
use heapscribe_session::inspect::{self, Snapshot};

use crate::file_source::{FileSource, source};
use crate::heaplog::{LogTally, from as from_heaplog, from::About};
use crate::heaptrack;
use crate::memtrace::{from as from_memtrace, from::Sizes};
use crate::opened_trace::Opened;
use crate::refused::{bundle_has_no_blocks, go_has_no_blocks, part_has_no_blocks, profile_has_no_events};
use crate::ring;
use crate::{go_sums, heap_profile};

/// As many first bytes as any format wants to see.
const FIRST_BYTES: usize = if detect::DETECT_BYTES > heapscribe_aos_log::read::DETECT_BYTES {
    detect::DETECT_BYTES
} else {
    heapscribe_aos_log::read::DETECT_BYTES
};

/// How a file is read.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Salvage {
    /// Whether damage in a memtrace file is skipped; ours are always read past it.
    pub damage: bool,
    /// Whether stacks keep the frames of an interpreter's own code beside those of the code that it runs.
    pub native: bool,
}

impl Salvage {
    /// How to read.
    pub fn options(self, stacks: bool) -> ReadOptions {
        ReadOptions { stacks, salvage: self.damage }
    }
}

/// What a path holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A file of one of the formats; also one of none that is known.
    File(Format),
    /// The ring of a recording that was not finished.
    Ring,
    /// The session of a process, or a base directory that has no other.
    Session,
    /// A part of an AOS message log.
    AosPart,
    /// JSON text: message lines, for a conversion to AOS.
    Json,
}

/// Whether files of a kind are compressed.
fn is_packed(kind: Kind) -> bool {
    matches!(kind, Kind::File(format) if format == Format::Heaptrack || heap_profile::is_one(format))
}

/// A path that was looked at.
pub struct Input {
    path: PathBuf,
    kind: Kind,
    /// None for a directory.
    file: Option<FileSource>,
}

impl Input {
    /// Looks once at what there is.
    ///
    /// # Errors
    /// When there is nothing, or nothing that can be read.
    pub fn open(path: &Path) -> Result<Input> {
        let directory = |kind| Ok(Input { path: path.to_owned(), kind, file: None });
        if ring::is_ring(path) {
            return directory(Kind::Ring);
        }
        if path.is_dir() && inspect::is_session(path) {
            return directory(Kind::Session);
        }
        let file = source(path)?;
        let mut first = [0; FIRST_BYTES];
        let read = file.file.read_at(&mut first, 0);
        let n = read.with_context(|| format!("cannot read {}", path.display()))?;
        if n == 0 && is_named_as_part(path) {
            return Err(empty_part(path).into());
        }
        let mut kind = kind_of(&first[..n]);
        if matches!(kind, Kind::File(Format::Unknown) | Kind::AosPart) {
            let mut contents = [0; FIRST_BYTES];
            let n = heaptrack::first_bytes(&file.file, &first[..n], &mut contents);
            // Parts of message logs are compressed, too, and say so no sooner.
            kind = Some(kind_of(&contents[..n])).filter(|of| is_packed(*of)).unwrap_or(kind);
        }
        Ok(Input { path: path.to_owned(), kind, file: Some(file) })
    }

    /// Whether a name is that of something to be read, and not of a process whose program lies in this directory.
    pub fn is_named(name: &Path) -> bool {
        let is_known = |input: Input| input.kind != Kind::File(Format::Unknown);
        Input::open(name).is_ok_and(is_known)
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What has blocks with stacks, as a trace of ours: memtrace's samples become the bytes that they stand for.
    ///
    /// # Errors
    /// Of what has none, and when nothing of it can be read.
    pub fn into_trace(self, salvage: Salvage) -> Result<Opened> {
        if let Kind::File(format) = self.kind
            && heap_profile::is_one(format)
        {
            return Err(profile_has_no_events(&self.path).into());
        }
        self.into_sums(salvage)
    }

    /// The same, and profiles of other programs: sums by stack, which [`Opened::profile`] has then.
    ///
    /// # Errors
    /// The same.
    pub fn into_sums(self, salvage: Salvage) -> Result<Opened> {
        let mut opened = self.into_trace_of_ours(salvage)?;
        if salvage.native {
            opened.trace.keep_native();
        }
        Ok(opened)
    }

    /// The same, and what a page can show of Go's traces: the heap over time, and objects where there are any.
    ///
    /// # Errors
    /// The same.
    pub fn into_seen(self, salvage: Salvage) -> Result<Opened> {
        if self.kind != Kind::File(Format::Go) {
            return self.into_sums(salvage);
        }
        let path = self.path.clone();
        heap_profile::opened(go_sums::open(&self.into_go()?, &path)?)
    }

    fn into_trace_of_ours(self, salvage: Salvage) -> Result<Opened> {
        match self.kind {
            Kind::File(Format::Native | Format::Unknown) | Kind::Json => self.into_native(),
            Kind::Ring => self.gathered(),
            Kind::Session => self.snapshot(),
            Kind::File(Format::Memtrace) => self.convert_memtrace(salvage),
            Kind::File(Format::Heaplog) => self.convert_heaplog(),
            Kind::File(Format::Heaptrack) => self.convert_heaptrack(),
            Kind::File(format @ (Format::Pprof | Format::HeapText | Format::Dhat | Format::Massif)) => {
                let (path, file) = self.into_file()?;
                heap_profile::open(&file, format, &path)
            }
            Kind::File(Format::Go) => Err(go_has_no_blocks(&self.path).into()),
            Kind::AosPart => Err(part_has_no_blocks(&self.path).into()),
        }
    }

    /// A trace of Go's execution tracer.
    ///
    /// # Errors
    /// When it is none, or of a version that is not known.
    pub fn into_go(self) -> Result<gotrace::Trace<FileSource>> {
        let (path, file) = self.into_file()?;
        gotrace::Trace::open(file).map_err(|e| {
            let what = format!("{}: {e}", path.display());
            Problem::new(what, "a Go trace begins with `go 1.NN trace`; heapscribe may not know this version")
                .into()
        })
    }

    /// A memtrace file, event by event.
    ///
    /// # Errors
    /// When it is none, or its first packet is damaged.
    pub fn into_memtrace(self, options: ReadOptions) -> Result<Reader<FileSource>> {
        let (path, file) = self.into_file()?;
        Reader::open(file, options).map_err(|e| {
            let what = format!("{}: {e}", path.display());
            Problem::new(what, "a memtrace file cannot be read without its first packet").into()
        })
    }

    /// A log of heaphook's, converted; what of it is not whole, in words.
    ///
    /// # Errors
    /// Those of the medium.
    pub fn heaplog_into(self, out: impl Write) -> Result<(LogTally, Vec<String>)> {
        let (about, mut reader) = self.into_heaplog()?;
        from_heaplog::convert(&mut reader, &about, out)
    }

    fn into_heaplog(self) -> Result<(About, heaplog::Reader<FileSource>)> {
        let (path, file) = self.into_file()?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok((About::named(&name), heaplog::Reader::new(file)))
    }

    /// A data file of heaptrack's, converted; what of it is not whole, in words.
    ///
    /// # Errors
    /// Those of the medium.
    pub fn heaptrack_into(self, out: impl Write) -> Result<Vec<String>> {
        let (path, file) = self.into_file()?;
        let unpacked = heaptrack::unpacked(&file.file);
        let unpacked = unpacked.with_context(|| format!("cannot read {}", path.display()))?;
        Ok(heaptrack::from::convert(unpacked, out)?)
    }

    /// The file itself, from its beginning.
    ///
    /// # Errors
    /// When it is a directory.
    pub fn into_plain_file(self) -> Result<File> {
        Ok(self.into_file()?.1.file)
    }

    fn into_file(self) -> Result<(PathBuf, FileSource)> {
        match self.file {
            Some(file) => Ok((self.path, file)),
            None => source(&self.path).map(|file| (self.path, file)),
        }
    }

    fn into_native(self) -> Result<Opened> {
        let (path, file) = self.into_file()?;
        let trace = Trace::open(file).map_err(|e| unreadable(&path, e))?;
        if trace.has_symbols() && trace.processes().is_empty() {
            return Err(bundle_has_no_blocks(&path).into());
        }
        Ok(Opened::new(trace, Vec::new()))
    }

    /// The files of a ring as one trace.
    fn gathered(self) -> Result<Opened> {
        let path = self.path;
        let made = Opened::made(|file| ring::gather(&path, file, false, None))?;
        made.opened(|gathered| gathered.problems).map_err(|e| unreadable(&path, e).into())
    }

    /// What is live in a session, or was when its process ended.
    fn snapshot(self) -> Result<Opened> {
        let session = inspect::at(&self.path)?.open()?;
        let snapshot = Snapshot::take(&session)?.with_jit_names(&session);
        Ok(Opened::of_snapshot(&snapshot.at_its_end(&session))?.0)
    }

    fn convert_memtrace(self, salvage: Salvage) -> Result<Opened> {
        let path = self.path.clone();
        let mut reader = self.into_memtrace(salvage.options(true))?;
        let made =
            Opened::made(|file| from_memtrace::convert(&mut reader, BufWriter::new(file), Sizes::Estimated))?;
        let (tally, problems) = made.result;
        let mut trace = Trace::open(made.file).map_err(|e| unreadable(&path, e))?;
        trace.gap_at = reader.damaged_at();
        Ok(Opened { memtrace: Some(tally), ..Opened::new(trace, problems) })
    }

    fn convert_heaptrack(self) -> Result<Opened> {
        let path = self.path.clone();
        let made = Opened::made(|file| self.heaptrack_into(BufWriter::new(file)))?;
        made.opened(|problems| problems).map_err(|e| unreadable(&path, e).into())
    }

    fn convert_heaplog(self) -> Result<Opened> {
        let path = self.path.clone();
        let (about, mut reader) = self.into_heaplog()?;
        let made = Opened::made(|file| from_heaplog::convert(&mut reader, &about, BufWriter::new(file)))?;
        let (tally, problems) = made.result;
        let mut trace = Trace::open(made.file).map_err(|e| unreadable(&path, e))?;
        trace.gap_at = reader.skipped().map(|skipped| skipped.first_offset).min();
        Ok(Opened { heaplog: Some(tally), ..Opened::new(trace, problems) })
    }
}

/// What a file with these first bytes is.
fn kind_of(first: &[u8]) -> Kind {
    match detect::detect(first) {
        Format::Unknown if heapscribe_aos_log::read::detect(first) => Kind::AosPart,
        Format::Unknown if first.trim_ascii_start().first() == Some(&b'{') => Kind::Json,
        format => Kind::File(format),
    }
}

/// An empty file has no first bytes: its name is all that there is.
fn is_named_as_part(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    [".bfbs", ".bfbs.sz", ".bfbs.xz", ".bfbs.zst"].iter().any(|extension| name.ends_with(extension))
}

fn empty_part(path: &Path) -> Problem {
    let what = format!("{} is an empty part of a message log", path.display());
    Problem::new(
        what,
        "the program that wrote it has only begun, or was killed before it wrote the first messages",
    )
}

fn unreadable(path: &Path, e: TraceError) -> Problem {
    let hint = match &e {
        TraceError::Version { .. } => "it was written by a newer version of heapscribe; install that version",
        TraceError::NotATrace if is_empty(path) => {
            let what = format!("{}: the file is empty", path.display());
            return Problem::new(what, "the recording that was to write it has failed, or has only begun");
        }
        TraceError::NotATrace => "record a trace with `heapscribe record -o TRACE -- CMD`",
        TraceError::Io { .. } | TraceError::Damaged { .. } => "record it again; nothing of it can be read",
    };
    Problem::new(format!("{}: {e}", path.display()), hint)
}

fn is_empty(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.len() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, bytes: &[u8], kind: Kind) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(Input::open(&path).unwrap().kind(), kind, "{name}");
    }

    #[test]
    fn a_file_is_known_by_its_first_bytes_and_not_by_its_name() {
        check("x.ctf", b"go 1.19 trace\0\0\0", Kind::File(Format::Go));
        check("x.hst", b"\xc1\x1f\xfc\xc1", Kind::File(Format::Memtrace));
        check("x", b"malloc 0x55d0 24 0\n", Kind::File(Format::Heaplog));
        check("go.pb", b"\x0a\x04\x08\x01\x10\x02\x12\x00", Kind::File(Format::Pprof));
        check("x.heap", b"heap_v2/1\n", Kind::File(Format::HeapText));
        check("x.json", b"\n {\"channel\":1}", Kind::Json);
        check("empty", b"", Kind::File(Format::Unknown));
    }

    #[test]
    fn an_empty_part_of_a_message_log_is_named() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("robot.part0.bfbs.xz");
        std::fs::write(&path, b"").unwrap();
        let error = Input::open(&path).err().unwrap().to_string();
        assert!(error.contains("is an empty part of a message log"), "{error}");
    }

    #[test]
    fn a_directory_is_a_ring_or_a_session_or_refused() {
        let place = tempfile::tempdir().unwrap();
        assert!(Input::open(place.path()).is_err());
        std::fs::write(place.path().join("head"), b"").unwrap();
        assert_eq!(Input::open(place.path()).unwrap().kind(), Kind::Session);
        std::fs::write(place.path().join("session"), b"").unwrap();
        assert_eq!(Input::open(place.path()).unwrap().kind(), Kind::Ring);
    }
}
