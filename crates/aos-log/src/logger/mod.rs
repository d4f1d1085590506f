//! Routes messages to files. The [`Route`] of a channel names the writers of its data, of the times of its delivery,
//! and of the reports of other nodes; a message that was fetched is written to all of these, each time as another
//! kind of record.
//!
//! What a message shows of another node is passed to the writer before the message is written, so that the header
//! that needs it precedes the message. Nothing is allocated after [`Logger::new`].

mod error;
mod fetched;
mod log;
mod route;

pub use error::{LogError, RouteError};
pub use fetched::{Fetched, RemoteMessage};
pub use log::Logger;
pub use route::{ContentsRoute, DataRoute, Route, TimestampRoute};
