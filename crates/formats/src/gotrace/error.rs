//! What can be wrong with a Go trace: what, and at which byte. Go's own reader refuses the whole file at
//! the first of these; here all that stands before it is read.

use std::{fmt, io};

use super::limits::{BATCH_BYTES_MAX, FRAMES_MAX, STRING_BYTES_MAX};
use super::version::Version;

/// Something that no reader can decode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The first bytes are not those of a Go trace.
    NotATrace,
    /// A version that is not known here.
    Version(Version),
    /// The bytes end within a record or a batch.
    Cut,
    /// A number of more than 64 bits.
    LongNumber,
    /// A record of an unknown kind.
    UnknownEvent(u8),
    /// A record of this kind with another number of values than it has.
    Values(&'static str),
    /// A record with a wrong length.
    Length,
    /// A text of no number, or with one that is taken.
    StringId(u64),
    /// A text longer than Go writes, or empty where it cannot be, in bytes.
    StringLength(u64),
    /// A stack of more frames than Go writes.
    DeepStack(u64),
    /// A batch of more bytes than Go writes.
    LargeBatch(u64),
    /// A batch of no known kind.
    UnknownBatch(u8),
    /// A time beyond 64 bits.
    Time,
    /// A clock that stands still.
    Frequency,
    /// Stacks that events name and the file does not have, how many.
    MissingStacks(usize),
    /// The file ends before the clock, stacks and names that belong to its events.
    NoFrequency,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match *self {
            Fault::NotATrace => "not a Go trace",
            Fault::Version(found) => {
                let (first, last) = (Version::FIRST, Version::LAST);
                return write!(f, "trace of {found}, known are {first} to {last}");
            }
            Fault::Cut => "the file ends within a record",
            Fault::LongNumber => "a number of more than 64 bits",
            Fault::UnknownEvent(code) => return write!(f, "unknown event {code}"),
            Fault::Values(name) => return write!(f, "{name} with a wrong number of values"),
            Fault::Length => "a record of another length than it says",
            Fault::StringId(id) => return write!(f, "a text of number {id}, which is none or taken"),
            Fault::StringLength(bytes) => {
                return write!(f, "a text of {bytes} bytes, must be 1 to {STRING_BYTES_MAX}");
            }
            Fault::DeepStack(frames) => return write!(f, "a stack of {frames} frames, at most {FRAMES_MAX}"),
            Fault::LargeBatch(bytes) => {
                return write!(f, "a batch of {bytes} bytes, at most {BATCH_BYTES_MAX}");
            }
            Fault::UnknownBatch(kind) => return write!(f, "unknown batch {kind}"),
            Fault::Time => "a time beyond 64 bits",
            Fault::Frequency => "a clock of no ticks a second",
            Fault::MissingStacks(1) => "1 stack that events name is not in the file",
            Fault::MissingStacks(n) => return write!(f, "{n} stacks that events name are not in the file"),
            Fault::NoFrequency => "the file ends before the clock's rate, stacks and names",
        };
        f.write_str(words)
    }
}

/// Why a file cannot be read at all.
#[derive(Debug)]
pub enum GoTraceError {
    /// The bytes could not be read.
    Io {
        /// Where in the file.
        offset: u64,
        /// The error of the system.
        error: io::Error,
    },
    /// The bytes are invalid.
    Malformed(Malformed),
}

/// An invalid part of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// Where in the file it begins.
    pub offset: u64,
    /// What is wrong with it.
    pub fault: Fault,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.fault, self.offset)
    }
}

impl fmt::Display for GoTraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GoTraceError::Io { offset, error } => write!(f, "cannot read at byte {offset}: {error}"),
            GoTraceError::Malformed(malformed) => malformed.fmt(f),
        }
    }
}

impl std::error::Error for GoTraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            GoTraceError::Io { error, .. } => Some(error),
            GoTraceError::Malformed(_) => None,
        }
    }
}
