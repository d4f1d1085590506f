//! Which anonymous mappings are the recorder's own memory. They have no name, but core dumps leave them out (`dd` of
//! smaps' VmFlags), and the head of the session says how much memory the recorder has. A program may keep memory of its
//! own out of dumps, too: where that makes more than the recorder has, only as much is taken as fits, of mappings whose
//! size the recorder's can have, from the highest address down, where the kernel maps what comes first.

use super::smaps::Entry;

/// The recorder asks for memory in multiples of this, but for what is larger.
const REGION_BYTES: u64 = 256 << 10;
/// What is the recorder's and in no count: a table of 512 KiB of places in code, a word's page, what rounding takes.
const MORE_BYTES: u64 = 640 << 10;

/// Marks those of a recorder that has so many bytes.
pub(super) fn mark(entries: &mut [Entry], own_bytes: u64) {
    let is_possible = |entry: &&mut Entry| {
        let of = &entry.mapping;
        let is_plain = of.access.read && of.access.write && !of.access.execute && !of.access.shared;
        entry.is_undumped && is_plain && of.path.is_empty()
    };
    let mut possible: Vec<_> = entries.iter_mut().filter(is_possible).collect();
    let sum = |of: fn(&Entry) -> u64| possible.iter().map(|entry| of(entry)).fold(0, u64::saturating_add);
    // A huge page is in memory as a whole, whatever is used of it.
    let huge_bytes = sum(|entry| entry.mapping.huge_bytes);
    let most_bytes =
        own_bytes.saturating_add(own_bytes / 4).saturating_add(MORE_BYTES).saturating_add(huge_bytes);
    let are_all = own_bytes > 0 && sum(|entry| entry.mapping.resident_bytes) <= most_bytes;
    let mut left_bytes = if own_bytes > 0 { most_bytes } else { 0 };
    possible.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.mapping.start));
    for entry in possible {
        let of = &mut entry.mapping;
        let is_fit = (of.end - of.start).is_multiple_of(REGION_BYTES) && of.resident_bytes <= left_bytes;
        if are_all || is_fit {
            of.is_recorder = true;
            left_bytes = left_bytes.saturating_sub(of.resident_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_formats::model::{Access, Mapping};

    use super::*;

    const KIB: u64 = 1 << 10;

    /// Mappings as first address, bytes, and what of it is in memory, in KiB; those that are the recorder's.
    fn check(mappings: &[(u64, u64, u64)], own_kib: u64, expected: &[u64]) {
        let access = Access { read: true, write: true, ..Access::default() };
        let entry = |&(start, bytes, resident): &(u64, u64, u64)| Entry {
            mapping: Mapping {
                start: start * KIB,
                end: (start + bytes) * KIB,
                resident_bytes: resident * KIB,
                access,
                ..Mapping::default()
            },
            is_undumped: true,
        };
        let mut entries: Vec<_> = mappings.iter().map(entry).collect();
        let at = |number: u64| number * KIB;
        // One that is dumped, and one that has a name: never the recorder's.
        entries.push(Entry { is_undumped: false, ..entry(&(9_000_000, 256, 4)) });
        let mut named = entry(&(9_100_000, 256, 4));
        named.mapping.path = b"[anon:secrets]".to_vec();
        entries.push(named);
        mark(&mut entries, own_kib * KIB);
        let marked =
            entries.iter().filter(|entry| entry.mapping.is_recorder).map(|entry| entry.mapping.start);
        assert_eq!(marked.collect::<Vec<_>>(), expected.iter().map(|of| at(*of)).collect::<Vec<_>>());
    }

    #[test]
    fn what_dumps_leave_out_is_the_recorders_as_far_as_it_has_memory() {
        check(&[(1_000, 256, 200), (5_000, 1_100, 900), (8_000, 4, 4)], 1_000, &[1_000, 5_000, 8_000]);
        check(&[], 1_000, &[]);
        check(&[(1_000, 256, 200)], 0, &[]);
    }

    #[test]
    fn memory_that_the_program_keeps_out_of_dumps_stays_the_programs() {
        // 64 MiB of secrets below the recorder's.
        check(&[(1_000, 65_536, 65_536), (100_000, 512, 400), (101_000, 256, 100)], 480, &[100_000, 101_000]);
        // Of a size that the recorder does not ask for.
        check(&[(100_000, 512, 400), (101_000, 3_001, 900)], 400, &[100_000]);
    }
}
