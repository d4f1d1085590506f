//! What stands between us and the program that is recorded: the library it loads, the signals passed on
//! to it, and why nothing was seen of it.

pub(crate) mod diagnose;
pub(crate) mod preload;
pub(crate) mod signals;
