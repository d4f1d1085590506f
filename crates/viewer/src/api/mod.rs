//! What the page asks for, and the answers: columns of numbers, and names, pruned to what can be seen.

mod analysis;
mod answered;
mod ask;
mod assets;
mod bands;
mod columns;
mod compare;
mod density;
mod findings;
mod generations;
mod held;
mod lifetimes;
mod messages;
mod over_time;
mod pages;
mod pattern;
mod rounding;
mod route;
mod source;
mod source_file;
mod stacks;
mod summary;
mod viewer;
mod wanted;
mod zoom;

pub(crate) use assets::{asset_text, script_names};
pub use viewer::Viewer;
