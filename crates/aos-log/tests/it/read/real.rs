//! What the real packers and encoders wrote.

use heapscribe_aos_log::layout::{Kind, Layout};
use heapscribe_aos_log::read::{Message, Packing, PartReader, Policy, detect};

use super::Pieces;
use crate::common::{all_vectors, fixture, vectors};

fn file(name: &str) -> Vec<u8> {
    std::fs::read(fixture("aos").join(name)).unwrap()
}

#[test]
fn records_have_the_fields_they_were_made_of() {
    for vector in all_vectors() {
        let mut part = PartReader::open(&vector.bytes[..], Policy::Fail).unwrap();
        let record = part.next_message().unwrap().unwrap();
        assert_eq!((record.offset, record.bytes), (0, &vector.bytes[..]), "{}", vector.name);
        let (m, f) = (record.message, vector.fields());
        let is_delivery = !matches!(vector.kind, Kind::Message | Kind::RemoteMessage);
        let is_timestamp = vector.kind == Kind::RemoteTimestamp;
        let has_transmit = is_delivery && vector.layout == Layout::V2024;
        let expected = Message {
            channel_index: f.channel_index,
            monotonic_sent_time: f.monotonic_sent_time,
            realtime_sent_time: f.realtime_sent_time,
            queue_index: f.queue_index,
            data: (!matches!(vector.kind, Kind::DeliveryTime | Kind::RemoteTimestamp)).then_some(f.data),
            monotonic_remote_time: if is_delivery { f.monotonic_remote_time } else { i64::MIN },
            realtime_remote_time: if is_delivery { f.realtime_remote_time } else { i64::MIN },
            remote_queue_index: if is_delivery { f.remote_queue_index } else { u32::MAX },
            monotonic_timestamp_time: if is_timestamp { f.monotonic_timestamp_time } else { i64::MIN },
            monotonic_remote_transmit_time: if has_transmit {
                f.monotonic_remote_transmit_time
            } else {
                i64::MIN
            },
            kind: if vector.kind == Kind::RemoteMessage { Kind::Message } else { vector.kind },
        };
        assert_eq!(m, expected, "{}", vector.name);
        assert_eq!(part.layout(), is_delivery.then_some(vector.layout), "{}", vector.name);
        assert!(detect(&vector.bytes), "{}", vector.name);
    }
}

/// Every message of a part in words, and what it says of itself.
fn words(bytes: &[u8], packing: Packing) -> Vec<String> {
    assert!(detect(&bytes[..bytes.len().min(4096)]));
    let mut part = PartReader::open(Pieces { bytes, state: 7 }, Policy::Fail).unwrap();
    assert_eq!(part.packing(), packing);
    let mut words = vec![format!("{:?}", part.header())];
    while let Some(record) = part.next_message().unwrap() {
        words.push(format!("{} {:?}", record.offset, record.message));
    }
    words.push(format!("{:?}", part.layout()));
    words
}

#[test]
fn every_encoder_wrote_the_same() {
    let xz = words(&file("part0.2022.bfbs.xz"), Packing::Xz);
    assert_eq!((xz.len(), xz.last().unwrap().as_str()), (95, "Some(V2022)"));
    assert!(xz[0].contains("48d10d6b09ad4d0ee3b43e4855c2cc4305bb15d7"), "{}", xz[0]);
    assert!(words(&file("part0.2022.bfbs.sz"), Packing::Snappy) == xz);
    assert!(words(&file("part0.2022.bfbs.4k.sz"), Packing::Snappy) == xz);
    let new = words(&file("part0.2024.bfbs.4k.sz"), Packing::Snappy);
    assert_eq!((new.len(), new.last().unwrap().as_str()), (65, "Some(V2024)"));
}

#[test]
fn zstd_is_read_too() {
    let mut plain = file("header.2022.bin");
    vectors(Layout::V2022).iter().for_each(|vector| plain.extend_from_slice(&vector.bytes));
    let packed = zstd::bulk::compress(&plain, 3).unwrap();
    assert_eq!(words(&packed, Packing::Zstd), words(&plain, Packing::Plain));
}

#[test]
fn headers_are_read_field_by_field() {
    use heapscribe_aos_log::header_fields::HeaderField as F;
    let bytes = file("header.2022.bin");
    let part = PartReader::open(&bytes[..], Policy::Fail).unwrap();
    let header = part.header().unwrap();
    assert_eq!(header.text(F::Name), Some("host0"));
    assert_eq!(header.text(F::PartsUuid), Some("77f3c1c2-4a57-4c94-8a3f-0e9b8d7c6b04"));
    assert_eq!(header.number(F::MonotonicStartTime), 123_456_700_000_000);
    assert_eq!(header.number(F::LoggerMonotonicStartTime), i64::MIN);
    assert_eq!(header.max_out_of_order_ns(), 300_000_000);
    assert_eq!(header.number(F::PartsIndex), 0);
    assert_eq!(format!("{:?}", header.get(F::OldestRemote)), "Some(Numbers([9223372036854775807]))");
    assert!(!header.is_remote() && header.text(F::Node).is_none());
}

#[test]
fn other_files_are_no_parts() {
    for bytes in [
        &b""[..],
        b"{}\n",
        b"#!/bin/sh\nexit 0\n",
        &[0; 64],
        &[8, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0],
        b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0",
    ] {
        assert!(!detect(bytes), "{bytes:?}");
    }
}
