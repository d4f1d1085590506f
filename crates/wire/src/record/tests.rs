//! Each kind of event comes back as it was, and what is none is named.

use super::tag::{ALLOC, NOTE, OTHER_THREAD};
use super::*;
use crate::ids::{NameId, RateId, StackId, ThreadId};
use crate::limits::{EVENT_BYTES_MAX, TOOK_BYTES_MAX};

fn check(event: Event, dt: u64, len: usize) {
    let mut at = [0xaau8; EVENT_BYTES_MAX];
    let n = event.encode(dt, &mut at);
    assert_eq!(n, len, "{event:?}");
    assert_eq!(Events::new(&at[..n]).collect::<Vec<_>>(), [Ok((dt, event))]);
    for cut in 1..n {
        let got = Events::new(&at[..cut]).collect::<Vec<_>>();
        assert!(matches!(got[..], [Err(BadEvent { offset: 0, .. })]), "cut to {cut}: {got:?}");
    }
}

#[test]
fn each_kind_round_trips_and_notices_a_cut() {
    let own = Block { size_bytes: 300, stack: StackId(70_000), age_ticks: 5, birth_thread: None };
    let max = Block {
        size_bytes: u64::MAX,
        stack: StackId(u32::MAX),
        age_ticks: (1 << 47) - 1,
        birth_thread: Some(ThreadId(u32::MAX)),
    };
    let stack = StackId(3);
    check(Event::Alloc { call: Call::Malloc, size_bytes: 24, stack, align_log2: 0 }, 1, 4);
    check(Event::Alloc { call: Call::Memalign, size_bytes: 24, stack, align_log2: 12 }, 1, 5);
    check(Event::Free { call: Call::Free, block: own }, 200, 1 + 2 + 1 + 2 + 3);
    check(Event::Free { call: Call::FreeSized, block: max }, u64::MAX, 1 + 10 + 7 + 10 + 5 + 5);
    check(Event::Realloc { call: Call::Realloc, old: max, size_bytes: u64::MAX, stack }, u64::MAX, 49);
    check(Event::Realloc { call: Call::Reallocarray, old: own, size_bytes: 0, stack }, 1, 10);
    check(Event::Failed { call: Call::Calloc, size_bytes: 1 << 62, stack }, 1, 12);
    check(Event::UnknownFree { call: Call::Free }, 1, 2);
    check(Event::UnknownRealloc { call: Call::Realloc, size_bytes: 1, stack }, 1, 4);
    check(Event::Lost { count: 1000, reason: 3 }, 1, 5);
    let mapping = Mapping {
        kind: MappingKind::Unmap,
        flags: MappingFlags::default(),
        took_ticks: 300,
        stack: StackId::UNKNOWN,
        address: 0x7fff_1234_5000,
        len_bytes: 4096,
        old_address: 0,
        old_len_bytes: 0,
    };
    check(Event::Mapping(mapping), 1, 1 + 1 + 1 + 2 + 1 + 7 + 2);
    let most = Mapping {
        kind: MappingKind::Move,
        flags: MappingFlags(15),
        took_ticks: u32::MAX,
        stack: StackId(u32::MAX),
        old_address: u64::MAX,
        address: u64::MAX,
        len_bytes: 0,
        old_len_bytes: 0,
    };
    check(Event::Mapping(most), u64::MAX, 1 + 10 + 2 + 5 + 5 + 10 + 1 + 10 + 1);
    let name = NameId(1);
    check(Event::Note { note: Note::Mark, name }, 1, 3);
    check(Event::Note { note: Note::Begin, name: NameId(u32::MAX) }, 1, 7);
    check(Event::Note { note: Note::End, name }, u64::MAX, 12);
    check(Event::Note { note: Note::GoesOn { age_ticks: 300 }, name }, 1, 5);
    check(Event::Alloc { call: Call::PoolAlloc, size_bytes: 24, stack, align_log2: 0 }, 1, 4);
    check(Event::Free { call: Call::PoolFree, block: own }, 1, 1 + 1 + 1 + 2 + 3);
    check(Event::Took { units: 0 }, 0, 2);
    check(Event::Took { units: 300 }, 0, 3);
    check(Event::Took { units: u64::MAX }, 0, TOOK_BYTES_MAX);
    check(Event::Rate { rate: RateId(0) }, 0, 1);
    check(Event::Rate { rate: RateId(3) }, 0, 1);
}

