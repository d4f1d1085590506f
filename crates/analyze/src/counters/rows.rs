//! Counters by stack and by thread.

use heapscribe_wire::record::{Block, Call};

use super::patterns::PatternSums;
use crate::answer::{AllBlocks, Amount, heap_bytes};
use crate::sampling::Weight;

/// What the calls from one stack did. Thousands of rows take turns, so what one event changes lies together: a row is four
/// lines of the cache, and an allocation or a free changes two of them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct StackRow {
    pub(crate) frees: u64,
    pub(crate) freed_bytes: u64,
    pub(crate) age_sum: u128,
    pub(crate) age_min: u64,
    pub(crate) age_max: u64,
    pub(crate) temporary: u64,
    pub(crate) temporary_bytes: u64,
    pub(crate) allocations: u64,
    pub(crate) allocated_bytes: u64,
    pub(crate) size_min: u64,
    pub(crate) size_max: u64,
    pub(crate) patterns: PatternSums,
    pub(crate) by_others: u64,
    pub(crate) failed: u64,
}

impl Default for StackRow {
    fn default() -> Self {
        StackRow {
            allocations: 0,
            allocated_bytes: 0,
            frees: 0,
            freed_bytes: 0,
            temporary: 0,
            temporary_bytes: 0,
            by_others: 0,
            failed: 0,
            age_sum: 0,
            age_min: u64::MAX,
            age_max: 0,
            size_min: u64::MAX,
            size_max: 0,
            patterns: PatternSums::default(),
        }
    }
}

impl StackRow {
    /// Adds another, whose ages are in the same unit.
    pub(crate) fn merge(&mut self, other: &StackRow) {
        self.allocations += other.allocations;
        self.allocated_bytes = self.allocated_bytes.wrapping_add(other.allocated_bytes);
        self.frees += other.frees;
        self.freed_bytes = self.freed_bytes.wrapping_add(other.freed_bytes);
        self.temporary += other.temporary;
        self.temporary_bytes = self.temporary_bytes.wrapping_add(other.temporary_bytes);
        self.by_others += other.by_others;
        self.failed += other.failed;
        self.age_sum = self.age_sum.wrapping_add(other.age_sum);
        self.age_min = self.age_min.min(other.age_min);
        self.age_max = self.age_max.max(other.age_max);
        self.size_min = self.size_min.min(other.size_min);
        self.size_max = self.size_max.max(other.size_max);
        self.patterns.merge(&other.patterns);
    }

    /// All blocks that its calls allocated.
    pub(crate) fn all_blocks(&self) -> AllBlocks {
        let allocated = Amount { blocks: self.allocations, bytes: self.allocated_bytes };
        AllBlocks { allocated, heap_bytes: self.patterns.heap_bytes }
    }

    /// A block is allocated.
    #[inline(always)]
    pub(crate) fn alloc(&mut self, size_bytes: u64, weight: Weight, step: usize) {
        let patterns = &mut self.patterns;
        patterns.net_bytes[step] = patterns.net_bytes[step].wrapping_add(weight.bytes as i64);
        let heap_bytes = heap_bytes(size_bytes).wrapping_mul(weight.blocks);
        patterns.heap_bytes = patterns.heap_bytes.wrapping_add(heap_bytes);
        self.allocations += weight.blocks;
        self.allocated_bytes = self.allocated_bytes.wrapping_add(weight.bytes);
        self.size_min = self.size_min.min(size_bytes);
        self.size_max = self.size_max.max(size_bytes);
    }

    /// A block is freed.
    #[inline(always)]
    pub(crate) fn free(&mut self, block: &Block, weight: Weight, temporary: bool, step: usize) {
        let net_bytes = &mut self.patterns.net_bytes[step];
        *net_bytes = net_bytes.wrapping_sub(weight.bytes as i64);
        self.frees += weight.blocks;
        self.freed_bytes = self.freed_bytes.wrapping_add(weight.bytes);
        if block.birth_thread.is_some() {
            self.by_others += weight.blocks;
        }
        self.temporary += if temporary { weight.blocks } else { 0 };
        self.temporary_bytes = self.temporary_bytes.wrapping_add(if temporary { weight.bytes } else { 0 });
        let ages = u128::from(block.age_ticks).wrapping_mul(u128::from(weight.blocks));
        self.age_sum = self.age_sum.wrapping_add(ages);
        self.age_min = self.age_min.min(block.age_ticks);
        self.age_max = self.age_max.max(block.age_ticks);
    }
}

/// What one thread did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThreadSums {
    pub(crate) calls: [u64; Call::ALL.len()],
    pub(crate) allocations: u64,
    pub(crate) allocated_bytes: u64,
    pub(crate) frees: u64,
    pub(crate) freed_bytes: u64,
    pub(crate) failed: u64,
    pub(crate) grown: u64,
    pub(crate) shrunk: u64,
    pub(crate) same: u64,
    pub(crate) unknown: u64,
    pub(crate) others_freed: u64,
    pub(crate) lost: u64,
    pub(crate) temporary: u64,
    pub(crate) temporary_bytes: u64,
}

impl ThreadSums {
    /// Adds another.
    pub(crate) fn merge(&mut self, other: &ThreadSums) {
        for (mine, theirs) in self.calls.iter_mut().zip(&other.calls) {
            *mine += theirs;
        }
        self.allocations += other.allocations;
        self.allocated_bytes = self.allocated_bytes.wrapping_add(other.allocated_bytes);
        self.frees += other.frees;
        self.freed_bytes = self.freed_bytes.wrapping_add(other.freed_bytes);
        self.failed += other.failed;
        self.grown += other.grown;
        self.shrunk += other.shrunk;
        self.same += other.same;
        self.unknown += other.unknown;
        self.others_freed += other.others_freed;
        self.lost = self.lost.saturating_add(other.lost);
        self.temporary += other.temporary;
        self.temporary_bytes = self.temporary_bytes.wrapping_add(other.temporary_bytes);
    }

    /// A block changed its size.
    pub(crate) fn count_resize(&mut self, old_bytes: u64, new_bytes: u64, calls: u64) {
        match new_bytes.cmp(&old_bytes) {
            std::cmp::Ordering::Greater => self.grown += calls,
            std::cmp::Ordering::Less => self.shrunk += calls,
            std::cmp::Ordering::Equal => self.same += calls,
        }
    }
}
