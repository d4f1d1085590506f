//! Filters of system calls that the program installs (seccomp), and which of our own calls they would end it for.

mod calls;
mod program;

pub use calls::forbidden_by;
pub use program::{Instruction, ends_process};
