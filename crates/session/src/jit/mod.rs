//! Names for the code that a process's runtime compiles while it runs, from what the runtime itself says of it.
//!
//! A runtime puts new code where it has discarded old code, so which function a frame is of depends on when its stack was
//! captured. [`Moments`] knows when that was, of each node; [`JitFiles`] reads which code there was, and from when on;
//! [`define`] names each node by the code of its moment.
//!
//! | what the runtime writes | from when on code was there |
//! |---|---|
//! | a dump | the time of its record |
//! | a perf map | between two looks at how long the map was ([`Growth`]) |
//!
//! Where several functions are possible, all are named. A stack is defined once: where other code came to lie at one of its
//! addresses and it was captured again, it is the stack of both.

mod files;
mod growth;
mod modules;
mod moments;
mod names;
mod running;
mod tick_line;

use heapscribe_formats::jit::JitCode;

pub use files::{JitFiles, Wanted};
pub use growth::Growth;
pub use modules::{Outside, outside};
pub use moments::Moments;
pub use names::define;
pub use running::Running;
pub use tick_line::TickLine;

/// From when to when, CLOCK_MONOTONIC ns: something was at one moment of these, which is known where they are the same.
pub type Span = (u64, u64);

/// A piece of code, and when it was there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timed {
    /// The piece.
    pub code: JitCode,
    /// When it was made.
    pub made: Span,
    /// When it was moved elsewhere; the end of all time where it was not.
    pub moved_ns: u64,
}

/// The code that a runtime has made, the older first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CodeMade {
    /// What its dump says.
    pub dump: Vec<Timed>,
    /// What its perf map says, of code that is in no dump.
    pub map: Vec<Timed>,
}

impl CodeMade {
    /// Whether it has said nothing.
    pub fn is_empty(&self) -> bool {
        self.dump.is_empty() && self.map.is_empty()
    }
}
