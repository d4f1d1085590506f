//! The parts of a message log, opened together and read in the order of time.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use heapscribe_aos_log::layout::Layout;
use heapscribe_aos_log::read::{
    Configuration, Order, OwnedMessage, PartHeader, PartReader, Parts, Policy, Problem, ReadError,
};

use crate::file_source::source;
use crate::{Input, Kind};
use heapscribe_diagnostics::Problem as NextStep;

/// Messages that are looked at to find out which layout a part has: those of most logs tell at once, and
/// a log of nothing but messages of its own node never does.
const TELLING_MESSAGES: u64 = 100_000;

/// How a file is opened again when its turn comes.
type Open<'a> = Box<dyn FnMut(usize) -> io::Result<File> + 'a>;

/// Parts of a message log.
pub struct Log<'a> {
    paths: &'a [PathBuf],
    parts: Parts<Open<'a>, File>,
}

impl<'a> Log<'a> {
    /// Opens parts. What cannot be read of them is in [`Self::problems`].
    pub fn open(paths: &'a [PathBuf], policy: Policy, order: Order) -> Result<Log<'a>> {
        for path in paths {
            source(path)?;
        }
        let open: Open<'a> = Box::new(|file| File::open(&paths[file]));
        let parts = Parts::open(paths.len(), open, policy, order);
        let log = Log { parts: parts.map_err(|e| failed(paths, &e))?, paths };
        if log.parts.opened().is_empty()
            && let Some(problem) = log.parts.problems().first()
        {
            return Err(nothing_readable(&paths[problem.file], problem)?.into());
        }
        Ok(log)
    }

    /// The parts that could be opened.
    pub fn parts(&self) -> &Parts<Open<'a>, File> {
        &self.parts
    }

    /// Where a file is.
    pub fn path(&self, file: usize) -> &'a Path {
        &self.paths[file]
    }

    /// Whether the times of a file are those of another node than the one that logged.
    pub fn is_remote(&self, file: usize) -> bool {
        let header =
            self.parts.opened().iter().find(|opened| opened.file == file).and_then(|o| o.header.as_ref());
        header.is_some_and(PartHeader::is_remote)
    }

    /// The configurations of the files, by file.
    pub fn configurations(&self) -> Vec<Configuration> {
        let mut all = vec![Configuration::default(); self.paths.len()];
        for opened in self.parts.opened() {
            if let Some(header) = &opened.header {
                all[opened.file].clone_from(header.configuration());
            }
        }
        all
    }

    /// The next message.
    pub fn next_message(&mut self) -> Result<Option<OwnedMessage>> {
        self.parts.next_message().map_err(|e| failed(self.paths, &e).into())
    }

    /// What could not be read, by file.
    pub fn problems(&self) -> Vec<(&'a Path, Vec<String>)> {
        let of = |file: usize| {
            let problems = self.parts.problems().iter().filter(|problem| problem.file == file);
            problems.map(|problem| problem.what.to_string()).collect::<Vec<_>>()
        };
        let mut problems: Vec<_> = (0..self.paths.len()).map(|file| (self.path(file), of(file))).collect();
        if self.parts.more_problems() > 0
            && let Some((_, last)) = problems.last_mut()
        {
            last.push(format!("and {} more problems in these files", self.parts.more_problems()));
        }
        problems.retain(|(_, problems)| !problems.is_empty());
        problems
    }
}

/// Not one of the files can be read: which is not surprising of files of another kind.
fn nothing_readable<E: std::fmt::Display>(path: &Path, e: &Problem<E>) -> Result<NextStep> {
    let shown = path.display();
    Ok(match Input::open(path)?.kind() == Kind::AosPart {
        true => NextStep::new(format!("{shown}: {}", e.what), "a part cannot be read without its beginning"),
        false => NextStep::new(
            format!("{shown} is not a message log: {}", e.what),
            "pass a log written by an AOS logger",
        ),
    })
}

fn failed<E: std::fmt::Display>(paths: &[PathBuf], e: &Problem<E>) -> NextStep {
    NextStep::new(format!("{}: {}", paths[e.file].display(), e.what), "use --on-damage skip to read the rest")
}

/// The layout that a part's records have; 2024's when none of the first tells.
pub fn layout_of(path: &Path) -> Result<Layout> {
    let read = || -> Result<Option<Layout>, ReadError> {
        let file = File::open(path).map_err(|error| ReadError::Io { offset: 0, error })?;
        let mut part = PartReader::open(file, Policy::Skip)?;
        while part.layout().is_none() && part.messages() < TELLING_MESSAGES && part.next_message()?.is_some()
        {
        }
        Ok(part.layout())
    };
    // What cannot be read is told when it is read for the second time.
    Ok(read().ok().flatten().unwrap_or_default())
}
