//! Whatever events a log has, they are decoded from columns as they were; whatever the bytes of the
//! columns, decoding ends.

use heapscribe_wire::ids::{RateId, StackId, ThreadId};
use heapscribe_wire::limits::{CHUNK_PAYLOAD_BYTES, EVENT_BYTES_MAX};
use heapscribe_wire::record::{Block, Call, Event, Events};
use heapscribe_wire::varint;
use proptest::prelude::*;

use super::layout::COLUMNS;
use super::{Columns, DecodeState, Encoder};
use crate::model::ChunkInfo;
use crate::native::block::EVENTS_BYTES_MAX;

/// Sizes of the columns, and what the events in them add up to.
struct Encoded {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    cut_bytes: u32,
}

fn encode(encoder: &mut Encoder, begin_ticks: u64, payload: &[u8]) -> Encoded {
    let info = ChunkInfo { begin_ticks, ..ChunkInfo::default() };
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    let cut_bytes = encoder.encode(&info, payload, &mut bytes, &mut ends).cut_bytes;
    Encoded { bytes, ends, cut_bytes }
}

fn rows(events: &[(u64, Event)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (dt, event) in events {
        let mut at = [0; EVENT_BYTES_MAX];
        let n = event.encode(*dt, &mut at);
        out.extend_from_slice(&at[..n]);
    }
    out
}

fn decode(bytes: &[u8], begin_ticks: u64) -> Vec<Result<(u64, Event), &'static str>> {
    let mut state = DecodeState::default();
    let columns = Columns::split(bytes).expect("columns");
    columns.events(begin_ticks, &mut state).map(|event| event.map_err(|bad| bad.why)).collect()
}

fn check(events: &[(u64, Event)]) -> Encoded {
    let payload = rows(events);
    let encoded = encode(&mut Encoder::default(), 1000, &payload);
    let all: Vec<_> = Events::new(&payload).collect::<Result<_, _>>().unwrap();
    assert_eq!(decode(&encoded.bytes, 1000), all.into_iter().map(Ok).collect::<Vec<_>>());
    assert_eq!(encoded.cut_bytes, 0);
    encoded
}

/// Length of a column.
fn column(encoded: &Encoded, n: usize) -> usize {
    encoded.ends[n] - if n == 0 { COLUMNS } else { encoded.ends[n - 1] }
}

const STACK: StackId = StackId(7);

fn alloc(size_bytes: u64) -> Event {
    Event::Alloc { call: Call::Malloc, size_bytes, stack: STACK, align_log2: 0 }
}

fn free(age_ticks: u64, size_bytes: u64, birth_thread: Option<ThreadId>) -> Event {
    let block = Block { size_bytes, stack: STACK, age_ticks, birth_thread };
    Event::Free { call: Call::Free, block }
}

#[test]
fn a_block_of_the_same_chunk_is_freed_by_its_position() {
    let encoded = check(&[(5, alloc(24)), (6, free(6, 24, None)), (7, alloc(24)), (7, free(7, 24, None))]);
    // Two of each, one new stack, no foreign.
    let lengths: Vec<_> = (0..COLUMNS).map(|n| column(&encoded, n)).collect();
    assert_eq!(lengths, [4, 2, 2, 2, 0, 1, 2, 0, 2, 0, 0, 0]);
}

#[test]
fn a_free_that_no_position_reproduces_is_foreign() {
    for foreign in [free(6, 25, None), free(6, 24, Some(ThreadId(3))), free(5, 24, None), free(7, 24, None)] {
        let encoded = check(&[(5, alloc(24)), (6, foreign)]);
        assert_eq!(column(&encoded, 9), 1, "{foreign:?}");
    }
    let twice = [(5, alloc(24)), (6, free(6, 24, None)), (6, free(12, 24, None))];
    assert_eq!(column(&check(&twice), 9), 1);
}

/// Traces have ages modulo 2^48 of frees that read the clock a tick before the birth.
#[test]
fn an_age_below_zero_in_a_trace_is_none() {
    const FOREIGN_BIRTHS: usize = 9;
    let encoded = check(&[(7, free(12, 24, None))]);
    let mut birth = [0; varint::MAX_BYTES];
    let n = varint::put(&mut birth, varint::zigzag(7 - ((1 << 48) - 1)));
    let mut bytes = encoded.bytes.clone();
    bytes.splice(encoded.ends[FOREIGN_BIRTHS - 1]..encoded.ends[FOREIGN_BIRTHS], birth[..n].iter().copied());
    bytes[FOREIGN_BIRTHS] = n as u8;
    assert_eq!(decode(&bytes, 1000), [Ok((7, free(0, 24, None)))]);
}

#[test]
fn blocks_are_freed_in_any_order() {
    for n in [1, 2, 3, 4, 5, 6, 40, 1000] {
        let allocs: Vec<_> = (0..n).map(|i| (1, alloc(i))).collect();
        let first = (0..n).map(|i| (1, free(n, i, None)));
        let last = (0..n).map(|i| (1, free(1 + 2 * i, n - 1 - i, None)));
        let frees: [Vec<_>; 2] = [first.collect(), last.collect()];
        for frees in frees {
            let encoded = check(&[allocs.clone(), frees].concat());
            assert_eq!(column(&encoded, 9), 0, "{n}");
        }
    }
}

