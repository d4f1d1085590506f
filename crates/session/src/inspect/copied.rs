//! A copy of a live table, with what was read at the same time, or why there is none.

use std::time::Duration;

use heapscribe_wire::live::walk::TableError;
use heapscribe_wire::operation::Record;

use super::hold::Inexact;
use super::moment::Moment;
use super::reader::HeadCopy;

/// How true a snapshot is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Exactness {
    /// The table of one instant.
    Instant,
    /// The table that a process left behind.
    Ended,
    /// Each block was live at some moment while the table was copied.
    Inexact(Inexact),
}

/// What was copied together with the table.
pub(super) struct Copied {
    pub(super) head: HeadCopy,
    pub(super) records: Vec<Record>,
    pub(super) moment: Moment,
    pub(super) exactness: Exactness,
    pub(super) held: Duration,
}

/// Why there is no such copy.
pub(super) enum Failed {
    Inexact(Inexact),
    For(anyhow::Error),
}

impl From<Inexact> for Failed {
    fn from(why: Inexact) -> Failed {
        Failed::Inexact(why)
    }
}

/// An error of the live file.
pub(super) fn refused(e: std::io::Error) -> anyhow::Error {
    match e.raw_os_error() {
        Some(errno) => TableError::SystemCall { errno }.into(),
        None => e.into(),
    }
}
