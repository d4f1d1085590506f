//! Which message goes to which file. A channel says in its [`Route`] where its data goes, where the times of
//! its delivery go, and where what came back from other nodes goes; a message that was fetched is written to
//! all of these, each time as another kind of record.
//!
//! What a message tells of another node is given to the writer before the message's bytes are, so that a
//! header which has to say it stands before them. Nothing is allocated after [`Logger::new`].

mod error;
mod fetched;
mod log;
mod route;

pub use error::{LogError, RouteError};
pub use fetched::{Fetched, RemoteMessage};
pub use log::Logger;
pub use route::{ContentsRoute, DataRoute, Route, TimestampRoute};
