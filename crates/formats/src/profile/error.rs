//! Why a profile cannot be read, and where.

use std::fmt;

/// Where in a file something is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// At this byte of what was unpacked.
    Byte(u64),
    /// In this line, from 1.
    Line(u64),
}

/// Why a profile cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfileError {
    /// What is wrong.
    pub what: String,
    /// Where.
    pub place: Place,
}

impl ProfileError {
    /// Something is wrong at this byte.
    pub fn at_byte(offset: usize, what: impl Into<String>) -> ProfileError {
        ProfileError { what: what.into(), place: Place::Byte(offset as u64) }
    }

    /// Something is wrong in this line.
    pub fn in_line(line: u64, what: impl Into<String>) -> ProfileError {
        ProfileError { what: what.into(), place: Place::Line(line) }
    }
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Byte(offset) => write!(f, "{} at byte {offset}", self.what),
            Place::Line(line) => write!(f, "{} in line {line}", self.what),
        }
    }
}

impl std::error::Error for ProfileError {}
