//! What to answer, and how much memory the search may take.

/// What to answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Steps of the timeline, at most; recordings of few ns have fewer.
    pub timeline_steps: u32,
    /// Events that may be brought into order at once while a peak is searched for, 24 bytes each. A step of
    /// time with more of them is cut into finer ones.
    pub ordered_events_max: u64,
    /// Whether equal stacks of several processes are several: each process is a node of its own in the tree then,
    /// between the root and its outermost frames.
    pub splits_processes: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { timeline_steps: 1000, ordered_events_max: 1 << 20, splits_processes: false }
    }
}
