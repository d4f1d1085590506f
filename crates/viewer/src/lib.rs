//! A recording in the browser: a local server, the questions that it answers, and its page.
//!
//! ```text
//!   page/*.js  --GET /TOKEN/api/flame?show=live&at=1500-->  http   who may ask
//!                                                           api    what is asked, which figures that takes
//!                                                           model  figures -> flame graph, tables: pure functions
//!   page/*.js  <-columns, pruned to what can be seen-----
//! ```
//!
//! *You bring* a trace that is open, and what ends the server. *It guarantees* that figures are those of the other
//! commands, that nobody without the address is answered, and that the page asks nobody else for anything. *It refuses*
//! to open files but those of the recording and the source files that its debug information names, to print, and to
//! change anything itself.
#![forbid(unsafe_code)]

mod api;
mod http;
mod model;
mod single_file;

pub use api::Viewer;
pub use http::{Asked, Query, Response, Server, Status, Stop, Token};
pub use single_file::SingleFile;
