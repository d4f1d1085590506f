//! A directory of tables whose stacks get their names once, centrally: `DIR/symbols/stacks.parquet` has every stack of all
//! tables below `DIR` once, with the names that are known.
//!
//! A table is read when it is new since the last time. Of each folder we remember, in the metadata of the table that is
//! written, when the last file that was read had changed; those that changed less than ten minutes before it are read
//! again, which changes nothing. What is looked up again each time is what has no name yet, or no line.
//!
//! *It refuses* a table of its own that it cannot read, as others' windows may not be there any more to make it anew.

mod frames;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use heapscribe_diagnostics::Problem;
use heapscribe_symbols::Names;

pub use self::frames::Unnamed;
use self::frames::{FrameNumber, Frames};
use super::batch::{TableFacts, TableWriter as _};
use super::output::{SCHEMA_VERSION, TableFile, TableFormat};
use super::read_stacks::StoredStacks;
use super::stacks::{Line, batch};

/// The folder of the table that is written.
const OWN: &str = "symbols";
/// How long a file may take from its change until it is seen.
const SLACK_NS: u64 = 600 * 1_000_000_000;
/// What was read, in the metadata of the table: a line for each folder.
const READ: &str = "heapscribe.read";
/// Stacks of a row group.
const ROWS: usize = 8192;

/// A directory of tables.
pub struct Store {
    directory: PathBuf,
    frames: Frames,
    stacks: BTreeMap<i64, Box<[FrameNumber]>>,
    /// Of each folder, when the last file that was read had changed, ns since 1970.
    read_ns: BTreeMap<String, u64>,
    /// Whether all of this is in its table.
    is_written: bool,
}

/// What reading brought.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Added {
    /// Tables that were read.
    pub tables: usize,
    /// Stacks that were not known.
    pub stacks: usize,
    /// Tables that could not be read, and why.
    pub problems: Vec<(PathBuf, String)>,
}

