//! What a message costs: encoded in place, against a flatbuffer builder whose result is copied, as AOS did
//! before. `cargo bench -p heapscribe-aos-log` prints it as Markdown; see bench/README.md.
//!
//! All ways fill the same buffer of 128 KiB and throw it away when it is full, so that no file is in the
//! figures. They take turns, five rounds of at least 0.2 s each, and the median is printed: CPU time of the thread,
//! so that others on the machine cost little more than their traces in the caches. Calls of malloc's
//! family are counted within this program, those of C libraries too.

#[path = "../tests/allocation/count.rs"]
mod count;

use std::hint::black_box;

use flatbuffers::{FlatBufferBuilder, VOffsetT};
use heapscribe_aos_log::encode::{Encoder, FLUSH_BYTES, Framing, Plain, Snappy, Xz, Zstd};
use heapscribe_aos_log::layout::{Field, Kind, Layout};
use heapscribe_aos_log::pack::{Fields, MessageRecord, Record};
use rustix::time::{ClockId, clock_gettime};

const PAYLOADS: [usize; 3] = [64, 1024, 65_536];
const ROUNDS: usize = 5;
const ROUND_NS: i64 = 200_000_000;

/// A way to log a message of which only number and data change.
trait Candidate {
    fn name(&self) -> &'static str;
    fn log(&mut self, number: u32, data: &[u8]);
}

fn fields(number: u32, data: &[u8]) -> Fields<'_> {
    let time = 123_456_789_012_345 + i64::from(number) * 100_000;
    Fields {
        channel_index: 42,
        queue_index: number,
        monotonic_sent_time: time,
        realtime_sent_time: time + 1_665_983_963_000_000_000,
        data,
        ..Fields::default()
    }
}

/// Ours, with any encoder.
struct InPlace {
    name: &'static str,
    encoder: Box<dyn Encoder>,
}

impl Candidate for InPlace {
    fn name(&self) -> &'static str {
        self.name
    }

    fn log(&mut self, number: u32, data: &[u8]) {
        let Ok(mut record) = MessageRecord::new(Layout::V2024, Kind::Message, &fields(number, data)) else {
            unreachable!("the layout has messages")
        };
        let mut at = 0;
        while at < record.size() {
            at += self.encoder.encode(&mut record, at).expect("the codec works");
            if at < record.size() || self.encoder.queue().len() >= FLUSH_BYTES {
                black_box(self.encoder.queue());
                self.encoder.clear();
            }
        }
    }
}

/// A builder, a finished buffer, and a copy of that into the buffer that is written.
struct Builder {
    name: &'static str,
    /// Kept from message to message, or none: then each message gets its own.
    reused: Option<FlatBufferBuilder<'static>>,
    queue: Vec<u8>,
}

fn slot(field: Field) -> VOffsetT {
    4 + 2 * field as VOffsetT
}

fn build(builder: &mut FlatBufferBuilder<'_>, fields: &Fields<'_>) {
    builder.force_defaults(true);
    let data = builder.create_vector(fields.data);
    let table = builder.start_table();
    builder.push_slot_always(slot(Field::RealtimeSentTime), fields.realtime_sent_time);
    builder.push_slot_always(slot(Field::MonotonicSentTime), fields.monotonic_sent_time);
    builder.push_slot_always(slot(Field::Data), data);
    builder.push_slot_always(slot(Field::QueueIndex), fields.queue_index);
    builder.push_slot_always(slot(Field::ChannelIndex), fields.channel_index);
    let root = builder.end_table(table);
    builder.finish_size_prefixed(root, None);
}

impl Candidate for Builder {
    fn name(&self) -> &'static str {
        self.name
    }

    fn log(&mut self, number: u32, data: &[u8]) {
        let fields = fields(number, data);
        let mut fresh;
        let builder = match &mut self.reused {
            Some(reused) => {
                reused.reset();
                reused
            }
            None => {
                // As AOS made it: large enough from the start, so that it does not grow.
                fresh = FlatBufferBuilder::with_capacity(data.len() + 128);
                &mut fresh
            }
        };
        build(builder, &fields);
        let record = builder.finished_data();
        if self.queue.len() + record.len() > self.queue.capacity() {
            black_box(&self.queue[..]);
            self.queue.clear();
        }
        self.queue.extend_from_slice(record);
    }
}

/// Samples as a sensor has them: neighbours resemble each other.
fn samples(bytes: usize, number: u32) -> Vec<u8> {
    let value = |i: usize| ((f64::from(number) + i as f64) / 50.0).sin() * 1000.0;
    (0..bytes / 2).flat_map(|i| (value(i) as i16).to_le_bytes()).collect()
}

/// CPU time of this thread.
fn cpu_ns() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Nanoseconds and calls of malloc of a message.
fn measure(way: &mut dyn Candidate, data: &[Vec<u8>]) -> (f64, f64) {
    let (calls, start) = (count::calls(), cpu_ns());
    let mut messages = 0u32;
    while cpu_ns() - start < ROUND_NS {
        for data in data {
            way.log(messages, black_box(data));
            messages += 1;
        }
    }
    let (took, calls) = (cpu_ns() - start, count::calls() - calls);
    (took as f64 / f64::from(messages), calls as f64 / f64::from(messages))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn table(ways: &mut [Box<dyn Candidate>]) {
    println!(
        "| way | payload bytes | ns a message | messages a second | MB of payload a second | calls of malloc a message |"
    );
    println!("|---|--:|--:|--:|--:|--:|");
    for payload in PAYLOADS {
        let data: Vec<_> = (0..64).map(|number| samples(payload, number * 1000)).collect();
        let mut times = vec![Vec::new(); ways.len()];
        let mut calls = vec![0.0f64; ways.len()];
        for round in 0..=ROUNDS {
            for (i, way) in ways.iter_mut().enumerate() {
                let (ns, malloc) = measure(&mut **way, &data);
                // The first round fills caches and grows what grows.
                if round > 0 {
                    times[i].push(ns);
                    calls[i] = calls[i].max(malloc);
                }
            }
        }
        for ((way, times), calls) in ways.iter().zip(times).zip(calls) {
            let ns = median(times);
            let (rate, megabytes) = (1e9 / ns, payload as f64 * 1e3 / ns);
            println!("| {} | {payload} | {ns:.0} | {rate:.0} | {megabytes:.0} | {calls:.2} |", way.name());
        }
    }
}

fn main() {
    let in_place =
        |name, encoder: Box<dyn Encoder>| -> Box<dyn Candidate> { Box::new(InPlace { name, encoder }) };
    let builder = |name, reused| -> Box<dyn Candidate> {
        Box::new(Builder { name, reused, queue: Vec::with_capacity(FLUSH_BYTES) })
    };
    println!("Not compressed:\n");
    table(&mut [
        in_place("in place", Box::new(Plain::new(FLUSH_BYTES))),
        builder("a builder for each message, and a copy", None),
        builder("one builder for all, and a copy", Some(FlatBufferBuilder::with_capacity(70_000))),
    ]);
    let framing = Framing::Aos { chunk_bytes: FLUSH_BYTES };
    println!("\nIn place, by encoder:\n");
    table(&mut [
        in_place("snappy", Box::new(Snappy::new(framing, 70_000).expect("snappy"))),
        in_place("snappy, standard", Box::new(Snappy::new(Framing::Standard, 70_000).expect("snappy"))),
        in_place("xz, preset 0", Box::new(Xz::new(0).expect("xz"))),
        in_place("zstd, level 3", Box::new(Zstd::new(3).expect("zstd"))),
    ]);
}
