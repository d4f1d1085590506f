//! Looking into recorded processes: which there are, and what is live in one of them at a moment, whether
//! it runs, is stuck or has ended.
//!
//! A session's files are read by copies, as the drainer reads them. `find` finds sessions, `reader` opens one. `image` is
//! what is kept of a live table (`source` its bytes, `gathered` what of them), `changing_copy` gets one of one instant
//! while the process runs, and `hold` holds the operations of its threads back for the moments that it needs. `moment`
//! says when that was, and `last_moment` when a process that has ended was last heard of; `pages` adds what of its memory
//! is resident, `named` reads the snapshots that a program took of itself, and a [`Snapshot`] is the result, however it
//! was taken.

mod changing_copy;
mod contents;
mod copied;
mod find;
mod gathered;
mod hold;
mod image;
mod last_moment;
mod moment;
mod named;
mod pages;
mod reader;
mod save;
mod snapshot;
mod source;
mod with_pages;

pub use contents::Contents;
pub use copied::Exactness;
pub use find::{SessionPath, all, at, is_session, matching, one, open};
pub use last_moment::ENDED;
pub use named::{NamedFile, list as list_named, save_named};
pub use pages::SnapshotPages;
pub use reader::SessionReader;
pub use save::{Saved, save};
pub use snapshot::Snapshot;

pub use crate::search_path::{SearchPath, places};
