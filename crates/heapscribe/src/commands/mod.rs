//! What the program can do: a file for each command, each with one `run`.

pub(crate) mod check;
pub(crate) mod collect;
pub(crate) mod convert;
mod convert_aos;
pub(crate) mod ctl;
pub(crate) mod diff;
pub(crate) mod dump;
mod dump_go;
mod dump_memtrace;
mod dump_messages;
pub(crate) mod flame;
mod flame_go;
pub(crate) mod header;
pub(crate) mod hotspots;
pub(crate) mod list;
mod partial;
pub(crate) mod plot;
pub(crate) mod ps;
pub(crate) mod record;
pub(crate) mod report;
mod report_go;
mod report_messages;
pub(crate) mod rewrite;
pub(crate) mod run;
pub(crate) mod snapshot;
pub(crate) mod top;
