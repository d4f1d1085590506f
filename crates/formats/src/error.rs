//! What can be wrong with a trace. Every error has its offset in the file, so that the bytes can be inspected.

use std::fmt;
use std::io;

/// Why a trace or a part of it cannot be read.
#[derive(Debug)]
pub enum TraceError {
    /// The bytes could not be read.
    Io {
        /// Where in the file.
        offset: u64,
        /// The error of the system.
        error: io::Error,
    },
    /// The first bytes are not those of a trace.
    NotATrace,
    /// Written in a later format.
    Version {
        /// The major version of the file.
        found: u32,
        /// The last that is known here.
        known: u32,
        /// Where in the file it stands.
        offset: u64,
    },
    /// Invalid bytes.
    Damaged {
        /// Where in the file the damage begins.
        offset: u64,
        /// What is wrong with it.
        what: &'static str,
    },
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Io { offset, error } => write!(f, "cannot read at byte {offset}: {error}"),
            TraceError::NotATrace => f.write_str("not a heapscribe trace (byte 0)"),
            TraceError::Version { found, known, offset } => {
                write!(f, "trace of format version {found}, known is {known} (byte {offset})")
            }
            TraceError::Damaged { offset, what } => write!(f, "{what} at byte {offset}"),
        }
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TraceError::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// Something that was skipped while the rest was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Where in the file it begins.
    pub offset: u64,
    /// How many bytes of the file were passed over for it; 0 when bytes are missing.
    pub skipped_bytes: u64,
    /// What is wrong.
    pub what: &'static str,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.offset)?;
        match self.skipped_bytes {
            0 => Ok(()),
            n => write!(f, ", {n} bytes skipped"),
        }
    }
}
