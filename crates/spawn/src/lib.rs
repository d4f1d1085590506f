//! Starts a program with exactly what this process was started with, so that it cannot tell who started it.
//!
//! *You bring* a command and the variables to set. *It guarantees* that the program finds signals, descriptors,
//! timers and the environment as we found them, and that in this process SIGCHLD is not ignored, which could not
//! wait for a child then, and SIGXFSZ is, so that writing beyond `ulimit -f` is an error. *It refuses* to search for a program in another way than `execvp` does.
//!
//! ```text
//!   inherited     what the process was started with, read before Rust's runtime changes it
//!   environment   the variables in their order      search   the files that a name may mean
//!   child         fork, restore, exec, wait; or exec alone
//! ```

mod child;
mod environment;
mod inherited;
mod search;

pub use child::{Child, NotStarted, become_program, spawn};
pub use inherited::{ignored_signals, unblock};
pub use search::candidates;
