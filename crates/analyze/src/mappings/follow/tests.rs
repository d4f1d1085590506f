//! What is followed, step by step.

use super::*;

const ANON: MappingFlags = MappingFlags(MappingFlags::ACCESSIBLE.0 | MappingFlags::ANONYMOUS.0);

fn mapping(kind: MappingKind, flags: MappingFlags, stack: u32, address: u64, len_bytes: u64) -> Mapping {
    let stack = StackId(stack);
    Mapping { kind, flags, took_ticks: 0, stack, address, len_bytes, old_address: 0, old_len_bytes: 0 }
}

fn map(stack: u32, address: u64, len_bytes: u64) -> Mapping {
    mapping(MappingKind::Map, ANON, stack, address, len_bytes)
}

fn unmap(address: u64, len_bytes: u64) -> Mapping {
    mapping(MappingKind::Unmap, MappingFlags::default(), 0, address, len_bytes)
}

fn moved(stack: u32, old: (u64, u64), new: (u64, u64)) -> Mapping {
    let to = mapping(MappingKind::Move, MappingFlags::default(), stack, new.0, new.1);
    Mapping { old_address: old.0, old_len_bytes: old.1, ..to }
}

fn protect(flags: MappingFlags, address: u64, len_bytes: u64) -> Mapping {
    mapping(MappingKind::Protect, flags, 0, address, len_bytes)
}

fn followed(events: &[(u64, Mapping)]) -> Followed {
    let mut gathered = MappingEvents::default();
    // In any order, as chunks are.
    events.iter().rev().for_each(|(ticks, mapping)| gathered.add(*ticks, *mapping));
    follow(gathered).expect("few events")
}

/// One event a tick: live and reserved bytes at the end, the peak and its tick, live bytes by stack.
fn check(events: &[Mapping], expected: (u64, u64, u64, u64), by_stack: &[(u32, u64)]) {
    let events: Vec<_> = (1..).zip(events.iter().copied()).collect();
    let found = followed(&events);
    let levels = (found.live_bytes, found.reserved_bytes, found.peak_bytes, found.peak_ticks);
    assert_eq!(levels, expected, "{events:?}");
    let live = found.stacks.iter().filter(|(_, of)| of.live_bytes > 0);
    assert_eq!(live.map(|(stack, of)| (stack.0, of.live_bytes)).collect::<Vec<_>>(), by_stack);
    let at_peak: u64 = found.stacks.values().map(|of| of.at_peak_bytes).sum();
    assert_eq!(at_peak, found.peak_bytes, "{events:?}");
}

#[test]
fn an_unmapping_ends_parts_of_mappings() {
    check(&[map(1, 100, 50), unmap(100, 50)], (0, 0, 50, 1), &[]);
    check(&[map(1, 100, 50), unmap(110, 10)], (40, 0, 50, 1), &[(1, 40)]);
    check(&[map(1, 100, 50), map(2, 150, 50), unmap(140, 20)], (80, 0, 100, 2), &[(1, 40), (2, 40)]);
    check(&[unmap(0, 1000), map(1, 100, 50)], (50, 0, 50, 2), &[(1, 50)]);
}

#[test]
fn a_mapping_over_another_takes_its_place() {
    check(&[map(1, 100, 50), map(2, 120, 10)], (50, 0, 50, 1), &[(1, 40), (2, 10)]);
    let file = mapping(MappingKind::Map, MappingFlags::ACCESSIBLE, 2, 120, 10);
    check(&[map(1, 100, 50), file], (40, 0, 50, 1), &[(1, 40)]);
}

#[test]
fn what_is_moved_or_resized_is_of_who_did_that() {
    check(&[map(1, 100, 50), moved(2, (100, 50), (500, 80))], (80, 0, 80, 2), &[(2, 80)]);
    check(&[map(1, 100, 50), moved(2, (100, 50), (100, 20))], (20, 0, 50, 1), &[(2, 20)]);
    check(&[map(1, 100, 50), moved(2, (110, 10), (500, 10))], (50, 0, 50, 1), &[(1, 40), (2, 10)]);
    let copy = Mapping { flags: MappingFlags::KEEPS_OLD, ..moved(2, (100, 50), (500, 50)) };
    check(&[map(1, 100, 50), copy], (100, 0, 100, 2), &[(1, 50), (2, 50)]);
    check(&[moved(2, (100, 50), (500, 80))], (0, 0, 0, 0), &[]);
}

#[test]
fn address_space_without_rights_is_no_memory_until_it_has_some() {
    let reserve = mapping(MappingKind::Map, MappingFlags::ANONYMOUS, 1, 100, 50);
    let open = protect(MappingFlags::ACCESSIBLE, 110, 10);
    check(&[reserve], (0, 50, 0, 0), &[]);
    check(&[reserve, open, open], (10, 40, 10, 2), &[(1, 10)]);
    check(&[reserve, open, protect(MappingFlags::default(), 0, 1000)], (0, 50, 10, 2), &[]);
    check(&[reserve, open, unmap(100, 50)], (0, 0, 10, 2), &[]);
}

#[test]
fn the_break_is_counted_apart_too() {
    let grow = mapping(MappingKind::Map, MappingFlags(ANON.0 | MappingFlags::BREAK.0), 1, 100, 50);
    let found = followed(&[(1, grow), (2, map(2, 500, 10)), (3, unmap(130, 20))]);
    assert_eq!((found.live_bytes, found.break_bytes, found.mapped.bytes), (40, 30, 60));
}

/// Thread 1 unmaps from tick 5 on and writes its event at 20; thread 2 has the address at 10.
#[test]
fn what_is_unmapped_ends_when_the_call_begins() {
    let slow = Mapping { took_ticks: 15, ..unmap(100, 50) };
    let found = followed(&[(1, map(1, 100, 50)), (10, map(2, 100, 50)), (20, slow)]);
    assert_eq!((found.live_bytes, found.peak_bytes, found.stacks[&StackId(2)].live_bytes), (50, 50, 50));
    let slow = Mapping { took_ticks: 15, ..moved(3, (100, 50), (900, 50)) };
    let found = followed(&[(1, map(1, 100, 50)), (10, map(2, 100, 50)), (20, slow)]);
    assert_eq!((found.live_bytes, found.stacks[&StackId(3)].live_bytes), (100, 50));
}
