//! What to answer, and how much memory the search may take.

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
