//! Looking into recorded processes: which there are, and what is live in one of them at a moment, whether
//! it runs, is stuck or is gone.
//!
//! A session's files are read by copies, as the drainer reads them. `find` finds sessions, `reader` opens
//! one, `hold` holds the operations of its threads back for as long as `image` needs to copy the table,
//! `moment` says when that was, `named` reads what a program has kept of itself, and a [`Snapshot`] is what
//! came of it: the same whichever way it was taken.

mod contents;
mod find;
mod hold;
mod image;
mod moment;
mod named;
mod reader;
mod save;
mod snapshot;

pub use contents::Contents;
pub use find::{SearchPath, SessionPath, all, at, is_session, one, places};
pub use named::{NamedFile, keep, list as list_named};
pub use reader::SessionReader;
pub use save::{Saved, save};
pub use snapshot::{Exactness, Snapshot};
