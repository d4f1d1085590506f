//! How much of the growth of a process's anonymous memory its recorded heap explains. What is low says that the memory
//! is another heap's, or the program's own mappings, and that no figure of the recording is about it.

/// The growth of anonymous memory, and what of it is the heap's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// By how much the anonymous memory grew from the first sample to the largest, bytes.
    pub growth_bytes: u64,
    /// How much of that the recorded heap explains, by the most that it held: with headers and rounding, of which a heap
    /// has about 16 bytes for each block. What it kept of freed blocks beyond that is not in it.
    pub heap_bytes: u64,
    /// How much of the rest the program's own mappings may explain, by the most that was mapped; 0 where they were not
    /// recorded.
    pub mapped_bytes: u64,
}

impl Coverage {
    /// Growth that is less than this says nothing: stacks of threads and data of libraries are as much.
    pub const GROWTH_BYTES_MIN: u64 = 8 << 20;

    /// The share of the growth that is the heap's, 0 to 1; `None` where there is too little growth to say.
    pub fn share(&self) -> Option<f64> {
        let is_enough = self.growth_bytes >= Self::GROWTH_BYTES_MIN;
        is_enough.then(|| self.heap_bytes as f64 / self.growth_bytes as f64)
    }

    /// The share that the heap and the program's own mappings explain together, 0 to 1.
    pub fn known_share(&self) -> Option<f64> {
        let heap = self.share()?;
        Some(heap + self.mapped_bytes as f64 / self.growth_bytes as f64)
    }

    /// Adds that of another process.
    pub fn add(&mut self, other: &Coverage) {
        self.growth_bytes = self.growth_bytes.saturating_add(other.growth_bytes);
        self.heap_bytes = self.heap_bytes.saturating_add(other.heap_bytes);
        self.mapped_bytes = self.mapped_bytes.saturating_add(other.mapped_bytes);
    }
}
