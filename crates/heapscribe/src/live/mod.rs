//! Looking into recorded processes: which there are, and what is live in one of them at a moment, whether
//! it runs, is stuck or is gone.
//!
//! A session's files are read by copies, as the drainer reads them. `find` finds sessions, `session` opens
//! one, `hold` holds the operations of its threads back for as long as `image` needs to copy the table,
//! `moment` says when that was, `named` reads what a program has kept of itself, and a [`Snapshot`] is what
//! came of it: the same whichever way it was taken.

mod contents;
mod find;
mod hold;
mod image;
mod moment;
mod named;
mod save;
mod session;
mod snapshot;

pub(crate) use contents::Contents;
pub(crate) use find::{Found, Place, all, at, is_session, one, places};
pub(crate) use named::{NamedFile, keep, list as list_named};
pub(crate) use save::{Saved, save};
pub(crate) use session::Session;
pub(crate) use snapshot::{Exactness, Snapshot};
