//! The reader over parts of the real encoders, over parts that are cut and damaged, and over several at once.

mod damage;
mod logs;
mod real;
mod round;

use std::io::{self, Read};

use heapscribe_aos_log::layout::{Kind, Layout};
use heapscribe_aos_log::pack::{Fields, Header, MessageRecord};
use heapscribe_aos_log::read::{PartReader, Policy, ReadError};
use uuid::Uuid;

/// A message of this node, of 8 bytes.
fn message(channel_index: u32, queue_index: u32, sent_ns: i64) -> Vec<u8> {
    let fields = Fields {
        channel_index,
        queue_index,
        monotonic_sent_time: sent_ns,
        realtime_sent_time: sent_ns + 1_000_000,
        data: &sent_ns.to_le_bytes(),
        ..Fields::default()
    };
    crate::common::whole(&mut MessageRecord::new(Layout::V2024, Kind::Message, &fields).unwrap())
}

/// A header of a sequence.
fn header(sequence: u128, index: i32) -> Vec<u8> {
    let header = Header {
        max_out_of_order_duration: 100,
        monotonic_start_time: 1000,
        parts_uuid: Some(Uuid::from_u128(sequence)),
        parts_index: index,
        logger_sha1: Some("0123"),
        ..Header::default()
    };
    let mut memory = vec![0; 4096];
    let bytes = header.pack(Layout::V2024, &mut memory).unwrap();
    memory.truncate(bytes);
    memory
}

/// What a part says: its messages' times, what was wrong, why reading ended.
#[derive(PartialEq, Debug, Default)]
struct Outcome {
    sent_ns: Vec<i64>,
    problems: Vec<String>,
    error: Option<String>,
}

fn read(bytes: &[u8], policy: Policy) -> Outcome {
    let mut outcome = Outcome::default();
    match PartReader::open(bytes, policy) {
        Ok(mut part) => {
            outcome.error = read_all(&mut part, &mut outcome.sent_ns).err().map(|e| e.to_string());
            outcome.problems = part.problems().iter().map(ToString::to_string).collect();
        }
        Err(e) => outcome.error = Some(e.to_string()),
    }
    outcome
}

fn read_all<R: Read>(part: &mut PartReader<R>, sent_ns: &mut Vec<i64>) -> Result<(), ReadError> {
    while let Some(record) = part.next_message()? {
        sent_ns.push(record.message.monotonic_sent_time);
    }
    Ok(())
}

/// Gives bytes in pieces of uneven sizes, as a pipe does.
struct Pieces<'a> {
    bytes: &'a [u8],
    state: u32,
}

impl Read for Pieces<'_> {
    fn read(&mut self, at: &mut [u8]) -> io::Result<usize> {
        self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let most = 1 + (self.state >> 20) as usize % 60;
        let n = most.min(at.len()).min(self.bytes.len());
        at[..n].copy_from_slice(&self.bytes[..n]);
        self.bytes = &self.bytes[n..];
        Ok(n)
    }
}