impl Store {
    /// Opens one, with what is known from the last time.
    ///
    /// # Errors
    /// When its own table cannot be read.
    pub fn open(directory: &Path) -> Result<Store> {
        let directory = directory.to_path_buf();
        let (frames, stacks, read_ns) = Default::default();
        let mut store = Store { directory, frames, stacks, read_ns, is_written: false };
        fs::read_dir(&store.directory)
            .with_context(|| format!("cannot read {}", store.directory.display()))?;
        let own = store.own();
        let bytes = match fs::read(&own) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(store),
            bytes => bytes.with_context(|| format!("cannot read {}", own.display()))?,
        };
        let read = store.add(&bytes).and_then(|_| {
            let table = StoredStacks::open(&bytes)?;
            let lines = table.fact(READ).unwrap_or_default().lines();
            let line = |line: &str| {
                line.split_once(' ').and_then(|(ns, of)| Some((of.to_owned(), ns.parse().ok()?)))
            };
            store.read_ns = lines.filter_map(line).collect();
            store.is_written = true;
            Ok(())
        });
        read.map_err(|e| {
            let what = format!("{}: {e}", own.display());
            Problem::new(what, "move it away: it is made anew of the tables that are there")
        })?;
        Ok(store)
    }

    /// The table with the names.
    pub fn own(&self) -> PathBuf {
        self.directory.join(OWN).join("stacks.parquet")
    }

    /// How many stacks and frames there are.
    pub fn counts(&self) -> (usize, usize) {
        (self.stacks.len(), self.frames.len())
    }

    /// Reads the tables that are new.
    pub fn read_tables(&mut self) -> Added {
        let mut added = Added::default();
        let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let mut folders = vec![self.directory.clone()];
        while let Some(folder) = folders.pop() {
            let name = folder.strip_prefix(&self.directory).unwrap_or(&folder).to_string_lossy().into_owned();
            // Lines of the metadata end where one of these does.
            let is_kept = !name.contains('\n');
            let since_ns = self.read_ns.get(&name).map_or(0, |ns| ns.saturating_sub(SLACK_NS));
            let mut last_ns = 0;
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            for path in entries.map(|entry| entry.path()) {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let Ok(facts) = fs::symlink_metadata(&path) else { continue };
                let is_own = folder == self.directory && name == OWN;
                if facts.is_dir() && !name.starts_with('.') && !is_own {
                    folders.push(path);
                    continue;
                }
                let is_table = name == "stacks.parquet" || name.ends_with(".stacks.parquet");
                let changed_ns = changed_ns(&facts);
                if !facts.is_file() || !is_table || name.starts_with('.') || changed_ns < since_ns {
                    continue;
                }
                last_ns = last_ns.max(changed_ns.min(now_ns));
                self.read_table(path, &mut added);
            }
            if last_ns > 0 && is_kept {
                self.is_written &= self.read_ns.insert(name, last_ns) == Some(last_ns);
            }
        }
        let directory = self.directory.clone();
        self.read_ns.retain(|folder, _| directory.join(folder).is_dir());
        added
    }

    fn read_table(&mut self, path: PathBuf, added: &mut Added) {
        match fs::read(&path).map_err(|e| e.to_string()).and_then(|bytes| self.add(&bytes)) {
            Ok(stacks) => {
                added.tables += 1;
                added.stacks += stacks;
            }
            // The agent may have put a newer one in its place, or a partition is deleted.
            Err(_) if !path.exists() => {}
            Err(e) => added.problems.push((path, e)),
        }
    }

    /// Adds the stacks of a table; how many were not known.
    fn add(&mut self, bytes: &[u8]) -> Result<usize, String> {
        let known = self.stacks.len();
        StoredStacks::open(bytes)?.for_each(|number, lines| {
            let frames = self.frames.add(lines);
            self.stacks.entry(number).or_insert_with(|| frames.into());
        })?;
        self.is_written &= self.stacks.len() == known;
        Ok(self.stacks.len() - known)
    }

    /// What is to be looked up, by build id.
    pub fn unnamed(&self) -> BTreeMap<Vec<u8>, Unnamed> {
        self.frames.unnamed()
    }

    /// Takes names that were looked up; of how many frames more is known now.
    pub fn name(&mut self, found: &BTreeMap<Vec<u8>, Names>) -> usize {
        let named = self.frames.name(found);
        self.is_written &= named == 0;
        named
    }

    /// Writes the table with the names, if there is anything new.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self) -> Result<()> {
        if self.is_written {
            return Ok(());
        }
        let read: String = self.read_ns.iter().map(|(folder, ns)| format!("{ns} {folder}\n")).collect();
        let facts = TableFacts {
            name: "stacks",
            sorted_by: vec![0],
            facts: vec![
                ("heapscribe.schema", SCHEMA_VERSION.to_owned()),
                ("heapscribe.version", env!("CARGO_PKG_VERSION").to_owned()),
                (READ, read),
            ],
        };
        let written = || -> std::io::Result<()> {
            let mut file = TableFile::create(&self.directory.join(OWN), TableFormat::Parquet, facts)?;
            let numbers: Vec<i64> = self.stacks.keys().copied().collect();
            file.write(&batch(&[]))?;
            for numbers in numbers.chunks(ROWS) {
                let lines = numbers.iter().map(|number| (*number, self.frames.lines(&self.stacks[number])));
                let lines: Vec<(i64, Vec<Line>)> = lines.collect();
                let rows: Vec<_> =
                    lines.iter().map(|(number, lines)| (*number, lines.iter().collect())).collect();
                file.write(&batch(&rows))?;
            }
            file.close_on_disk()
        };
        written().with_context(|| format!("cannot write {}", self.own().display()))?;
        self.is_written = true;
        Ok(())
    }
}

/// When a file came to be what and where it is: what is copied here keeps the time of its last change.
fn changed_ns(facts: &fs::Metadata) -> u64 {
    let ns = |seconds: i64, ns: i64| {
        u64::try_from(seconds).unwrap_or(0).saturating_mul(1_000_000_000).saturating_add(ns.unsigned_abs())
    };
    ns(facts.mtime(), facts.mtime_nsec()).max(ns(facts.ctime(), facts.ctime_nsec()))
}
