//! The files of the repository as every command here reads them: as bytes, as text without comments and
//! literals, and as a syntax tree.

mod attributes;
mod code;
mod functions;
mod tree;

pub(crate) use attributes::{attributes, is_for_tests};
pub(crate) use code::only as code_only;
pub(crate) use functions::functions;
pub(crate) use tree::{File, Tree, root};
