//! Moments of nodes are those of the first events that need them, in whatever order chunks come.

use heapscribe_wire::definitions::{DEFINITION_BYTES_MAX, Definition, Node};
use heapscribe_wire::ids::CodeAddress;
use heapscribe_wire::limits::EVENT_BYTES_MAX;
use heapscribe_wire::record::Call;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Nodes in no file, in one piece.
fn nodes(count: u32) -> Vec<u8> {
    let (mut bytes, mut position) = (Vec::new(), Position::default());
    for _ in 0..count {
        let node =
            Node { parent: StackId::UNKNOWN, pc: CodeAddress(0x7000_0001), guesses: false, exact: false };
        let mut room = [0; DEFINITION_BYTES_MAX];
        let n = Definition::Node(node).encode(&mut position, &mut room).unwrap();
        bytes.extend_from_slice(&room[..n]);
    }
    bytes
}

/// A chunk of allocations: ticks, which ascend, and stacks.
fn take(moments: &mut Moments, events: &[(u64, u32)]) {
    let (begin_ticks, mut before) = (events[0].0, events[0].0);
    let mut payload = Vec::new();
    for (ticks, stack) in events {
        let event = Event::Alloc { call: Call::Malloc, size_bytes: 8, stack: StackId(*stack), align_log2: 0 };
        let mut room = [0; EVENT_BYTES_MAX];
        let n = event.encode(ticks - before, &mut room);
        payload.extend_from_slice(&room[..n]);
        before = *ticks;
    }
    moments.chunk(&ChunkInfo { begin_ticks, ..ChunkInfo::default() }, &payload);
}

/// Moments of so many nodes in no file, by these chunks.
fn moments(count: u32, chunks: &[&[(u64, u32)]]) -> Moments {
    let mut moments = Moments::default();
    moments.definitions(&nodes(count), Position::default());
    chunks.iter().for_each(|events| take(&mut moments, events));
    moments
}

fn check(count: u32, chunks: &[&[(u64, u32)]], expected: &[Span]) {
    let moments = moments(count, chunks);
    let found: Vec<_> = (1..=count).map(|node| moments.of(StackId(node))).collect();
    assert_eq!(found, expected, "{chunks:?}");
}

#[test]
fn a_node_is_as_old_as_the_first_event_that_needs_it() {
    check(4, &[&[(10, 2), (20, 3), (30, 1), (40, 3)]], &[(10, 10), (10, 10), (20, 20), (20, u64::MAX)]);
    check(2, &[], &[(0, u64::MAX), (0, u64::MAX)]);
    check(1, &[&[(10, 0), (20, 1)]], &[(20, 20)]);
}

#[test]
fn a_chunk_that_comes_later_may_have_been_first() {
    let [a, b]: [&[_]; 2] = [&[(50, 3), (60, 4)], &[(5, 1), (55, 4)]];
    let expected = [(5, 5), (50, 50), (50, 50), (55, 55)];
    check(4, &[a, b], &expected);
    check(4, &[b, a], &expected);
}

#[test]
fn without_the_beginning_a_node_may_be_older() {
    let mut moments = moments(2, &[&[(10, 2)]]);
    moments.begin_late();
    assert_eq!(moments.of(StackId(1)), (0, 10));
}

#[test]
fn frames_in_files_have_no_moments() {
    let mut moments = Moments::default();
    take(&mut moments, &[(10, 2)]);
    assert!(moments.known.is_empty());
}

#[test]
fn of_more_moments_than_there_is_room_for_those_close_to_each_other_become_one() {
    let events: Vec<_> = (1..=MOMENTS_MAX as u32 + 1).map(|n| (1_000_000 + u64::from(n) * 100, n)).collect();
    let moments = moments(MOMENTS_MAX as u32 + 1, &[&events]);
    assert!(moments.known.len() <= MOMENTS_MAX);
    for (ticks, node) in events {
        let (from, to) = moments.of(StackId(node));
        assert!(from <= ticks && ticks <= to && to - from <= 1024, "{node}: {ticks} is not in {from}..{to}");
    }
}

proptest! {
    /// By an oracle that looks at all events for each node.
    #[test]
    fn chunks_in_any_order(chunks in vec(vec((1_u64..30, 1_u32..12), 1..8), 0..6)) {
        let mut chunks = chunks;
        for events in &mut chunks {
            events.sort_by_key(|(ticks, _)| *ticks);
        }
        let refs: Vec<&[_]> = chunks.iter().map(Vec::as_slice).collect();
        let moments = moments(12, &refs);
        for node in 1..=12 {
            let of_it = chunks.iter().flatten().filter(|(_, stack)| *stack >= node);
            let first = of_it.map(|(ticks, _)| *ticks).min();
            prop_assert_eq!(moments.of(StackId(node)).1, first.unwrap_or(u64::MAX), "node {}", node);
        }
    }
}
