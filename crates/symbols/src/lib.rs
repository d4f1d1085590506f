//! Addresses to names: function, file and line for every address of a trace, inlined calls included.
//!
//! *You bring* modules as they were recorded (path and build id) and addresses as they stand in the file,
//! return addresses already moved back into their call. *It guarantees* that a name comes from the very
//! file that ran: a file whose build id differs is not used, and that is reported. *It refuses* nothing else:
//! what cannot be named keeps its module and offset.
#![forbid(unsafe_code)]

mod debug_file;
mod demangle;
mod dlang;
mod elf;
mod lookup;
mod names;
pub mod places;
mod progress;
mod resolver;
mod stable;
mod stacks;

#[cfg(test)]
mod tests;

pub use names::{LookupFailure, Module, Names, SourceFrame};
pub use progress::Progress;
pub use resolver::{CachedResolver, Resolver};
pub use stacks::{NamedFrame, NamedStacks, Unnamed, lossy};
