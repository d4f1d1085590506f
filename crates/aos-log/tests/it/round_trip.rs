//! What writers wrote, our reader reads: every kind of record, both layouts, every encoder, over parts.

use std::io;

use crate::log::{BOOT, FakeClock, Memory};
use heapscribe_aos_log::encode::{Encoder, Framing, Plain, Snappy, Xz, Zstd};
use heapscribe_aos_log::header_fields::HeaderField as H;
use heapscribe_aos_log::layout::{Field, Kind, Layout, shape};
use heapscribe_aos_log::pack::{Fields, MessageRecord};
use heapscribe_aos_log::read::{Message, Order, Parts, Policy};
use heapscribe_aos_log::write::{FlushRules, MessageInfo, RemoteUpdate, Settings, Writer};
use proptest::prelude::*;
use uuid::Uuid;

const ENCODERS: [fn() -> Box<dyn Encoder>; 5] = [
    || Box::new(Plain::new(512)),
    || Box::new(Snappy::new(Framing::Aos { chunk_bytes: 1024 }, 4096).expect("snappy")),
    || Box::new(Snappy::new(Framing::Standard, 4096).expect("snappy")),
    || Box::new(Xz::new(0).expect("xz")),
    || Box::new(Zstd::new(1).expect("zstd")),
];

/// A message to be written, and what happens before it.
#[derive(Clone, Debug)]
struct Step {
    kind: Kind,
    numbers: [i64; 6],
    indices: [u32; 3],
    data: Vec<u8>,
    rotates: bool,
    sees: Option<i64>,
}

impl Step {
    fn fields(&self) -> Fields<'_> {
        Fields {
            channel_index: self.indices[0] % 4,
            monotonic_sent_time: self.numbers[0],
            realtime_sent_time: self.numbers[1],
            queue_index: self.indices[1],
            data: &self.data,
            monotonic_remote_time: self.numbers[2],
            realtime_remote_time: self.numbers[3],
            remote_queue_index: self.indices[2],
            monotonic_timestamp_time: self.numbers[4],
            monotonic_remote_transmit_time: self.numbers[5],
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let kind = proptest::sample::select(&Kind::ALL[..]);
    let data = proptest::collection::vec(any::<u8>(), 0..700);
    let sees = proptest::option::weighted(0.1, any::<i64>());
    (kind, any::<[i64; 6]>(), any::<[u32; 3]>(), data, proptest::bool::weighted(0.1), sees).prop_map(
        |(kind, numbers, indices, data, rotates, sees)| Step { kind, numbers, indices, data, rotates, sees },
    )
}

/// Whether a message says what was written: each field that the kind has, and defaults for the others.
fn is_same(message: &Message<'_>, layout: Layout, step: &Step) -> bool {
    let has = |field| shape(layout, step.kind).is_some_and(|shape| shape.field_at(field).is_some());
    let (written, defaults) = (step.fields(), Fields::default());
    let of = |field| if has(field) { &written } else { &defaults };
    message.channel_index == written.channel_index
        && message.monotonic_sent_time == written.monotonic_sent_time
        && message.realtime_sent_time == written.realtime_sent_time
        && message.queue_index == written.queue_index
        && message.data == has(Field::Data).then_some(written.data)
        && message.monotonic_remote_time == of(Field::MonotonicRemoteTime).monotonic_remote_time
        && message.realtime_remote_time == of(Field::RealtimeRemoteTime).realtime_remote_time
        && message.remote_queue_index == of(Field::RemoteQueueIndex).remote_queue_index
        && message.monotonic_timestamp_time == of(Field::MonotonicTimestampTime).monotonic_timestamp_time
        && message.monotonic_remote_transmit_time
            == of(Field::MonotonicRemoteTransmitTime).monotonic_remote_transmit_time
}

/// Writes the steps and gives the parts.
fn write(layout: Layout, encoder: Box<dyn Encoder>, steps: &[Step]) -> Vec<Vec<u8>> {
    let memory = Memory::new(1 << 30);
    let mut settings = Settings { layout, nodes: 2, channels: 4, ..Settings::default() };
    settings.flush = FlushRules { bytes: 700, period_ns: 3 };
    settings.texts.name = Some("round trip".to_owned());
    // Times are anything: no promise holds them together, and none is to be broken.
    settings.max_out_of_order_ns = i64::MAX;
    let mut writer =
        Writer::new(settings, encoder, Box::new(memory.clone()), FakeClock::ticking(1)).expect("settings");
    for (now, step) in (0..).zip(steps) {
        if step.rotates {
            writer.rotate();
        }
        if let Some(time) = step.sees {
            writer.update_remote(&RemoteUpdate {
                node: 1,
                boot: Uuid::from_u128(9),
                monotonic_remote_time: time,
                monotonic_remote_transmit_time: time,
                monotonic_event_time: step.numbers[0],
                is_reliable: time % 2 == 0,
                monotonic_timestamp_time: step.numbers[1],
            });
        }
        let fields = step.fields();
        let mut record = MessageRecord::new(layout, step.kind, &fields).expect("the layout has the kind");
        let info = MessageInfo {
            channel_index: fields.channel_index,
            monotonic_event_time: fields.monotonic_sent_time,
            source_boot: BOOT,
        };
        writer.write(&mut record, &info, now).expect("written");
    }
    writer.close().expect("closed");
    memory.parts()
}

fn check(layout: Layout, encoder: usize, steps: &[Step]) {
    let files = write(layout, ENCODERS[encoder](), steps);
    let open = |file: usize| io::Result::Ok(&files[file][..]);
    let mut parts = Parts::open(files.len(), open, Policy::Fail, Order::File).expect("headers");
    for (index, opened) in (0..).zip(parts.opened()) {
        let header = opened.header.as_ref().expect("a header");
        assert_eq!(header.number(H::PartsIndex), index);
        assert_eq!(header.text(H::Name), Some("round trip"));
        assert_eq!(header.text(H::SourceNodeBootUuid), Some(BOOT.to_string().as_str()));
    }
    for (i, step) in steps.iter().enumerate() {
        let read = parts.next_message().expect("read").expect("one more");
        assert!(is_same(&read.message(), layout, step), "encoder {encoder}, message {i}: {read:?}");
    }
    assert!(parts.next_message().expect("read").is_none());
    assert_eq!(parts.problems().len(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn written_messages_are_read_back(
        layout in proptest::sample::select(&Layout::ALL[..]),
        encoder in 0..ENCODERS.len(),
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        let steps: Vec<_> = steps.into_iter().filter(|step| shape(layout, step.kind).is_some()).collect();
        check(layout, encoder, &steps);
    }
}
