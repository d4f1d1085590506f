//! Events: `record.rs`.

use heapscribe_wire::ids::{NameId, RateId, StackId, ThreadId};
use heapscribe_wire::limits::{EVENT_BYTES_MAX, RATES_MAX};
use heapscribe_wire::record::{
    BadEvent, Block, Call, Event, Events, Mapping, MappingFlags, MappingKind, Note, put_alloc,
    put_alloc_of_many, put_free, put_free_of_many,
};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::{holds_up_to, number, stack};

fn call() -> impl Strategy<Value = Call> {
    proptest::sample::select(&Call::ALL[..])
}

/// Numbers of up to so many bits, each length as often.
fn up_to(bits: u32) -> impl Strategy<Value = u64> {
    (0..=bits).prop_flat_map(|bits| 0..1u64 << bits)
}

fn block() -> impl Strategy<Value = Block> {
    let birth_thread = proptest::option::of(any::<u32>().prop_map(ThreadId));
    (number(), stack(), number(), birth_thread).prop_map(|(size_bytes, stack, age, birth_thread)| {
        let age_ticks = Block::age(age);
        Block { size_bytes, stack, age_ticks, birth_thread }
    })
}

fn note() -> impl Strategy<Value = Note> {
    prop_oneof![
        Just(Note::Mark),
        Just(Note::Begin),
        Just(Note::End),
        number().prop_map(|age_ticks| Note::GoesOn { age_ticks })
    ]
}

