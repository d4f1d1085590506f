//! A file with the statistics of one heap.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use heapscribe_wire::heap::{About, HEAP_FILE_BYTES, STATE_OFFSET, Update, state::STATE_BYTES};

use crate::files::{open_file, read_up_to};
use crate::liveness::Alive;

/// How often a copy is retried that was made during a write.
const TRIES: usize = 100;
const NAP: Duration = Duration::from_micros(50);

/// The statistics in a file.
#[derive(Clone, Debug, Default)]
pub struct HeapStatistics {
    /// The file.
    pub path: PathBuf,
    /// The process, as it calls itself.
    pub pid: u32,
    /// Its parent.
    pub parent_pid: u32,
    /// When it began, CLOCK_MONOTONIC.
    pub created_mono_ns: u64,
    /// The inode number of its pid namespace; 0 for ours.
    pub pid_namespace: u64,
    /// Whether the program's own heap serves, which has no statistics.
    pub is_passing: bool,
    /// Where the process has the address of its heap's newest pool; 0 when not known.
    pub pools_address: u64,
    /// The heap.
    pub name: String,
    /// How it was set up.
    pub configuration: String,
    /// The program.
    pub exe: String,
    /// What it counted last.
    pub update: Update,
}

impl HeapStatistics {
    /// Reads a file; `None` when it is none, or none yet.
    pub fn read(path: &Path) -> Option<HeapStatistics> {
        HeapStatisticsFile::open(path).map(|file| file.statistics)
    }

    /// Whether its process lives.
    pub fn is_alive(&self) -> bool {
        Alive::find_in(self.pid_namespace, self.pid, self.created_mono_ns).is_some()
    }
}

/// A file that is polled.
#[derive(Debug)]
pub struct HeapStatisticsFile {
    file: File,
    /// What was read last.
    pub statistics: HeapStatistics,
}

impl HeapStatisticsFile {
    /// Opens it.
    pub fn open(path: &Path) -> Option<HeapStatisticsFile> {
        let file = open_file(path, false)?;
        let mut bytes = [0; HEAP_FILE_BYTES];
        let n = read_up_to(&file, &mut bytes, 0);
        let about = About::parse(&bytes[..n]).ok()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let statistics = HeapStatistics {
            path: path.to_owned(),
            pid: about.pid,
            parent_pid: about.parent_pid,
            created_mono_ns: about.created_mono_ns,
            pid_namespace: about.pid_namespace,
            is_passing: about.is_passing,
            pools_address: about.pools_address,
            name: text(about.name),
            configuration: text(about.configuration),
            exe: text(about.exe),
            update: Update::default(),
        };
        let mut file = HeapStatisticsFile { file, statistics };
        file.look();
        Some(file)
    }

    /// Reads it once more. Gives an update that is new.
    pub fn look(&mut self) -> Option<Update> {
        for _ in 0..TRIES {
            let mut state = [0; STATE_BYTES];
            let n = read_up_to(&self.file, &mut state, STATE_OFFSET as u64);
            if let Some(update) = Update::parse(&state[..n]) {
                let is_new = update != self.statistics.update;
                self.statistics.update = update;
                return is_new.then_some(update);
            }
            std::thread::sleep(NAP);
        }
        None
    }
}
