//! A trace that is open, whatever it was made of.

use std::fs::File;
use std::io::BufWriter;
use std::ops::Deref;

use anyhow::{Context, Result};
use heapscribe_analyze::answer::EarlyTimes;
use heapscribe_analyze::input::{Choice, Chosen, History as _};
use heapscribe_analyze::memory::{self, Memory};
use heapscribe_analyze::selection::{Selection, Split};
use heapscribe_analyze::snapshot::{self, Snapshot as AnalyzedSnapshot};
use heapscribe_analyze::{Answer, Options, Recording};
use heapscribe_diagnostics::Problem;
use heapscribe_formats::{SectionLeft, Trace, TraceError};
use heapscribe_session::inspect::{self, Saved, Snapshot};

use crate::file_source::{FileSource, nameless_file};
use crate::heaplog::LogTally;
use crate::memtrace::Tally;
use crate::profile_sums::Sums;

/// A trace that is open, whatever format its file has.
pub struct Opened {
    pub(crate) trace: Trace<FileSource>,
    /// What only a memtrace file has.
    pub memtrace: Option<Tally>,
    /// What only a log of heaphook's has.
    pub heaplog: Option<LogTally>,
    /// Of a profile its sums: the trace beside them has no events.
    pub profile: Option<Sums>,
    /// What could not be read of a file of another format.
    pub problems: Vec<String>,
}

impl Deref for Opened {
    type Target = Trace<FileSource>;

    fn deref(&self) -> &Self::Target {
        &self.trace
    }
}

/// Explains a selection of a trace. Here, as are all analyses of files, so that their code is in the program once and not
/// in each crate that asks for it.
pub fn analyze_selection(
    selection: &Selection<'_, '_, Recording<'_, FileSource>>,
    options: &Options,
) -> Answer {
    heapscribe_analyze::analyze(selection, options)
}

/// A native trace in a temporary file, and the result of making it.
pub(crate) struct Made<T> {
    pub(crate) file: FileSource,
    pub(crate) result: T,
}

impl<T> Made<T> {
    /// Opens the trace; `problems` says what could not be read on the way.
    pub(crate) fn opened(self, problems: impl FnOnce(T) -> Vec<String>) -> Result<Opened, TraceError> {
        Ok(Opened::new(Trace::open(self.file)?, problems(self.result)))
    }
}

impl Opened {
    pub(crate) fn new(trace: Trace<FileSource>, problems: Vec<String>) -> Opened {
        Opened { trace, memtrace: None, heaplog: None, profile: None, problems }
    }

    /// Has a trace written into a file without a name.
    pub(crate) fn made<T>(write: impl FnOnce(&File) -> Result<T>) -> Result<Made<T>> {
        let file = nameless_file().context("cannot create a temporary file")?;
        let result = write(&file)?;
        Ok(Made { file: FileSource::of(file).context("cannot read a temporary file")?, result })
    }

    /// A snapshot as a trace that has no name.
    ///
    /// # Errors
    /// When there is no room for it.
    pub fn of_snapshot(snapshot: &Snapshot) -> Result<(Opened, Saved)> {
        let made = Opened::made(|file| Ok(inspect::save(snapshot, &mut BufWriter::new(file))?))?;
        let saved = made.result.clone();
        let opened = made.opened(|saved| saved.problems).context("cannot read the snapshot")?;
        Ok((opened, saved))
    }

    /// Its snapshots.
    pub fn snapshots(&self) -> Vec<AnalyzedSnapshot> {
        snapshot::analyze(&self.trace)
    }

    /// Of what the memory of a snapshot's process is made; `None` when it has no pages.
    ///
    /// # Errors
    /// Only when the trace cannot be read.
    pub fn memory(&self, snapshot: &AnalyzedSnapshot) -> Result<Option<Memory>, TraceError> {
        memory::analyze(&self.trace, snapshot)
    }

    /// What ended sections of a snapshot's process have left; none where that is not known.
    ///
    /// # Errors
    /// Only when the trace cannot be read.
    pub fn left(
        &self,
        snapshot: &AnalyzedSnapshot,
        ended: &[SectionLeft],
    ) -> Result<Vec<SectionLeft>, TraceError> {
        memory::left(&self.trace, snapshot, ended)
    }

    /// Explains what of it is chosen.
    ///
    /// # Errors
    /// When there is none of it.
    pub fn analyze_of(&self, choice: &Choice) -> Result<Answer, Problem> {
        self.analyze_with(choice, &Options::default())
    }

    /// The same, answered as the options say.
    ///
    /// # Errors
    /// When there is none of it.
    pub fn analyze_with(&self, choice: &Choice, options: &Options) -> Result<Answer, Problem> {
        if choice.is_all() {
            return Ok(self.analyze_whole(options));
        }
        let recording = Recording::new(&self.trace);
        let split = Split::new(&recording);
        let mut answer = analyze_selection(&split.chosen(self.chosen(choice)?), options);
        answer.problems.splice(0..0, recording.problems());
        answer.problems.extend_from_slice(&self.problems);
        Ok(answer)
    }

    /// As a recording to be analyzed.
    pub fn recording(&self) -> Recording<'_, FileSource> {
        Recording::new(&self.trace)
    }

    /// By how much its times are early; none where they are not.
    pub fn early_times(&self) -> Option<EarlyTimes> {
        let recording = self.recording();
        let processes = recording.processes();
        let early = processes.iter().filter_map(|process| process.early_times);
        EarlyTimes::of_any(early, recording.session().begin_mono_ns)
    }

    /// The processes and threads that are chosen.
    ///
    /// # Errors
    /// When there are none.
    pub fn chosen(&self, choice: &Choice) -> Result<Chosen, Problem> {
        let chosen = Chosen::of(&Recording::new(&self.trace), choice);
        if !chosen.processes.is_empty() || choice.is_all() {
            return Ok(chosen);
        }
        let what = if choice.threads.is_empty() { "process" } else { "thread" };
        let hint = "list processes and threads with `heapscribe report TRACE --full`";
        Err(Problem::new(format!("the trace has no such {what}"), hint))
    }

    /// Explains it.
    pub fn analyze(&self) -> Answer {
        self.analyze_whole(&Options::default())
    }

    fn analyze_whole(&self, options: &Options) -> Answer {
        let mut answer = heapscribe_analyze::analyze(&Recording::new(&self.trace), options);
        answer.problems.extend_from_slice(&self.problems);
        answer
    }
}