fn mapping() -> impl Strategy<Value = Mapping> {
    let range = || (number(), number()).prop_map(|(address, len)| (address, len.min(u64::MAX - address)));
    let kinds = [MappingKind::Map, MappingKind::Unmap, MappingKind::Move, MappingKind::Protect];
    let kind = (0..kinds.len()).prop_map(move |n| kinds[n]);
    (kind, 0..16u8, any::<u32>(), stack(), range(), range()).prop_map(
        |(kind, flags, took_ticks, stack, (address, len_bytes), old)| {
            let old = if kind == MappingKind::Move { old } else { (0, 0) };
            let flags = MappingFlags(flags);
            let (old_address, old_len_bytes) = old;
            Mapping { kind, flags, took_ticks, stack, address, len_bytes, old_address, old_len_bytes }
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    let asked = || (call(), number(), stack());
    prop_oneof![
        (asked(), 0..64u8).prop_map(|((call, size_bytes, stack), align)| {
            let align_log2 = if call.is_aligned() { align } else { 0 };
            Event::Alloc { call, size_bytes, stack, align_log2 }
        }),
        (call(), block()).prop_map(|(call, block)| Event::Free { call, block }),
        (asked(), block()).prop_map(|((call, size_bytes, stack), old)| Event::Realloc {
            call,
            old,
            size_bytes,
            stack
        }),
        asked().prop_map(|(call, size_bytes, stack)| Event::Failed { call, size_bytes, stack }),
        call().prop_map(|call| Event::UnknownFree { call }),
        asked().prop_map(|(call, size_bytes, stack)| Event::UnknownRealloc { call, size_bytes, stack }),
        (number(), any::<u8>()).prop_map(|(count, reason)| Event::Lost { count, reason }),
        (note(), any::<u32>()).prop_map(|(note, name)| Event::Note { note, name: NameId(name) }),
        mapping().prop_map(Event::Mapping),
        number().prop_map(|units| Event::Took { units }),
        (0..=RATES_MAX as u8).prop_map(|rate| Event::Rate { rate: RateId(rate) }),
    ]
}

/// An event with the ticks before it, of which a rate and what a call took have none.
fn timed() -> impl Strategy<Value = (u64, Event)> {
    (number(), event()).prop_map(|(dt, event)| match event {
        Event::Rate { .. } | Event::Took { .. } => (0, event),
        _ => (dt, event),
    })
}

/// The bytes of events, and where each begins, with the end.
fn encoded(events: &[(u64, Event)]) -> (Vec<u8>, Vec<usize>) {
    let (mut bytes, mut starts) = (Vec::new(), vec![0]);
    for (dt, event) in events {
        let mut at = [0; EVENT_BYTES_MAX];
        let len = event.encode(*dt, &mut at);
        bytes.extend(&at[..len]);
        starts.push(bytes.len());
    }
    (bytes, starts)
}

/// Reads to the end: the offset stays within the bytes and grows, an error is at the offset, and last.
fn read_events(bytes: &[u8]) -> (Vec<(u64, Event)>, Option<BadEvent>) {
    let (mut events, mut read) = (Events::new(bytes), Vec::new());
    loop {
        let before = events.offset();
        match events.next() {
            None => return (read, None),
            Some(Ok(event)) => {
                assert!(before < events.offset() && events.offset() <= bytes.len());
                read.push(event);
            }
            Some(Err(bad)) => {
                assert!(bad.offset == before && before < bytes.len());
                assert!(events.next().is_none(), "after an error it ends");
                return (read, Some(bad));
            }
        }
    }
}

proptest! {
    #[test]
    fn events_round_trip(events in vec(timed(), 0..40)) {
        let (bytes, _) = encoded(&events);
        prop_assert_eq!(read_events(&bytes), (events, None));
    }

    #[test]
    fn cut_events_are_those_before_the_cut(events in vec(timed(), 1..12)) {
        let (bytes, starts) = encoded(&events);
        for cut in 0..bytes.len() {
            let (read, bad) = read_events(&bytes[..cut]);
            holds_up_to(cut, &starts, &events, &read);
            prop_assert_eq!(bad.map(|bad| bad.offset), (!starts.contains(&cut)).then(|| starts[read.len()]));
        }
    }

    #[test]
    fn changed_events_do_no_harm(
        events in vec(timed(), 1..12), at in any::<prop::sample::Index>(), to in any::<u8>()
    ) {
        let (mut bytes, starts) = encoded(&events);
        let at = at.index(bytes.len());
        bytes[at] = to;
        holds_up_to(at, &starts, &events, &read_events(&bytes).0);
    }

    #[test]
    fn events_written_as_words_are_the_same_events(
        dt in up_to(15), age_ticks in up_to(29), size_bytes in up_to(15), stack in up_to(22), call in call()
    ) {
        let (stack_number, stack, all) = (stack, StackId(stack as u32), dt | size_bytes);
        let mut at = [0xaa; EVENT_BYTES_MAX];
        let (is_short, is_of_many) = (all | stack_number < 1 << 14, all < 1 << 14 && stack_number < 1 << 21);
        type PutAlloc = fn(&mut [u8; EVENT_BYTES_MAX], Call, u64, u64, StackId) -> Option<usize>;
        for (put, fits) in [(put_alloc as PutAlloc, is_short), (put_alloc_of_many, is_of_many)] {
            let len = put(&mut at, call, dt, size_bytes, stack);
            prop_assert_eq!(len.is_some(), fits && !call.is_aligned());
            if let Some(len) = len {
                let event = Event::Alloc { call, size_bytes, stack, align_log2: 0 };
                prop_assert_eq!(read_events(&at[..len]), (vec![(dt, event)], None));
            }
        }
        type PutFree = fn(&mut [u8; EVENT_BYTES_MAX], Call, u64, u64, u64, StackId) -> Option<usize>;
        for (put, fits) in [(put_free as PutFree, is_short), (put_free_of_many, is_of_many)] {
            let len = put(&mut at, call, dt, age_ticks, size_bytes, stack);
            prop_assert_eq!(len.is_some(), fits && age_ticks < 1 << 28);
            if let Some(len) = len {
                let block = Block { size_bytes, stack, age_ticks, birth_thread: None };
                prop_assert_eq!(read_events(&at[..len]), (vec![(dt, Event::Free { call, block })], None));
            }
        }
    }

    #[test]
    fn any_bytes_are_events_or_an_error(bytes in vec(any::<u8>(), 0..200)) {
        let (read, bad) = read_events(&bytes);
        // What was read can be written again, and read again.
        prop_assert_eq!(read_events(&encoded(&read).0), (read, None));
        prop_assert!(bad.is_none_or(|bad| bad.offset < bytes.len()));
    }
}
