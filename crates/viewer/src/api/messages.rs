//! Messages of a log on the timeline: a lane for each of the channels with most, in which the messages of a step are one
//! tick. More could not be told apart, and a log has millions.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use heapscribe_views::messages::correlation::{EachMessage, HeapActivity, HeavyMessage};
use serde::Serialize;

use crate::model::{CHANNELS_MAX, MESSAGE_STEPS};

/// Channels, and a row for each step of each in which there are messages.
#[derive(Serialize, PartialEq, Eq, Debug, Default)]
pub(super) struct MessageRows {
    channels: Vec<ChannelRow>,
    /// How many channels there are beside these.
    left_out: usize,
    step_ns: u64,
    /// The place of its channel among these.
    lane: Vec<usize>,
    step: Vec<u64>,
    messages: Vec<u64>,
    /// The first of them.
    queue_index: Vec<u32>,
    time_ns: Vec<u64>,
    /// All of them together: their bytes, and what the heap did until the next message of any channel.
    size_bytes: Vec<u64>,
    allocations: Vec<u64>,
    allocated_bytes: Vec<u64>,
    freed_bytes: Vec<u64>,
}

/// A channel.
#[derive(Serialize, PartialEq, Eq, Debug, Default)]
struct ChannelRow {
    channel_index: u32,
    /// Its name and the type of its messages, if the log has them.
    name: Option<String>,
    r#type: Option<String>,
    messages: u64,
}

/// The messages of a step.
struct Tick {
    first: HeavyMessage,
    messages: u64,
    size_bytes: u64,
    did: HeapActivity,
}

impl MessageRows {
    /// Puts messages into steps.
    pub(super) fn of(each: &EachMessage, duration_ns: u64) -> MessageRows {
        let step_ns = (duration_ns / MESSAGE_STEPS + 1).max(1);
        let mut counts = BTreeMap::<u32, u64>::new();
        for (message, _) in &each.messages {
            *counts.entry(message.channel_index).or_default() += 1;
        }
        let mut order: Vec<(u32, u64)> = counts.into_iter().collect();
        order.sort_by_key(|(channel, messages)| (Reverse(*messages), *channel));
        let left_out = order.len().saturating_sub(CHANNELS_MAX);
        order.truncate(CHANNELS_MAX);
        order.sort_unstable();
        let channels = order.iter().map(|(index, messages)| channel(each, *index, *messages)).collect();
        let lane = |index: u32| order.binary_search_by_key(&index, |(channel, _)| *channel).ok();
        let mut ticks = BTreeMap::<(usize, u64), Tick>::new();
        for (message, size_bytes) in &each.messages {
            let Some(lane) = lane(message.channel_index) else { continue };
            let none = Tick { first: *message, messages: 0, size_bytes: 0, did: HeapActivity::default() };
            ticks.entry((lane, message.time_ns / step_ns)).or_insert(none).add(message, *size_bytes);
        }
        let mut rows = MessageRows { channels, left_out, step_ns, ..MessageRows::default() };
        for ((lane, step), tick) in &ticks {
            rows.push(*lane, *step, tick);
        }
        rows
    }

    pub(super) fn is_empty(&self) -> bool {
        self.channels.is_empty()
    }

    fn push(&mut self, lane: usize, step: u64, tick: &Tick) {
        self.lane.push(lane);
        self.step.push(step);
        self.messages.push(tick.messages);
        self.queue_index.push(tick.first.queue_index);
        self.time_ns.push(tick.first.time_ns);
        self.size_bytes.push(tick.size_bytes);
        self.allocations.push(tick.did.allocations);
        self.allocated_bytes.push(tick.did.allocated_bytes);
        self.freed_bytes.push(tick.did.freed_bytes);
    }
}

impl Tick {
    fn add(&mut self, message: &HeavyMessage, size_bytes: u64) {
        self.messages += 1;
        self.size_bytes = self.size_bytes.saturating_add(size_bytes);
        self.did.allocations = self.did.allocations.saturating_add(message.did.allocations);
        self.did.allocated_bytes = self.did.allocated_bytes.saturating_add(message.did.allocated_bytes);
        self.did.freed_bytes = self.did.freed_bytes.saturating_add(message.did.freed_bytes);
    }
}

fn channel(each: &EachMessage, channel_index: u32, messages: u64) -> ChannelRow {
    let (name, r#type) = each.channels.get(channel_index as usize).cloned().unzip();
    ChannelRow { channel_index, name, r#type, messages }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(
        channel_index: u32,
        queue_index: u32,
        time_ns: u64,
        allocated_bytes: u64,
    ) -> (HeavyMessage, u64) {
        let did = HeapActivity { allocations: 1, allocated_bytes, ..HeapActivity::default() };
        (HeavyMessage { channel_index, queue_index, time_ns, did }, 100)
    }

    fn each(messages: Vec<(HeavyMessage, u64)>) -> EachMessage {
        let channels = vec![("/a".to_owned(), "A".to_owned())];
        EachMessage { messages, channels, clocks_apart_ns: None, clocks_agree: true }
    }

    #[test]
    fn messages_of_a_step_are_one_tick_of_their_channel() {
        let all =
            [message(0, 7, 0, 1), message(3, 0, 5, 10), message(0, 8, 9, 100), message(0, 9, 10, 1_000)];
        let rows = MessageRows::of(&each(all.to_vec()), 9_999);
        assert_eq!((rows.step_ns, rows.left_out), (10, 0));
        let (named, unnamed) = (&rows.channels[0], &rows.channels[1]);
        assert_eq!(
            (named.name.as_deref(), named.r#type.as_deref(), named.messages),
            (Some("/a"), Some("A"), 3)
        );
        assert_eq!((unnamed.channel_index, unnamed.name.as_ref()), (3, None));
        assert_eq!((&rows.lane[..], &rows.step[..]), (&[0, 0, 1][..], &[0, 1, 0][..]));
        assert_eq!((&rows.messages[..], &rows.queue_index[..]), (&[2, 1, 1][..], &[7, 9, 0][..]));
        assert_eq!(
            (&rows.allocated_bytes[..], &rows.size_bytes[..]),
            (&[101, 1_000, 10][..], &[200, 100, 100][..])
        );
    }

    #[test]
    fn channels_with_fewer_messages_are_counted_only() {
        let mut all: Vec<_> = (0..CHANNELS_MAX as u32 + 3).map(|channel| message(channel, 0, 5, 1)).collect();
        all.extend((0..5_000).map(|n| message(10, n + 1, u64::from(n) * 1_000, 1)));
        let rows = MessageRows::of(&each(all), 5_000_000);
        assert_eq!((rows.channels.len(), rows.left_out), (CHANNELS_MAX, 3));
        assert_eq!((rows.channels[7].channel_index, rows.channels[7].messages), (10, 5_001));
        assert!(rows.lane.len() <= CHANNELS_MAX * (MESSAGE_STEPS as usize + 1), "{}", rows.lane.len());
        assert_eq!(rows.messages.iter().sum::<u64>(), 5_001 + 7);
    }
}
