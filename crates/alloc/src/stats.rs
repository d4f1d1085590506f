//! The statistics of a heap, the same for all heaps, in the form that plug-ins in C use too.

/// Counts of a heap at one moment. What a heap does not know is 0.
///
/// ```text
///    0  pool_bytes          what blocks can lie in, free or used
///    8  used_bytes          of them in allocated blocks, with what each costs besides
///   16  peak_bytes          the most that used_bytes has been
///   24  free_bytes          the rest of pool_bytes
///   32  largest_free_bytes  the largest request that would be served now without growing
///   40  blocks              allocated
///   48  free_blocks         pieces that the free bytes are in
///   56  pools               areas of memory
///   64  growths             areas that were added after the first
///   72  failures            requests that got nothing
///   80  misuses             frees of what was free already, left alone
///   88  locked_bytes        of the pools, kept in memory by the kernel
/// ```
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the table says what each is")]
pub struct Stats {
    pub pool_bytes: u64,
    pub used_bytes: u64,
    pub peak_bytes: u64,
    pub free_bytes: u64,
    pub largest_free_bytes: u64,
    pub blocks: u64,
    pub free_blocks: u64,
    pub pools: u64,
    pub growths: u64,
    pub failures: u64,
    pub misuses: u64,
    pub locked_bytes: u64,
}

const _: () = assert!(size_of::<Stats>() == 96);

impl Stats {
    /// Of a heap without memory.
    pub const EMPTY: Stats = Stats {
        pool_bytes: 0,
        used_bytes: 0,
        peak_bytes: 0,
        free_bytes: 0,
        largest_free_bytes: 0,
        blocks: 0,
        free_blocks: 0,
        pools: 0,
        growths: 0,
        failures: 0,
        misuses: 0,
        locked_bytes: 0,
    };

    /// How much of the free memory a single request could not get, in thousandths: 0 when all of it is one
    /// piece, or when there is none.
    pub fn fragmentation_per_mille(&self) -> u32 {
        let apart = u128::from(self.free_bytes.saturating_sub(self.largest_free_bytes));
        (apart * 1000).checked_div(u128::from(self.free_bytes)).unwrap_or(0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragmentation_is_what_one_request_can_not_have() {
        for (free, largest, expected) in
            [(0, 0, 0), (100, 100, 0), (100, 25, 750), (u64::MAX, 0, 1000), (10, 20, 0)]
        {
            let stats = Stats { free_bytes: free, largest_free_bytes: largest, ..Stats::EMPTY };
            assert_eq!(stats.fragmentation_per_mille(), expected, "{free} {largest}");
        }
    }
}