/// Free on one core, birth a tick later on another, as recorders wrote it once: 45 days.
#[test]
fn an_age_below_zero_is_none() {
    let block = |age_ticks| Block { size_bytes: 24, stack: StackId(3), age_ticks, birth_thread: None };
    for (written, read) in
        [((1 << 48) - 1, 0), (u64::MAX, 0), (1 << 47, 0), ((1 << 47) - 1, (1 << 47) - 1), (1, 1)]
    {
        let free = |age_ticks| Event::Free { call: Call::Free, block: block(age_ticks) };
        let realloc =
            |old| Event::Realloc { call: Call::Realloc, old: block(old), size_bytes: 1, stack: StackId(1) };
        for (before, after) in [(free(written), free(read)), (realloc(written), realloc(read))] {
            let mut at = [0; EVENT_BYTES_MAX];
            let n = before.encode(9, &mut at);
            assert_eq!(Events::new(&at[..n]).collect::<Vec<_>>(), [Ok((9, after))]);
        }
    }
}

#[test]
fn what_is_no_event_is_named_with_its_offset() {
    for (bytes, why) in [
        (&[0u8, 1][..], "unknown kind of event"),
        (&[NOTE | 6 << 3, 1, 1], "unknown kind of note"),
        (&[NOTE | 5 << 3, 1, 4, 1, 1, 1, 1], "unknown kind of mapping"),
        (&[NOTE | OTHER_THREAD, 1, 1, 1], "unknown kind of note"),
        (&[7 | 4 << 3, 1], "unknown rate"),
        (&[0x78 | 1, 1, 1, 1], "unknown call"),
        (&[ALLOC, 1, 1, 255, 255, 255, 255, 31], "number over 32 bits"),
    ] {
        assert_eq!(Events::new(bytes).collect::<Vec<_>>(), [Err(BadEvent { offset: 0, why })]);
    }
}

fn whole(of: ShortEvent) -> Event {
    let ShortEvent { call, size_bytes, stack, .. } = of;
    match of.age_ticks {
        None => Event::Alloc { call, size_bytes, stack, align_log2: 0 },
        Some(age_ticks) => {
            Event::Free { call, block: Block { size_bytes, stack, age_ticks, birth_thread: None } }
        }
    }
}

/// What is read as words is what is read byte by byte, of all tags and of numbers of all lengths, padded ones too.
#[test]
fn short_events_are_those_that_are_read_byte_by_byte() {
    let (mut state, mut short, mut long) = (1u64, 0, 0);
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for round in 0..400_000u32 {
        let mut bytes = [0u8; 40];
        for byte in &mut bytes {
            // A number goes on with one half, so that all lengths come.
            *byte = random() as u8;
        }
        bytes[0] = if round % 4 == 0 { bytes[0] } else { ALLOC + (bytes[0] & 1) + (bytes[0] & 0x78) };
        let (mut by_words, mut by_bytes) = (Events::new(&bytes), Events::new(&bytes));
        let (expected, found) = (by_bytes.next(), by_words.next_short());
        match found {
            Some(found) => {
                assert_eq!(expected, Some(Ok((found.dt, whole(found)))), "{bytes:x?}");
                assert_eq!((by_words.offset(), found.tag), (by_bytes.offset(), bytes[0]), "{bytes:x?}");
                short += 1;
            }
            None => long += usize::from(by_words.offset() == 0),
        }
    }
    assert!(short > 20_000 && short + long == 400_000, "{short} short, {long} long");
}

/// All that the recorder writes as words is read as words.
#[test]
fn what_is_written_as_words_is_read_as_words() {
    let edges = |end: u64| [0, 1, 127, 128, 300, end / 2, end - 1].into_iter().filter(move |n| *n < end);
    let check = |n: Option<usize>, at: &[u8; EVENT_BYTES_MAX], dt: u64, event: Event| {
        let mut events = Events::new(at);
        let found = events.next_short().map(|found| (found.dt, whole(found)));
        assert_eq!((found, Some(events.offset())), (Some((dt, event)), n));
    };
    for (dt, size_bytes) in edges(1 << 14).flat_map(|dt| edges(1 << 14).map(move |size| (dt, size))) {
        for stack in edges(1 << 21).map(|stack| StackId(stack as u32)) {
            let mut at = [0; EVENT_BYTES_MAX];
            let event = Event::Alloc { call: Call::Calloc, size_bytes, stack, align_log2: 0 };
            if let Some(n) = put_alloc(&mut at, Call::Calloc, dt, size_bytes, stack) {
                check(Some(n), &at, dt, event);
            }
            check(put_alloc_of_many(&mut at, Call::Calloc, dt, size_bytes, stack), &at, dt, event);
            for age_ticks in edges(1 << 28) {
                let event = Event::Free {
                    call: Call::Free,
                    block: Block { size_bytes, stack, age_ticks, birth_thread: None },
                };
                if let Some(n) = put_free(&mut at, Call::Free, dt, age_ticks, size_bytes, stack) {
                    check(Some(n), &at, dt, event);
                }
                check(
                    put_free_of_many(&mut at, Call::Free, dt, age_ticks, size_bytes, stack),
                    &at,
                    dt,
                    event,
                );
            }
        }
    }
}
