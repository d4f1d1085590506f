//! What to answer, and how much memory the search may take.

/// What to answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Steps of the timeline, at most; recordings of few ns have fewer.
    pub timeline_steps: u32,
    /// Events that may be brought into order at once while a peak is searched for, 24 bytes each. A step of
    /// time with more of them is cut into finer ones.
    pub ordered_events_max: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { timeline_steps: 1000, ordered_events_max: 1 << 20 }
    }
}
