//! Statistics of the channels of a log: how many messages, how often, how large, how late, and how many are
//! missing between them. Messages are noted one by one in the order of their times; memory is a row for
//! each channel and kind of record.
//!
//! Times of different clocks are never taken from each other, but for wall clocks, whose nodes keep them
//! together as well as they can.

use std::collections::BTreeMap;

use super::message::Message;
use crate::layout::{Kind, NO_QUEUE_INDEX, NO_TIME};

/// Rows that are kept. A log has a few hundred channels; a damaged one may seem to have more.
pub const ROWS_MAX: usize = 1 << 16;

/// The least, the most and the mean of some figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// How many figures.
    pub count: u64,
    /// The least.
    pub min: i64,
    /// The most.
    pub max: i64,
    sum: i128,
    /// The queue index of the message with the most.
    pub max_queue_index: u32,
}

impl Span {
    fn note(&mut self, figure: i64, queue_index: u32) {
        if self.count == 0 || figure > self.max {
            (self.max, self.max_queue_index) = (figure, queue_index);
        }
        self.min = if self.count == 0 { figure } else { self.min.min(figure) };
        self.count += 1;
        self.sum += i128::from(figure);
    }

    /// All together.
    pub fn sum(&self) -> i128 {
        self.sum
    }

    /// The mean; `None` of no figures.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}

/// Records of one kind of one channel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Row {
    /// Bytes of data.
    pub data_bytes: Span,
    /// Sent time of the first record, ns.
    pub first_ns: i64,
    /// Sent time of the last record, ns.
    pub last_ns: i64,
    /// From one record to the next, ns.
    pub period_ns: Span,
    /// From the sender's wall clock to the receiver's, ns; of delivery times.
    pub delivery_ns: Span,
    /// From the sending until the sender heard of the arrival, by the sender's clock, ns; of remote timestamps.
    pub answer_ns: Span,
    /// From the sending until the message was transmitted, by the sender's clock, ns; since 2024.
    pub transmit_ns: Span,
    /// Messages that are not there: queue indices that were leapt over.
    pub missing: u64,
    /// How often some were.
    pub leaps: u64,
    /// How often a queue index was not larger than the one before it: a restarted sender, or a message twice.
    pub returns: u64,
    last_queue_index: u32,
}

impl Row {
    /// How many records.
    pub fn records(&self) -> u64 {
        self.data_bytes.count
    }

    /// Records in a second, from the first to the last one; `None` when there is no time between them.
    pub fn rate_hz(&self) -> Option<f64> {
        let ns = i128::from(self.last_ns) - i128::from(self.first_ns);
        (ns > 0).then(|| (self.records() - 1) as f64 * 1e9 / ns as f64)
    }

    fn note(&mut self, m: &Message<'_>) {
        let (sent_ns, queue_index) = (m.monotonic_sent_time, m.queue_index);
        if self.records() == 0 {
            self.first_ns = sent_ns;
        } else {
            self.period_ns.note(sent_ns.saturating_sub(self.last_ns), queue_index);
            self.note_queue_index(queue_index);
        }
        (self.last_ns, self.last_queue_index) = (sent_ns, queue_index);
        // Data is at most as long as a record.
        self.data_bytes.note(m.data_bytes() as i64, queue_index);
        self.note_delays(m);
    }

    fn note_queue_index(&mut self, queue_index: u32) {
        match queue_index.checked_sub(self.last_queue_index) {
            Some(0) | None => self.returns += 1,
            Some(1) => {}
            Some(_) if queue_index == NO_QUEUE_INDEX => {}
            Some(step) => {
                self.leaps += 1;
                self.missing += u64::from(step - 1);
            }
        }
    }

    fn note_delays(&mut self, m: &Message<'_>) {
        let known = |from: i64, to: i64| (from != NO_TIME && to != NO_TIME).then(|| to.saturating_sub(from));
        if m.kind != Kind::RemoteTimestamp && m.kind != Kind::Message {
            let delay = known(m.realtime_remote_time, m.realtime_sent_time);
            delay.into_iter().for_each(|ns| self.delivery_ns.note(ns, m.queue_index));
        }
        let answer = known(m.monotonic_remote_time, m.monotonic_timestamp_time);
        answer.into_iter().for_each(|ns| self.answer_ns.note(ns, m.queue_index));
        let transmit = known(m.monotonic_remote_time, m.monotonic_remote_transmit_time);
        transmit.into_iter().for_each(|ns| self.transmit_ns.note(ns, m.queue_index));
    }
}

