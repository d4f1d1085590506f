//! Sums by channel, and the messages that are named.

use super::*;

fn stretch(allocations: u64, allocated_bytes: u64) -> Interval {
    Interval { allocations, allocated_bytes, ..Interval::default() }
}

#[test]
fn times_of_a_channel_span_those_of_others() {
    let mark = |ns, channel_index, queue_index| Mark { ns, channel_index, queue_index, ..Mark::default() };
    let marks = [mark(10, 1, 0), mark(20, 2, 0), mark(30, 1, 1), mark(40, 1, 2), mark(50, 2, 1)];
    let stretches = [stretch(1, 100), stretch(1, 20), stretch(0, 0), stretch(2, 3), stretch(9, 999)];
    let found = channels(&marks, &stretches, 10);
    assert_eq!((found[0].messages, found[0].times, found[0].quiet_times), (3, 2, 1));
    assert_eq!(found[0].until_next, stretch(2, 120).into());
    assert_eq!(found[0].most.map(|most| (most.queue_index, most.time_ns)), Some((0, 0)));
    assert_eq!(found[0].alone, stretch(3, 103).into());
    assert_eq!((found[1].times, found[1].until_next), (1, stretch(3, 23).into()));
    let heavy = heaviest(&marks, &stretches, 10);
    let named: Vec<_> =
        heavy.iter().map(|h| (h.channel_index, h.queue_index, h.did.allocated_bytes)).collect();
    assert_eq!(named, [(1, 0, 100), (2, 0, 20), (1, 2, 3)]);
}

#[test]
fn a_message_that_left_much_of_all_is_named() {
    let mark = |ns, queue_index| Mark { ns, queue_index, ..Mark::default() };
    let marks = [mark(10, 0), mark(20, 1), mark(30, 2)];
    let ended = |allocated, ended_bytes| Interval { ended: 1, ended_bytes, ..stretch(2, allocated) };
    let intervals = vec![ended(300 << 10, 100 << 10), ended(900 << 10, 900 << 10), ended(90 << 10, 30 << 10)];
    let named = |before| {
        let cut =
            Intervals { before: stretch(1, before), intervals: intervals.clone(), ..Intervals::default() };
        left(&marks, &cut, 0)
            .iter()
            .map(|of| (of.message.queue_index, of.until_ns, of.message.did.left, of.message.did.left_bytes))
            .collect()
    };
    let found: Vec<_> = named(0);
    assert_eq!(found, [(0, Some(20), 1, 200 << 10)]);
    // Where the program left four times as much before any message it is no message's.
    let found: Vec<_> = named(800 << 10);
    assert_eq!(found, []);
}
