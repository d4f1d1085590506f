//! What the program can do: a file for each command, each with one `run`.

pub(crate) mod collect;
pub(crate) mod convert;
pub(crate) mod ctl;
pub(crate) mod diff;
pub(crate) mod dump;
mod dump_memtrace;
pub(crate) mod flame;
pub(crate) mod header;
pub(crate) mod hotspots;
mod partial;
pub(crate) mod plot;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod rewrite;