/// All channels of a log.
#[derive(Clone, Debug, Default)]
pub struct Channels {
    rows: BTreeMap<(u32, Kind), Row>,
    /// Records for which there was no more row.
    pub unlisted: u64,
}

impl Channels {
    /// Takes the next message.
    pub fn note(&mut self, message: &Message<'_>) {
        let key = (message.channel_index, message.kind);
        if self.rows.len() < ROWS_MAX || self.rows.contains_key(&key) {
            self.rows.entry(key).or_default().note(message);
        } else {
            self.unlisted += 1;
        }
    }

    /// By channel, then kind.
    pub fn rows(&self) -> impl Iterator<Item = (u32, Kind, &Row)> {
        self.rows.iter().map(|(&(channel, kind), row)| (channel, kind, row))
    }

    /// Records of all channels.
    pub fn records(&self) -> u64 {
        self.rows.values().map(Row::records).sum::<u64>() + self.unlisted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(queue_index: u32, sent_ns: i64) -> Message<'static> {
        Message {
            channel_index: 3,
            monotonic_sent_time: sent_ns,
            realtime_sent_time: sent_ns.saturating_add(500),
            queue_index,
            data: Some(&[1, 2, 3]),
            monotonic_remote_time: NO_TIME,
            realtime_remote_time: NO_TIME,
            remote_queue_index: NO_QUEUE_INDEX,
            monotonic_timestamp_time: NO_TIME,
            monotonic_remote_transmit_time: NO_TIME,
            kind: Kind::Message,
        }
    }

    fn row_of(messages: &[Message<'_>]) -> Row {
        let mut channels = Channels::default();
        messages.iter().for_each(|m| channels.note(m));
        channels.rows().next().unwrap().2.clone()
    }

    #[test]
    fn rates_and_periods_are_between_messages() {
        let row = row_of(&[message(0, 1000), message(1, 2000), message(2, 5000)]);
        assert_eq!((row.records(), row.rate_hz()), (3, Some(500_000.0)));
        assert_eq!((row.period_ns.min, row.period_ns.max, row.period_ns.max_queue_index), (1000, 3000, 2));
        assert_eq!((row.period_ns.mean(), row.data_bytes.sum()), (Some(2000.0), 9));
        assert_eq!((row.missing, row.leaps, row.returns), (0, 0, 0));
        assert_eq!(row_of(&[message(0, 7)]).rate_hz(), None);
    }

    #[test]
    fn leaps_are_missing_messages_and_returns_are_not() {
        let row = row_of(&[message(7, 1), message(8, 2), message(12, 3), message(12, 4), message(0, 5)]);
        assert_eq!((row.missing, row.leaps, row.returns), (3, 1, 2));
    }

    #[test]
    fn delays_are_between_times_of_one_clock() {
        let delivery = Message {
            kind: Kind::DeliveryTime,
            data: None,
            realtime_remote_time: 1200,
            monotonic_remote_time: 90_000,
            monotonic_remote_transmit_time: 90_010,
            ..message(1, 1000)
        };
        let row = row_of(&[delivery]);
        assert_eq!((row.delivery_ns.max, row.transmit_ns.max, row.answer_ns.count), (300, 10, 0));
        let timestamp = Message { kind: Kind::RemoteTimestamp, monotonic_timestamp_time: 90_700, ..delivery };
        let row = row_of(&[timestamp]);
        assert_eq!((row.answer_ns.max, row.transmit_ns.max, row.delivery_ns.count), (700, 10, 0));
    }

    #[test]
    fn extremes_do_not_overflow() {
        let extremes = [message(0, i64::MIN), message(u32::MAX, i64::MAX), message(1, i64::MIN)];
        let row = row_of(&extremes);
        assert_eq!((row.period_ns.max, row.rate_hz()), (i64::MAX, None));
    }

    #[test]
    fn rows_are_bounded() {
        let mut channels = Channels::default();
        for channel_index in 0..u32::try_from(ROWS_MAX).unwrap() + 5 {
            channels.note(&Message { channel_index, ..message(0, 0) });
        }
        assert_eq!((channels.rows().count(), channels.unlisted), (ROWS_MAX, 5));
        assert_eq!(channels.records(), ROWS_MAX as u64 + 5);
    }
}
