//! What stands between us and the program that is run: the libraries it loads, the signals passed on to it,
//! how it ended, and why nothing was seen of it.

pub(crate) mod child;
pub(crate) mod diagnose;
pub(crate) mod heap;
pub(crate) mod preload;
pub(crate) mod signals;
