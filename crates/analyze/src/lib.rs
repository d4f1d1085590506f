//! From events to answers: who allocated, how much, for how long, what was held at the peak and what
//! never came back.
//!
//! A free event says what it frees - stack, size, age, thread of birth - so nothing here matches
//! addresses or keeps a table of live blocks: each chunk of events is summed alone, on any core, and
//! only sums meet. The peak is exact all the same, and the events are never sorted as a whole.
//!
//! Where blocks were sampled each stands for several, and every figure is an estimate; [`estimate`] says
//! how sure the main ones are.
//!
//! *You bring* a [`History`]: a [`Recording`] over a trace, or anything that yields chunks of events.
//! *It guarantees* memory in proportion to stacks, threads and steps of time, not to events; the same
//! answer on any number of cores; and figures that clock skew between threads cannot corrupt. *It
//! refuses* to name functions, to open files and to print.
#![forbid(unsafe_code)]

pub mod answer;
pub mod busiest;
pub mod calls;
pub mod chosen;
pub mod diff;
pub mod estimate;
pub mod gathered;
pub mod go;
pub mod heavy;
pub mod input;
pub mod marks;
pub mod measure;
pub mod snapshot;

mod amounts;
mod assemble;
mod before;
mod change;
mod counters;
mod held;
mod histogram;
mod latency;
mod level;
mod nodes;
mod passes;
mod peak;
mod rates;
mod recording;
mod sampling;
mod say;
mod segment;
mod slowest;
mod sums;
mod table;
mod timeline;
mod told;
mod totals;
mod tree;
mod weight;

pub use answer::Answer;
pub use input::History;
pub use recording::Recording;

/// What to answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Steps of the timeline, at most; recordings of few ns have fewer.
    pub timeline_steps: u32,
    /// Events of one step of time that a core may bring into order at once while it searches for the
    /// peak, 16 bytes each.
    pub ordered_events_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { timeline_steps: 1000, ordered_events_max: 1 << 20 }
    }
}

/// Answers everything about a recording at once.
pub fn analyze<H: History>(history: &H, options: &Options) -> Answer {
    let session = history.session();
    let processes = history.processes();
    let found = passes::run(history, &session, &processes, options);
    assemble::assemble(history, session, &processes, found)
}
