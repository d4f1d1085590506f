//! Frames of PHP, read in place.
//!
//! ```text
//!   executor_globals -> frame -> frame -> ...      a function and an instruction each
//!   function -> class, name, file                  instruction -> line
//! ```
//! PHP's frames ([`chain`]) have no address of the call of the loop (`execute_ex`) that runs them, and the innermost one's
//! instruction is only there when an instruction that may throw has saved it: of 399 blocks 24 had a wrong line by it.
//! The loop has both in registers, r14 its frame and r15 the instruction, which are followed out of the functions
//! in between ([`loops`]): once for each native stack, then they are read where they were found ([`instruction`]).
//!
//! All of it is checked on the running interpreter before it is believed ([`check`]), else stacks stay native. There is
//! no hook on functions that are freed, and none is needed: a frame is known again by words of its function that
//! are different for each within a request, and names are read anew in the next one.
//!
//! What it refuses: to follow more than a bounded number of frames, and to give a line that is not sure.

pub(crate) mod calls;
pub(crate) mod chain;
pub(crate) mod check;
pub(crate) mod instruction;
mod layout;
mod loop_code;
pub(crate) mod loops;
pub(crate) mod names;
pub(crate) mod source;
#[cfg(test)]
mod tests;
