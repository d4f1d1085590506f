//! The import graph of the workspace, computed from its sources: which file uses what another file defines,
//! seen at every folder as a graph of its files and folders. `cargo run -p xtask -- imports` shows it; the
//! tidy refuses imports that run back up and circles.
//!
//! What counts as an import: a `use`, and a path in code, of an item that another file defines. A `pub use`
//! is none; who imports what it re-exports imports the file that defines it. `mod x;` is none. Code for tests
//! is left out. Methods count for the type that they are called on, by the file that defines the type.

mod command;
mod contents;
mod dot;
mod graph;
mod modules;
mod order;
mod packages;
mod resolve;
mod rooms;
mod show;
mod tokens;
mod workspace;

pub(crate) use command::run;
pub(crate) use graph::Graph;
pub(crate) use packages::{Package, packages};
pub(crate) use rooms::{file_circles, levels};
pub(crate) use show::ties;
pub(crate) use workspace::{Member, members};
