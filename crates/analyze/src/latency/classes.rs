//! Classes of times, so that a percentile is known to a 32nd, whatever its size.
//!
//! ```text
//!   class of a time   below 64 ns: the time itself
//!                     else: its highest bit, and the five bits below that      32 classes for each doubling
//! ```

/// Bits of a time that its class keeps below the highest.
const BITS: u32 = 5;
/// Times below this are classes of their own.
const EXACT_NS: u64 = 2 << BITS;

/// The class of a time.
pub(super) fn class_of(ns: u64) -> usize {
    if ns < EXACT_NS {
        return ns as usize;
    }
    let shift = ns.ilog2() - BITS;
    ((shift as usize) << BITS) + (ns >> shift) as usize
}

/// The longest time of a class.
pub(super) fn longest_of(class: usize) -> u64 {
    if class < EXACT_NS as usize {
        return class as u64;
    }
    let shift = (class >> BITS) - 1;
    let low = ((class & ((1 << BITS) - 1)) | 1 << BITS) as u64;
    (low << shift) + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_meet_without_gap_and_are_a_32nd_wide() {
        let mut last = None;
        for class in 0..1900 {
            let longest = longest_of(class);
            assert_eq!(class_of(longest), class);
            assert!(last.is_none_or(|last: u64| class_of(last + 1) == class), "{class}");
            let first = last.map_or(0, |last| last + 1);
            assert!((longest - first) * 32 <= longest, "{class}: {first} to {longest}");
            last = Some(longest);
        }
        assert!(class_of(u64::MAX) < 2000);
        assert_eq!(longest_of(class_of(u64::MAX)), u64::MAX);
    }
}
