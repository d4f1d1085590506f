//! Damaged files: the errors that are reported, and what is salvaged.

use std::ops::ControlFlow;

use proptest::prelude::*;

use super::super::read::{ReadOptions, Reader};
use super::super::write::Order;
use super::{file, packets, read};

const SALVAGE: ReadOptions = ReadOptions { stacks: true, salvage: true };

/// Some packets of two domains, with stacks and names that depend on earlier ones.
fn sample() -> Vec<u8> {
    let locations: String =
        (1..=9).map(|code| format!("loc\t{code}\t1\tfile{}.ml\t{code}\t1\t2\tf{code}\n", code % 4)).collect();
    let events: String = (0..60)
        .map(|n: i64| {
            let (domain, time_us) = (n / 15 % 2, 1_000_000 + n);
            let stack: String = (0..n % 5).map(|d| format!("\t{}", (n * 7 + d * 3) % 9 + 1)).collect();
            format!("a\t{time_us}\t{domain}\t{}\t1\t0\t0{stack}\t1\n", n % 20)
        })
        .collect();
    file(Order::Multiplexed, &(locations + &events))
}

/// Checks what a strict reader says of a file, and which lines a salvaging one saves: those of the whole
/// file without the ones in this range.
fn check(bytes: &[u8], error: &str, lost: std::ops::Range<usize>) {
    let strict = read(bytes, ReadOptions::default());
    assert_eq!(strict.error.unwrap_or_default(), error);
    let saved = read(bytes, SALVAGE);
    assert_eq!(saved.error, None);
    let whole = read(&sample(), ReadOptions::default()).lines;
    let expected = (0..whole.len()).filter(|n| !lost.contains(n)).map(|n| &whole[n]);
    assert_eq!(saved.lines.len(), expected.clone().count());
    for (saved, whole) in saved.lines.iter().zip(expected) {
        assert_agree(saved, whole);
    }
}

/// A saved line may have lost frames, but has none that are wrong.
fn assert_agree(saved: &str, whole: &str) {
    let split = |line: &str| {
        let (head, stack) = line.rsplit_once(' ').unwrap();
        (head.to_owned(), stack.split('>').map(str::to_owned).collect::<Vec<_>>())
    };
    let ((head, stack), (whole_head, whole_stack)) = (split(saved), split(whole));
    assert_eq!((head, stack.len()), (whole_head, whole_stack.len()), "{saved} {whole}");
    for (frame, right) in stack.iter().zip(&whole_stack) {
        assert!(frame == right || frame == "?", "{saved} {whole}");
    }
}

#[test]
fn a_whole_file_is_whole() {
    check(&sample(), "", 0..0);
    assert_eq!(packets(&sample()).len(), 7);
}

#[test]
fn a_packet_without_its_magic_costs_its_own_events() {
    let mut bytes = sample();
    let at = packets(&bytes)[4].0;
    bytes[at] ^= 1;
    check(&bytes, &format!("not a CTF packet at byte {at}"), 15..30);
}

#[test]
fn a_bad_event_costs_the_rest_of_its_packet() {
    let mut bytes = sample();
    let at = packets(&bytes)[4].0 + 68;
    bytes[at + 3] = 50 << 1;
    check(&bytes, &format!("unknown event code 50 at byte {at}"), 15..30);
}

#[test]
fn a_packet_of_length_zero_does_not_end_the_file() {
    let mut bytes = sample();
    let at = packets(&bytes)[4].0;
    bytes[at + 4..at + 8].fill(0);
    check(&bytes, &format!("bad packet size of 0 bytes, less than its header at byte {at}"), 15..30);
}

#[test]
fn lost_locations_make_names_unknown() {
    let mut bytes = sample();
    let (at, header) = packets(&bytes)[1];
    bytes.splice(at..at + header.packet_bytes, std::iter::repeat_n(0, header.packet_bytes));
    check(&bytes, &format!("not a CTF packet at byte {at}"), 0..0);
}

#[test]
fn a_repeated_packet_is_read_once() {
    let mut bytes = sample();
    let (at, header) = packets(&bytes)[4];
    let again = bytes[at..at + header.packet_bytes].to_vec();
    bytes.splice(at..at, again);
    let second = at + header.packet_bytes;
    check(&bytes, &format!("the domain's time goes back at byte {}", second + 68), 0..0);
}

#[test]
fn a_cut_file_ends_where_it_is_cut() {
    let bytes = sample();
    let (at, _) = packets(&bytes)[6];
    let cut = read(&bytes[..at + 100], ReadOptions::default());
    assert_eq!((cut.error, cut.lines.len()), (None, 45));
    assert_eq!(cut.skipped, [format!("skipping truncated packet: bytes {at} to {}", at + 100)]);
    let cut = read(&bytes[..at + 10], ReadOptions::default());
    assert_eq!(cut.error, Some(format!("the file ends within the header of a packet at byte {at}")));
}

