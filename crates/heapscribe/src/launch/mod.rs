//! How a program is run: the libraries that are preloaded, the signals that are forwarded, its exit code, and
//! why it may have no recorded calls.

mod carried;
pub(crate) mod child;
pub(crate) mod diagnose;
pub(crate) mod heap;
pub(crate) mod preload;
pub(crate) mod runtime_switches;
pub(crate) mod signals;
