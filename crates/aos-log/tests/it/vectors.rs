//! Our records against those of the real packers: the same bytes, whole and in slices.

use crate::common::{all_vectors, whole};
use heapscribe_aos_log::layout::{ALIGNMENT, Kind, Layout};
use heapscribe_aos_log::pack::{Fields, MessageRecord, PackError, Record};
use proptest::prelude::*;

#[test]
fn every_vector_is_written_to_the_byte() {
    let vectors = all_vectors();
    assert_eq!(vectors.len(), 141 + 89);
    for vector in vectors {
        let mut record = vector.record();
        assert_eq!(record.size(), vector.bytes.len(), "{}", vector.name);
        assert_eq!(whole(&mut record), vector.bytes, "{}", vector.name);
    }
}

#[test]
fn every_aligned_slice_is_that_of_the_whole_and_touches_no_byte_behind() {
    for vector in all_vectors().into_iter().filter(|v| v.bytes.len() < 400) {
        let mut record = vector.record();
        for start in (0..=vector.bytes.len()).step_by(ALIGNMENT) {
            for end in (start..=vector.bytes.len()).step_by(ALIGNMENT) {
                let mut bytes = vec![67; end - start + 64];
                record.write(&mut bytes[..end - start], start);
                assert_eq!(bytes[..end - start], vector.bytes[start..end], "{} {start}..{end}", vector.name);
                assert_eq!(bytes[end - start..], [67; 64], "{} {start}..{end}", vector.name);
            }
        }
    }
}

#[test]
fn invalid_records_are_refused() {
    let fields = Fields::default();
    let refused = MessageRecord::new(Layout::V2024, Kind::MessageAndDeliveryTime, &fields).map(|r| r.size());
    assert_eq!(refused, Err(PackError::NoSuchKind(Layout::V2024, Kind::MessageAndDeliveryTime)));
    assert_eq!(MessageRecord::size_of(Layout::V2024, Kind::MessageAndDeliveryTime, 1), None);
    assert_eq!(MessageRecord::size_of(Layout::V2022, Kind::MessageAndDeliveryTime, 1), Some(96));
}

#[test]
#[should_panic(expected = "no multiple of 8")]
fn a_slice_that_is_not_aligned_is_refused() {
    let mut record = MessageRecord::new(Layout::V2024, Kind::Message, &Fields::default()).expect("a record");
    record.write(&mut [0; 8], 4);
}

proptest! {
    #[test]
    fn any_sequence_of_slices_is_the_whole(
        layout in proptest::sample::select(&Layout::ALL[..]),
        kind in proptest::sample::select(&Kind::ALL[..]),
        data in proptest::collection::vec(any::<u8>(), 0..300),
        numbers in any::<[i64; 5]>(),
        lengths in proptest::collection::vec(1..8usize, 64),
    ) {
        let fields = Fields {
            channel_index: numbers[0] as u32,
            monotonic_sent_time: numbers[1],
            realtime_sent_time: numbers[2],
            queue_index: numbers[3] as u32,
            monotonic_remote_time: numbers[4],
            data: &data,
            ..Fields::default()
        };
        let Ok(mut record) = MessageRecord::new(layout, kind, &fields) else { return Ok(()) };
        let expected = whole(&mut record);
        let mut bytes = vec![67; record.size()];
        let mut at = 0;
        for length in lengths {
            let end = (at + length * ALIGNMENT).min(bytes.len());
            record.write(&mut bytes[at..end], at);
            at = end;
        }
        prop_assert_eq!(at, bytes.len());
        prop_assert_eq!(bytes, expected);
    }
}