/// Objects that a salvaging reader knows to be missing: by headers, and by gaps between packets.
fn missing(bytes: &[u8]) -> (u64, u64) {
    let mut reader = Reader::open(bytes, SALVAGE).unwrap();
    let read = reader.for_each(|_, _| ControlFlow::<()>::Continue(()));
    assert_eq!(read.map_err(|e| e.to_string()), Ok(None));
    (reader.unread_objects(), reader.missing_objects())
}

#[test]
fn objects_that_are_not_read_are_counted_once() {
    let allocs: String = (0..12_000).map(|n| format!("a\t{}\t0\t1\t1\t0\t0\n", 1_000_000 + n)).collect();
    let whole = file(Order::Direct, &allocs);
    let all = packets(&whole);
    let objects = |n: usize| (all[n].1.ids_end - all[n].1.ids_begin) as u64;
    assert_eq!(missing(&whole), (0, 0));

    let mut bytes = whole.clone();
    bytes[all[1].0 + 68 + 3] = 50 << 1;
    assert_eq!(missing(&bytes), (objects(1), 0), "a bad first event");
    bytes[all[1].0] ^= 1;
    assert_eq!(missing(&bytes), (0, objects(1)), "no header");

    let cut = &whole[..all[2].0 + 100];
    assert_eq!(missing(cut), (objects(2), 0), "cut");

    let again = &whole[all[0].0..all[0].0 + all[0].1.packet_bytes];
    let repeated = [&whole[..all[2].0], again, &whole[all[2].0..]].concat();
    let (of_headers, of_gaps) = missing(&repeated);
    assert_eq!((of_headers, of_gaps), (0, 0), "repeated");

    let mut bytes = whole[..all[2].0 + 100].to_vec();
    bytes[all[2].0 + 60..all[2].0 + 68].copy_from_slice(&(i64::MAX >> 2).to_le_bytes());
    assert_eq!(missing(&bytes), (0, 0), "more than the packet has room for");
}

/// A domain takes 160 KiB and more, and a packet of no domain that there is room for is not to take them.
#[test]
fn domains_that_have_no_room_take_no_memory() {
    let mut bytes = file(Order::Direct, "a\t1000000\t0\t1\t1\t0\t0\n");
    let all = packets(&bytes);
    let (at, header) = all[all.len() - 1];
    let packet = bytes[at..at + header.packet_bytes].to_vec();
    for domain in 1..=2000_u16 {
        let mut packet = packet.clone();
        packet[38..40].copy_from_slice(&domain.to_le_bytes());
        bytes.extend_from_slice(&packet);
    }
    let mut reader = Reader::open(&bytes[..], SALVAGE).unwrap();
    let read = reader.for_each(|_, _| ControlFlow::<()>::Continue(()));
    assert_eq!(read.map_err(|e| e.to_string()), Ok(None));
    assert!(reader.skipped().len() > 1000 - 1 && reader.domains() < 400, "{}", reader.domains());
}

#[test]
fn missing_objects_are_counted() {
    let allocs: String = (0..12_000).map(|n| format!("a\t{}\t0\t1\t1\t0\t0\n", 1_000_000 + n)).collect();
    let bytes = file(Order::Direct, &allocs);
    for lost in [1, 2] {
        let (at, header) = packets(&bytes)[lost];
        let rest = [&bytes[..at], &bytes[at + header.packet_bytes..]].concat();
        let read = read(&rest, ReadOptions::default());
        let objects = (header.ids_end - header.ids_begin) as u64;
        assert_eq!((read.error, read.missing, read.lines.len() as u64), (None, objects, 12_000 - objects));
    }
}

#[test]
fn other_files_are_refused() {
    let whole = sample();
    let refused = |bytes: &[u8]| Reader::open(bytes, SALVAGE).unwrap_err().to_string();
    assert_eq!(refused(&[]), "not a CTF packet at byte 0");
    assert_eq!(refused(&whole[..20]), "the file ends within the header of a packet at byte 0");
    assert_eq!(refused(&whole[..90]), "the first packet is cut at byte 90");
    let mut later = whole.clone();
    later[28] = 4;
    assert_eq!(refused(&later), "trace format v004, known is up to v003 at byte 0");
}

/// Found by fuzzing: two packets whose numbers lie as far apart as numbers can.
#[test]
fn huge_gaps_between_numbers_saturate() {
    let mut bytes = sample();
    for (at, _) in packets(&bytes)[1..].to_vec() {
        let far = i64::MAX.to_le_bytes();
        bytes[at + 52..at + 60].copy_from_slice(&far);
        bytes[at + 60..at + 68].copy_from_slice(&far);
    }
    assert!(read(&bytes, SALVAGE).lines.len() >= 15);
}

proptest! {
    /// Bytes changed anywhere: no panic, and an end.
    #[test]
    fn any_damage_is_survived(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..9)) {
        let mut bytes = sample();
        for (at, to) in changes {
            let at = at.index(bytes.len());
            bytes[at] = to;
        }
        for salvage in [false, true] {
            let options = ReadOptions { stacks: true, salvage };
            if Reader::open(&*bytes, options).is_ok() {
                let lines = read(&bytes, options).lines.len();
                prop_assert!(lines < bytes.len());
            }
        }
    }
}
