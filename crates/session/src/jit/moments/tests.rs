//! Moments of nodes are those of the first events that need them, in whatever order chunks come.

use heapscribe_wire::definitions::{DEFINITION_BYTES_MAX, Definition, Node};
use heapscribe_wire::ids::CodeAddress;
use heapscribe_wire::limits::EVENT_BYTES_MAX;
use heapscribe_wire::record::Call;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Nodes in no file, in one piece, by their callers.
fn nodes(callers: &[u32]) -> Vec<u8> {
    let (mut bytes, mut position) = (Vec::new(), Position::default());
    for caller in callers {
        let (parent, pc) = (StackId(*caller), CodeAddress(0x7000_0001));
        let node = Definition::Node(Node { parent, pc, guesses: false, exact: false });
        let mut room = [0; DEFINITION_BYTES_MAX];
        let n = node.encode(&mut position, &mut room).unwrap();
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

fn define(moments: &mut Moments, bytes: &[u8]) {
    let mut definitions = Definitions::new(bytes, Position::default());
    definitions.by_ref().for_each(|read| moments.definition(&read.unwrap().1));
    moments.defined(definitions.position());
}

/// Moments of nodes with these callers, by these chunks.
fn moments(callers: &[u32], chunks: &[&[(u64, u32)]]) -> Moments {
    let mut moments = Moments::default();
    define(&mut moments, &nodes(callers));
    chunks.iter().for_each(|events| take(&mut moments, events));
    moments
}

fn check(callers: &[u32], chunks: &[&[(u64, u32)]], expected: &[Span]) {
    let spans = moments(callers, chunks).spans(&nodes(callers));
    assert_eq!(spans[1..], *expected, "{callers:?} {chunks:?}");
}

#[test]
fn a_node_is_as_old_as_the_first_event_that_needs_it() {
    // Nodes of no event, as 4 is, may be of one that was lost.
    let expected = [(10, 30), (10, 10), (20, 40), (20, u64::MAX)];
    check(&[0; 4], &[&[(10, 2), (20, 3), (30, 1), (40, 3)]], &expected);
    check(&[0; 2], &[], &[(0, u64::MAX), (0, u64::MAX)]);
    check(&[0], &[&[(10, 0), (20, 1), (30, 7)]], &[(20, 20)]);
}

#[test]
fn a_caller_is_captured_again_with_each_that_it_calls() {
    check(&[0, 1, 2, 1], &[&[(10, 3), (20, 4), (30, 3)]], &[(10, 30), (10, 30), (10, 30), (20, 20)]);
    check(&[0, 1, 1], &[&[(10, 2), (50, 3)]], &[(10, 50), (10, 10), (50, 50)]);
}

#[test]
fn a_chunk_that_comes_later_may_have_been_first() {
    let [a, b]: [&[_]; 2] = [&[(50, 3), (60, 4)], &[(5, 1), (55, 4)]];
    let expected = [(5, 5), (50, 50), (50, 50), (55, 60)];
    check(&[0; 4], &[a, b], &expected);
    check(&[0; 4], &[b, a], &expected);
}

#[test]
fn without_the_beginning_a_node_may_be_older() {
    let mut moments = moments(&[0; 2], &[&[(10, 2)]]);
    moments.begin_late();
    assert_eq!(moments.spans(&nodes(&[0; 2]))[1..], [(0, 10), (0, 10)]);
}

#[test]
fn nodes_in_no_file_are_noticed() {
    let mut moments = Moments::default();
    assert!(!moments.are_outside());
    define(&mut moments, &nodes(&[0]));
    assert!(moments.are_outside());
}

proptest! {
    /// By an oracle that looks at all events for each node.
    #[test]
    fn chunks_in_any_order(
        chunks in vec(vec((1_u64..30, 1_u32..12), 1..8), 0..6),
        callers in vec(any::<u32>(), 12..13),
    ) {
        let (mut chunks, mut callers) = (chunks, callers);
        for events in &mut chunks {
            events.sort_by_key(|(ticks, _)| *ticks);
        }
        callers.iter_mut().zip(1..).for_each(|(caller, node)| *caller %= node);
        let refs: Vec<&[_]> = chunks.iter().map(Vec::as_slice).collect();
        let spans = moments(&callers, &refs).spans(&nodes(&callers));
        let is_through = |node: u32, stack: u32| {
            let mut at = stack;
            while at > node {
                at = callers[at as usize - 1];
            }
            at == node
        };
        let events = || chunks.iter().flatten();
        for node in 1..=12 {
            let first = events().filter(|(_, stack)| *stack >= node).map(|(ticks, _)| *ticks).min();
            let last = events().filter(|(_, stack)| is_through(node, *stack)).map(|(ticks, _)| *ticks).max();
            let (from, to) = spans[node as usize];
            if let Some(first) = first {
                prop_assert_eq!((from, to), (first, last.unwrap_or(0).max(first)), "node {}", node);
            } else {
                prop_assert_eq!(to, u64::MAX);
            }
        }
    }
}
