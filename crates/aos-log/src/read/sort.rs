//! Sorts messages by their times, within the bound of disorder that their log declares.
//!
//! A message is released when another is so much newer that nothing older may follow. A message that is older than
//! one that was released is out of order, and is reported. Before a log's start messages of any age are allowed: a
//! logger begins with the last one of each channel.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::limits::SORT_BYTES_MAX;
use super::message::Message;

/// A message that outlives the record it was read from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnedMessage {
    /// Which of the files it is from.
    pub file: usize,
    /// Where in what is unpacked of it its record begins.
    pub offset: u64,
    fields: Message<'static>,
    data: Option<Box<[u8]>>,
}

impl OwnedMessage {
    pub(crate) fn new(file: usize, offset: u64, message: &Message<'_>) -> OwnedMessage {
        let data = message.data.map(Box::from);
        // Named one by one: a copy of the whole would borrow the data.
        let fields = Message {
            channel_index: message.channel_index,
            monotonic_sent_time: message.monotonic_sent_time,
            realtime_sent_time: message.realtime_sent_time,
            queue_index: message.queue_index,
            data: None,
            monotonic_remote_time: message.monotonic_remote_time,
            realtime_remote_time: message.realtime_remote_time,
            remote_queue_index: message.remote_queue_index,
            monotonic_timestamp_time: message.monotonic_timestamp_time,
            monotonic_remote_transmit_time: message.monotonic_remote_transmit_time,
            kind: message.kind,
        };
        OwnedMessage { file, offset, fields, data }
    }

    /// The message.
    pub fn message(&self) -> Message<'_> {
        Message { data: self.data.as_deref(), ..self.fields }
    }

    fn bytes(&self) -> usize {
        size_of::<Waiting>() + self.data.as_deref().map_or(0, <[u8]>::len)
    }
}

/// A message that waits, by time, then channel and number in it, then place.
#[derive(Debug)]
struct Waiting(OwnedMessage);

impl Waiting {
    fn key(&self) -> (i64, u32, u32, usize, u64) {
        let m = &self.0.fields;
        (m.monotonic_sent_time, m.channel_index, m.queue_index, self.0.file, self.0.offset)
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Messages that wait.
#[derive(Debug)]
pub(crate) struct Sorter {
    waiting: BinaryHeap<Reverse<Waiting>>,
    waiting_bytes: usize,
    bytes_max: usize,
    bound_ns: i64,
    start_ns: i64,
    newest_ns: i64,
    /// Whether so much waited that messages were released early.
    pub(crate) was_full: bool,
}

impl Default for Sorter {
    fn default() -> Self {
        Sorter {
            waiting: BinaryHeap::new(),
            waiting_bytes: 0,
            bytes_max: SORT_BYTES_MAX,
            bound_ns: 0,
            start_ns: i64::MIN,
            newest_ns: i64::MIN,
            was_full: false,
        }
    }
}

impl Sorter {
    /// Begins a part: its bound of disorder, and when its log started.
    pub(crate) fn begin_part(&mut self, bound_ns: i64, start_ns: i64) {
        self.bound_ns = self.bound_ns.max(bound_ns);
        self.start_ns = self.start_ns.max(start_ns);
    }

    /// The time up to which no message is missing; `None` before the start of the log.
    fn complete_until_ns(&self) -> Option<i64> {
        let has_started = self.newest_ns >= self.start_ns.saturating_add(self.bound_ns);
        has_started.then(|| self.newest_ns.saturating_sub(self.bound_ns))
    }

    /// Whether a message is further behind the newest than its log allows.
    pub(crate) fn is_too_late(&self, sent_ns: i64) -> bool {
        self.complete_until_ns().is_some_and(|complete_until_ns| sent_ns < complete_until_ns)
    }

    pub(crate) fn push(&mut self, message: OwnedMessage) {
        self.newest_ns = self.newest_ns.max(message.fields.monotonic_sent_time);
        self.waiting_bytes += message.bytes();
        self.waiting.push(Reverse(Waiting(message)));
    }

    /// Whether the oldest message can be released: none that is older can follow, or too much waits.
    pub(crate) fn is_ready(&mut self) -> bool {
        let Some(oldest_ns) = self.oldest_ns() else { return false };
        let is_time = self.complete_until_ns().is_some_and(|complete_until_ns| oldest_ns < complete_until_ns);
        let is_full = self.waiting_bytes > self.bytes_max;
        self.was_full |= is_full && !is_time;
        is_time || is_full
    }

    /// Time of the oldest message.
    pub(crate) fn oldest_ns(&self) -> Option<i64> {
        self.waiting.peek().map(|oldest| oldest.0.0.fields.monotonic_sent_time)
    }

    /// Takes the oldest message.
    pub(crate) fn pop(&mut self) -> Option<OwnedMessage> {
        let Reverse(Waiting(message)) = self.waiting.pop()?;
        self.waiting_bytes -= message.bytes();
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Kind, NO_QUEUE_INDEX, NO_TIME};

    fn message(sent_ns: i64) -> OwnedMessage {
        let message = Message {
            channel_index: 0,
            monotonic_sent_time: sent_ns,
            realtime_sent_time: 0,
            queue_index: 0,
            data: Some(&[0; 100]),
            monotonic_remote_time: NO_TIME,
            realtime_remote_time: NO_TIME,
            remote_queue_index: NO_QUEUE_INDEX,
            monotonic_timestamp_time: NO_TIME,
            monotonic_remote_transmit_time: NO_TIME,
            kind: Kind::Message,
        };
        OwnedMessage::new(0, 0, &message)
    }

    fn drain(sorter: &mut Sorter) -> Vec<i64> {
        std::iter::from_fn(|| if sorter.is_ready() { sorter.pop() } else { None })
            .map(|message| message.message().monotonic_sent_time)
            .collect()
    }

    #[test]
    fn messages_wait_for_those_that_may_be_older() {
        let mut sorter = Sorter::default();
        sorter.begin_part(10, i64::MIN);
        for (sent_ns, given) in
            [(100, vec![]), (95, vec![]), (106, vec![95]), (111, vec![100]), (200, vec![106, 111])]
        {
            assert!(!sorter.is_too_late(sent_ns));
            sorter.push(message(sent_ns));
            assert_eq!(drain(&mut sorter), given, "after {sent_ns}");
        }
        assert!(sorter.is_too_late(189) && !sorter.is_too_late(190));
    }

    #[test]
    fn before_the_start_any_age_is_fine() {
        let mut sorter = Sorter::default();
        sorter.begin_part(10, 100);
        for sent_ns in [90, 105, 3] {
            assert!(!sorter.is_too_late(sent_ns));
            sorter.push(message(sent_ns));
            assert_eq!(drain(&mut sorter), []);
        }
        sorter.push(message(110));
        assert_eq!(drain(&mut sorter), [3, 90]);
        assert!(sorter.is_too_late(99));
    }

    #[test]
    fn waiting_messages_are_bounded() {
        let mut sorter = Sorter { bytes_max: 2000, ..Sorter::default() };
        sorter.begin_part(i64::MAX, i64::MIN);
        for sent_ns in 0..100 {
            sorter.push(message(sent_ns));
            drain(&mut sorter);
            assert!(sorter.waiting_bytes <= 2000);
        }
        assert!(sorter.was_full && sorter.waiting.len() > 3);
    }
}