#[test]
fn an_encoder_starts_each_events_block_afresh() {
    let mut encoder = Encoder::default();
    let payload = rows(&[(5, alloc(24)), (6, free(6, 24, None))]);
    let first = encode(&mut encoder, 0, &payload).bytes;
    assert_eq!(encode(&mut encoder, 0, &payload).bytes, first);
    // Born five ticks after the begin of the one before, which is not this one's.
    let payload = rows(&[(6, free(6, 24, None))]);
    assert_eq!(decode(&encode(&mut encoder, 5, &payload).bytes, 5), [Ok((6, free(6, 24, None)))]);
}

#[test]
fn events_end_at_invalid_bytes() {
    let mut payload = rows(&[(5, alloc(24)), (6, alloc(u64::MAX))]);
    payload.extend_from_slice(&[0; 9]);
    let encoded = encode(&mut Encoder::default(), 0, &payload);
    assert_eq!((decode(&encoded.bytes, 0).len(), encoded.cut_bytes), (2, 9));
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![Just(24), 0..100u64, any::<u64>(), (u64::MAX - 3)..=u64::MAX]
}

fn stack() -> impl Strategy<Value = StackId> {
    prop_oneof![0..5u32, any::<u32>()].prop_map(StackId)
}

fn call() -> impl Strategy<Value = Call> {
    (0..Call::ALL.len()).prop_map(|n| Call::ALL[n])
}

fn thread() -> impl Strategy<Value = Option<ThreadId>> {
    prop::option::weighted(0.2, any::<u32>().prop_map(ThreadId))
}

fn block() -> impl Strategy<Value = Block> {
    let age = prop_oneof![0..20u64, any::<u64>()];
    let all = (size(), stack(), age, thread());
    all.prop_map(|(size_bytes, stack, age_ticks, birth_thread)| Block {
        size_bytes,
        stack,
        age_ticks,
        birth_thread,
    })
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (call(), size(), stack(), 0..64u8).prop_map(|(call, size_bytes, stack, align_log2)| {
            Event::Alloc { call, size_bytes, stack, align_log2 }
        }),
        4 => (call(), block()).prop_map(|(call, block)| Event::Free { call, block }),
        2 => (call(), block(), size(), stack()).prop_map(|(call, old, size_bytes, stack)| {
            Event::Realloc { call, old, size_bytes, stack }
        }),
        1 => (call(), size(), stack()).prop_map(|(call, size_bytes, stack)| {
            Event::Failed { call, size_bytes, stack }
        }),
        1 => call().prop_map(|call| Event::UnknownFree { call }),
        1 => (call(), size(), stack()).prop_map(|(call, size_bytes, stack)| {
            Event::UnknownRealloc { call, size_bytes, stack }
        }),
        4 => prop_oneof![0..300u64, any::<u64>()].prop_map(|units| Event::Took { units }),
        1 => (0..4u8).prop_map(|rate| Event::Rate { rate: RateId(rate) }),
        1 => (any::<u64>(), any::<u8>()).prop_map(|(count, reason)| Event::Lost { count, reason }),
    ]
}

/// Events in which some frees match an earlier allocation exactly.
fn history() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let step = (prop_oneof![0..3u64, any::<u64>()], event(), any::<prop::sample::Index>(), any::<bool>());
    prop::collection::vec(step, 0..200).prop_map(|steps| {
        let (mut ticks, mut live, mut out) = (1000u64, Vec::<(u64, Block)>::new(), Vec::new());
        for (dt, mut event, which, exactly) in steps {
            if !matches!(event, Event::Rate { .. } | Event::Took { .. }) {
                ticks = ticks.wrapping_add(dt);
            }
            if let Event::Free { block, .. } | Event::Realloc { old: block, .. } = &mut event
                && exactly
                && !live.is_empty()
            {
                let (born, known) = live.swap_remove(which.index(live.len()));
                *block = Block { age_ticks: ticks.wrapping_sub(born), ..known };
            }
            if let Event::Alloc { size_bytes, stack, .. } | Event::Realloc { size_bytes, stack, .. } = event {
                live.push((ticks, Block { size_bytes, stack, age_ticks: 0, birth_thread: None }));
            }
            out.push((dt, event));
        }
        out
    })
}

proptest! {
    #[test]
    fn every_event_is_decoded_as_it_was(events in history()) {
        check(&events);
    }

    #[test]
    fn no_chunk_is_too_long_as_columns(event in event(), other in event(), dt in any::<u64>()) {
        let pair = rows(&[(dt, event), (1, other)]);
        let payload = pair.repeat(CHUNK_PAYLOAD_BYTES / pair.len());
        let encoded = encode(&mut Encoder::default(), 0, &payload);
        prop_assert_eq!(encoded.cut_bytes, 0);
        prop_assert!(encoded.bytes.len() <= EVENTS_BYTES_MAX - 56);
    }

    #[test]
    fn decoding_any_bytes_ends(bytes in prop::collection::vec(any::<u8>(), 0..400), at in 0..400usize) {
        let valid = encode(&mut Encoder::default(), 0, &bytes).bytes;
        let mut damaged = valid.clone();
        if let Some(byte) = damaged.get_mut(at) {
            *byte ^= bytes.first().copied().unwrap_or(1);
        }
        for bytes in [&bytes, &damaged] {
            if let Some(columns) = Columns::split(bytes) {
                let mut state = DecodeState::default();
                let read: Vec<_> = columns.events(0, &mut state).collect();
                prop_assert!(read.len() <= bytes.len() + 1);
                prop_assert!(read.iter().rev().skip(1).all(Result::is_ok));
            }
        }
    }
}
