//! Any bytes as parts of a message log: one alone with each policy, then cut in two as a log of two parts, in
//! both orders, with all figures that a report takes from it.
#![no_main]

use heapscribe_aos_log::read::channels::Channels;
use heapscribe_aos_log::read::{Order, PartReader, Parts, Policy, detect};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    detect(bytes);
    for policy in [Policy::Skip, Policy::Stop, Policy::Fail] {
        let Ok(mut part) = PartReader::open(bytes, policy) else { continue };
        let configuration = part.header().map(|header| header.configuration());
        let names = configuration.iter().flat_map(|c| &c.channels).map(|c| c.name.len() + c.type_name.len());
        assert!(names.sum::<usize>() <= part.header_record().map_or(0, <[u8]>::len));
        let mut data = 0;
        while let Ok(Some(record)) = part.next_message() {
            assert!(record.bytes.len() >= record.message.data_bytes());
            data += record.message.data_bytes();
        }
        drop((data, part.problems().len()));
    }
    let (first, second) = bytes.split_at(bytes.len() / 2);
    for order in [Order::Time, Order::File] {
        let open = |file: usize| std::io::Result::Ok([bytes, first, second][file]);
        let Ok(mut parts) = Parts::open(3, open, Policy::Skip, order) else { continue };
        let mut channels = Channels::default();
        while let Ok(Some(owned)) = parts.next_message() {
            channels.note(&owned.message());
        }
        channels.rows().for_each(|(_, _, row)| drop((row.rate_hz(), row.period_ns.mean())));
    }
});
