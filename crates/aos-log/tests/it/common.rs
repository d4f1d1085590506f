//! What the tests of this folder share: the records of the real packers, and what they were made from.
#![allow(missing_docs, unreachable_pub, reason = "`pub` says what the tests use")]

use std::path::PathBuf;

use heapscribe_aos_log::layout::{Kind, Layout};
use heapscribe_aos_log::pack::{Fields, MessageRecord, Record};

pub fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// Data of so many bytes, as the real packers were given it.
pub fn data(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 37 + 11 + (i >> 8)) as u8).collect()
}

/// A record of the real packer, and what we make of the same.
pub struct Vector {
    pub name: String,
    pub layout: Layout,
    pub kind: Kind,
    pub data: Vec<u8>,
    pub bytes: Vec<u8>,
    numbers: Vec<Option<i64>>,
}

impl Vector {
    /// What the packer was given, as the fields that it makes of it.
    pub fn fields(&self) -> Fields<'_> {
        let number = |i: usize| self.numbers[i].unwrap_or(i64::MIN);
        let is_remote_view = self.kind == Kind::RemoteMessage;
        let of_sender = |sender: i64, here: i64| if is_remote_view { sender } else { here };
        Fields {
            channel_index: number(0) as u32,
            queue_index: of_sender(number(2), number(1)) as u32,
            remote_queue_index: number(2) as u32,
            monotonic_sent_time: of_sender(number(5), number(3)),
            realtime_sent_time: of_sender(number(6), number(4)),
            monotonic_remote_time: number(5),
            realtime_remote_time: number(6),
            monotonic_remote_transmit_time: number(7),
            monotonic_timestamp_time: number(8),
            data: &self.data,
        }
    }

    pub fn record(&self) -> MessageRecord<'_> {
        MessageRecord::new(self.layout, self.kind, &self.fields()).expect("the layout has the kind")
    }
}

/// The whole of a record, written over bytes that are not zero.
pub fn whole(record: &mut dyn Record) -> Vec<u8> {
    let mut bytes = vec![67; record.size()];
    record.write(&mut bytes, 0);
    bytes
}

fn kind(name: &str) -> Kind {
    match name {
        "kLogMessage" => Kind::Message,
        "kLogDeliveryTimeOnly" => Kind::DeliveryTime,
        "kLogMessageAndDeliveryTime" => Kind::MessageAndDeliveryTime,
        "kLogRemoteMessage" => Kind::RemoteMessage,
        "RemoteMessage" => Kind::RemoteTimestamp,
        other => panic!("no such kind: {other}"),
    }
}

/// All vectors of a layout.
pub fn vectors(layout: Layout) -> Vec<Vector> {
    let name = match layout {
        Layout::V2022 => "layout-2022",
        Layout::V2024 => "layout-2024",
    };
    let records = std::fs::read(fixture(&format!("{name}.records"))).expect("fixture");
    let table = std::fs::read_to_string(fixture(&format!("{name}.tsv"))).expect("fixture");
    let mut rest = &records[..];
    let vectors: Vec<_> = table
        .lines()
        .skip(1)
        .map(|line| {
            let columns: Vec<_> = line.split('\t').collect();
            let (bytes, behind) = rest.split_at(columns[3].parse().expect("packed size"));
            rest = behind;
            Vector {
                name: format!("{name} {}", columns[0]),
                layout,
                kind: kind(columns[1]),
                data: data(columns[2].parse().expect("data size")),
                bytes: bytes.to_vec(),
                numbers: columns[4..].iter().map(|number| number.parse().ok()).collect(),
            }
        })
        .collect();
    assert!(rest.is_empty(), "{name}: {} bytes left over", rest.len());
    vectors
}

pub fn all_vectors() -> Vec<Vector> {
    Layout::ALL.into_iter().flat_map(vectors).collect()
}
