//! What is known of a heap before it is tested.

/// What is known of a heap.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    /// What it can allocate at the same time at most, about; `None` when it has no bound worth reaching.
    pub capacity_bytes: Option<usize>,
    /// Freed memory is allocated again.
    pub reuses: bool,
    /// `Heap::owns` says yes or no.
    pub knows_owner: bool,
}

impl Traits {
    /// Of a heap that promises no more than it has to.
    pub const UNKNOWN: Traits = Traits { capacity_bytes: None, reuses: false, knows_owner: false };
}
