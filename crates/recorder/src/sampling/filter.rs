//! Which addresses may be those of sampled blocks: one byte to look at for each free of one that is not.
//!
//! A count for each of 32,768 classes of addresses. With 4,000 sampled blocks alive one free in eight looks
//! further, into the live table, for nothing. A count that has reached 255 stays.

use core::sync::atomic::{AtomicU8, Ordering};

/// Classes of addresses.
pub const CLASSES: usize = 1 << 15;
/// What an address divided by 16 is multiplied with, in 32 bits, for its class in the high bits.
pub const FACTOR: u32 = 0x9e37_79b1;
/// Shift that leaves the class.
pub const SHIFT: u32 = u32::BITS - CLASSES.ilog2();

/// The counts.
pub static FILTER: [AtomicU8; CLASSES] = [const { AtomicU8::new(0) }; CLASSES];

const STAYS: u8 = u8::MAX;

fn count(address: usize) -> &'static AtomicU8 {
    let class = ((address >> 4) as u32).wrapping_mul(FACTOR) >> SHIFT;
    &FILTER[class as usize % CLASSES]
}

/// A sampled block was allocated.
pub(crate) fn add(address: usize) {
    let more = |n: u8| (n != STAYS).then(|| n + 1);
    let _ = count(address).fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
}

/// A sampled block was freed.
pub(crate) fn remove(address: usize) {
    let less = |n: u8| (n != STAYS).then(|| n.saturating_sub(1));
    let _ = count(address).fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
}

/// From now on any address may be one.
pub(crate) fn pass_all() {
    if count(0).load(Ordering::Relaxed) != STAYS {
        FILTER.iter().for_each(|n| n.store(STAYS, Ordering::Relaxed));
    }
}

/// No address is one: for a forked child, which has no live blocks that it knows of.
pub(crate) fn clear() {
    FILTER.iter().filter(|n| n.load(Ordering::Relaxed) != 0).for_each(|n| n.store(0, Ordering::Relaxed));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_known_until_it_is_freed() {
        clear();
        for address in [0x5555_0010usize, 0x7fff_1230, 16] {
            assert_eq!(count(address).load(Ordering::Relaxed), 0);
            add(address);
            assert_eq!(count(address).load(Ordering::Relaxed), 1);
            remove(address);
            assert_eq!(count(address).load(Ordering::Relaxed), 0);
        }
        for _ in 0..300 {
            add(64);
        }
        remove(64);
        assert_eq!(count(64).load(Ordering::Relaxed), STAYS, "a count that was full says nothing any more");
        pass_all();
        remove(0x5555_0010);
        assert!(FILTER.iter().all(|n| n.load(Ordering::Relaxed) == STAYS));
        clear();
    }
}
