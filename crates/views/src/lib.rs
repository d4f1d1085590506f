//! Answers, shown: to people as text and pictures, to programs as JSON, to build servers as verdicts.
//!
//! *You bring* an answer and the names of its stacks. *It guarantees* that a figure is the same in every view, and that
//! what was lost stands next to it. *It refuses* to look anything up: it opens no file and prints to what it is given.
#![forbid(unsafe_code)]

mod allocator;
mod annotations;
pub mod build_server;
mod call_paths;
pub mod check;
pub mod comparison;
pub mod coverage;
pub mod dump;
pub mod exports;
pub mod hotspots;
mod interpreters;
pub mod json;
pub mod junit;
pub mod live;
pub mod losses;
pub mod messages;
mod object_allocators;
pub mod off;
mod open_end;
pub mod own;
pub mod pictures;
pub mod plumbing;
pub mod process_labels;
pub mod range;
mod runtime;
mod system_libraries;
pub mod text;
mod thin_main;
pub mod unrecorded;
