//! What can be wrong with a part. Every problem has its offset, and whether that counts bytes of the file or of the
//! unpacked data.

use std::fmt;
use std::io;

/// Something of a part that is not as its writer would have left it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damage {
    /// What is wrong.
    pub what: &'static str,
    /// Where it begins.
    pub offset: u64,
    /// Whether `offset` counts bytes of what is compressed, not of the file.
    pub is_unpacked: bool,
    /// How many bytes from there were skipped before reading continued; 0 when it ended there.
    pub skipped_bytes: u64,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.offset)?;
        if self.is_unpacked {
            f.write_str(" of what is compressed")?;
        }
        match self.skipped_bytes {
            0 => Ok(()),
            n => write!(f, ", {n} bytes skipped"),
        }
    }
}

/// Why reading ended before the end.
#[derive(Debug)]
pub enum ReadError {
    /// The bytes could not be read.
    Io {
        /// Where in the file.
        offset: u64,
        /// The error of the system.
        error: io::Error,
    },
    /// The part is damaged, and that was not to be passed over.
    Damaged(Damage),
}

impl ReadError {
    /// Damage at a byte of the file.
    pub(crate) fn damaged(what: &'static str, offset: u64) -> ReadError {
        ReadError::Damaged(Damage { what, offset, is_unpacked: false, skipped_bytes: 0 })
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io { offset, error } => write!(f, "cannot read at byte {offset}: {error}"),
            ReadError::Damaged(damage) => damage.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Io { error, .. } => Some(error),
            ReadError::Damaged(_) => None,
        }
    }
}

/// What reading does at damage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// Ends the part there, and continues with the next one.
    Stop,
    /// Skips the record, by its length, and continues with the next; where there is no next it ends.
    #[default]
    Skip,
    /// Gives an error, also for a part that is only cut short.
    Fail,
}
