//! HTTP as one browser on this machine needs it: GET, one answer a connection, and nothing for those without the token.
//!
//! `httparse` reads the head of a request, which is what we should not do ourselves; there is nothing else to a server
//! without bodies, TLS and routes. A framework would bring some forty crates and a runtime for it.

mod guard;
mod limits;
mod query;
mod request;
mod response;
mod server;
mod token;

pub use query::Query;
pub use response::{Response, Status};
pub use server::{Asked, Server, Stop};
pub use token::Token;
