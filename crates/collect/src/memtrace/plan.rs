//! What is asked of a recording into files of memtrace, and what was written.

use std::path::PathBuf;

/// What the files are to be.
#[derive(Clone, Debug)]
pub struct FilesPlan {
    /// The file of the program that was started; those of others lie in its directory.
    pub output: PathBuf,
    /// Name of the machine.
    pub host: String,
    /// The chance of each word to be drawn.
    pub sample_rate: f64,
    /// Where separate debug files lie.
    pub debug_dir: PathBuf,
}

/// A file that was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// Where it lies.
    pub path: PathBuf,
    /// The process.
    pub pid: u32,
    /// Objects in it.
    pub objects: u64,
    /// Its bytes.
    pub bytes: u64,
    /// What is not whole, in words.
    pub problems: Vec<String>,
    /// What the format has no place for, in words.
    pub left_out: Option<String>,
    /// Whether its end could not be written.
    pub is_cut: bool,
}
