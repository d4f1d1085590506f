//! Records of layout one, byte by byte.

use super::super::layout_go1_11;
use super::super::limits::stack_bytes_max;
use super::super::names::Frame;
use super::super::{FRAMES_MAX, Fault};
use super::{file_one, lines, number, problems};

/// What the events in these records are, without what is wrong with them.
fn check(records: &[u8], expected: &[&str]) {
    assert_eq!(lines(&file_one(records)), expected);
}

#[test]
fn values_follow_their_number_or_their_length() {
    check(&[0x21 | 0x40, 5, 0x80, 1], &["5 0 HeapAlloc mem=128"]);
    check(&[0x21 | 0xc0, 3, 5, 0x80, 1], &["5 0 HeapAlloc mem=128"]);
    check(&[0x01 | 0x40, 3, 100, 0x08, 5], &["105 3 GCDone"]);
    check(
        &[0x01 | 0x40, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 9, 8, 1],
        &["10 -1 GCDone"],
    );
}

#[test]
fn a_length_may_be_padded() {
    let plain = [&[0x1d | 0xc0, 4, 1, 2, 3, 4][..]].concat();
    let padded =
        [&[0x1d | 0xc0, 0x84, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 1, 2, 3, 4][..]].concat();
    check(&plain, &["1 0 GoSysExit g=2 seq=3 ts=4"]);
    assert_eq!(lines(&file_one(&padded)), lines(&file_one(&plain)));
}

#[test]
fn a_log_event_has_a_text_after_its_values() {
    let log = [0x30 | 0xc0, 4, 1, 0, 7, 0, 2, b'h', b'i', 0x08, 1];
    check(&log, &["1 0 UserLog id=0 keyid=7 \"hi\"", "2 0 GCDone"]);
    check(&[0x30 | 0xc0, 4, 1, 0, 7, 0, 0, 0x08, 1], &["1 0 UserLog id=0 keyid=7", "2 0 GCDone"]);
}

#[test]
fn invalid_records_are_reported_with_their_offset() {
    let bad = |records: &[u8], what: &str| {
        let records = [&[0x08, 1][..], records].concat();
        assert_eq!(problems(&file_one(&records))[0], format!("{what} at byte 18"), "{records:?}");
        check(&records, &["1 0 GCDone"]);
    };
    bad(&[0x3f, 1], "unknown event 63");
    bad(&[0x00, 1], "unknown event 0");
    bad(&[0x21, 1], "HeapAlloc with a wrong number of values");
    bad(&[0x01, 1], "Batch with a wrong number of values");
    bad(&[0x02, 0], "a clock of no ticks a second");
    bad(&[0x21 | 0xc0, 2, 5, 0x80, 1], "a record of another length than it says");
    bad(&[0x21 | 0xc0, 99], "a record of another length than it says");
    bad(&[0x25, 0, 1, b'x'], "a text of number 0, which is none or taken");
    bad(&[0x25, 1, 0], "a text of 0 bytes, must be 1 to 1000000");
    bad(&[&[0x25, 1][..], &number(1_000_001)].concat(), "a text of 1000001 bytes, must be 1 to 1000000");
    bad(&[0x03 | 0xc0, 2, 1, 1], "a record of another length than it says");
    bad(&[&[0x03 | 0xc0, 3, 1][..], &number(1001)].concat(), "a stack of 1001 frames, at most 1000");
    bad(&[0x03 | 0xc0, 3, 1, 0, 0], "Stack with a wrong number of values");
    bad(&[&[0x08][..], &[0xff; 9], &[1]].concat(), "a time beyond 64 bits");
    bad(&[&[0x08][..], &[0xff; 10]].concat(), "a number of more than 64 bits");
}

#[test]
fn a_text_with_a_used_number_is_skipped() {
    let records = [0x25, 1, 1, b'a', 0x25, 1, 1, b'b', 0x08, 1, 0x02, 9];
    check(&records, &["1 0 GCDone"]);
    assert_eq!(problems(&file_one(&records)), ["a text of number 1, which is none or taken at byte 20"]);
}

/// The bytes that Go 1.21 writes: a length of ten bytes before each stack.
#[test]
fn the_length_of_a_stack_is_patched_in() {
    let mut at = [0; 200];
    let frame = Frame { pc: 0x49_ccc8, function: 1, file: 2, line: 76 };
    let n = layout_go1_11::encode_stack(&mut at, 1, &[frame]).unwrap();
    let expected =
        [0xc3, 0x89, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 1, 1, 0xc8, 0x99, 0xa7, 2, 1, 2, 76];
    assert_eq!(at[..n], expected);
    assert_eq!(layout_go1_11::encode_stack(&mut at[..stack_bytes_max(1) - 1], 1, &[frame]), None);
}

#[test]
fn the_largest_stack_keeps_its_bound() {
    let mut at = vec![0; stack_bytes_max(FRAMES_MAX)];
    let frame = Frame { pc: u64::MAX, function: u64::MAX, file: u64::MAX, line: u64::MAX };
    let n = layout_go1_11::encode_stack(&mut at, u64::MAX, &vec![frame; FRAMES_MAX]).unwrap();
    assert!(n <= at.len());
    let (record, read) = layout_go1_11::decode(&at[..n]).unwrap();
    let layout_go1_11::Record::Stack { id, frames } = record else { panic!("{record:?}") };
    assert_eq!((id, frames.count(), read), (u64::MAX, FRAMES_MAX, n));
    assert_eq!(layout_go1_11::decode(&at[..n - 1]).unwrap_err(), Fault::Cut);
}
