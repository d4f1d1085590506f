//! What our encoders write, read in pieces of any size.

use heapscribe_aos_log::encode::{Encoder, Framing, Plain, Snappy, Xz, Zstd};
use heapscribe_aos_log::layout::{Kind, Layout};
use heapscribe_aos_log::pack::{Bytes, Fields, MessageRecord, Record};
use heapscribe_aos_log::read::{PartReader, Policy};
use proptest::prelude::*;

use super::{Pieces, header};

fn encoders() -> Vec<Box<dyn Encoder>> {
    vec![
        Box::new(Plain::new(4096)),
        Box::new(Snappy::new(Framing::Aos { chunk_bytes: 4096 }, 8192).unwrap()),
        Box::new(Snappy::new(Framing::Standard, 8192).unwrap()),
        Box::new(Xz::new(0).unwrap()),
        Box::new(Zstd::new(1).unwrap()),
    ]
}

/// All of a file's bytes.
fn encode(encoder: &mut dyn Encoder, records: &mut [Box<dyn Record + '_>]) -> Vec<u8> {
    let mut file = Vec::new();
    for record in records {
        let mut done = 0;
        while done < record.size() {
            let taken = encoder.encode(record.as_mut(), done).unwrap();
            done += taken;
            if taken == 0 {
                file.extend_from_slice(encoder.queue());
                encoder.clear();
            }
        }
    }
    loop {
        let is_done = encoder.finish().unwrap();
        file.extend_from_slice(encoder.queue());
        encoder.clear();
        if is_done {
            return file;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn encoded_records_are_read_back(
        messages in prop::collection::vec((any::<u32>(), any::<i64>(), prop::collection::vec(any::<u8>(), 0..3000)), 0..40),
        kind in prop::sample::select(vec![Kind::Message, Kind::MessageAndDeliveryTime]),
        state in any::<u32>(),
    ) {
        let head = header(1, 0);
        for mut encoder in encoders() {
            let mut records: Vec<Box<dyn Record + '_>> = vec![Box::new(Bytes::new(&head).unwrap())];
            for message in &messages {
                let fields = Fields {
                    queue_index: message.0,
                    monotonic_sent_time: message.1,
                    data: &message.2,
                    ..Fields::default()
                };
                records.push(Box::new(MessageRecord::new(Layout::V2022, kind, &fields).unwrap()));
            }
            let file = encode(encoder.as_mut(), &mut records);
            let mut part = PartReader::open(Pieces { bytes: &file, state }, Policy::Fail).unwrap();
            prop_assert_eq!(part.header_record(), Some(&head[..]));
            for (queue_index, sent_ns, data) in &messages {
                let m = part.next_message().unwrap().unwrap().message;
                prop_assert_eq!((m.kind, m.queue_index, m.monotonic_sent_time), (kind, *queue_index, *sent_ns));
                prop_assert_eq!(m.data, Some(&data[..]));
            }
            prop_assert!(part.next_message().unwrap().is_none());
        }
    }
}
