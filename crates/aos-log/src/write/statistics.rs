//! Statistics of a writer: how long copies, encoding and writes took, and the channel of the longest.
//! All counts of bytes have 64 bits: AOS's have 31, and are wrong after 2 GiB.

/// How long something took, over all times it was done.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Durations {
    /// How often.
    pub count: u64,
    /// Nanoseconds, all together.
    pub total_ns: u64,
    /// Nanoseconds of the longest.
    pub max_ns: u64,
    /// Bytes of the longest.
    pub max_bytes: u64,
    /// Channel of the longest; 0 where there is none.
    pub max_channel: u32,
    /// Bytes, all together.
    pub bytes: u64,
}

impl Durations {
    /// Adds one. A clock that stepped back counts as no time.
    pub(crate) fn add(&mut self, nanoseconds: i64, bytes: u64, channel: u32) {
        let nanoseconds = nanoseconds.max(0).unsigned_abs();
        self.count += 1;
        self.total_ns += nanoseconds;
        self.bytes += bytes;
        if nanoseconds > self.max_ns || self.count == 1 {
            (self.max_ns, self.max_bytes, self.max_channel) = (nanoseconds, bytes, channel);
        }
    }
}

/// What a writer did for one channel.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ChannelStatistics {
    /// Records that were taken.
    pub messages: u64,
    /// Bytes of these records, before compression.
    pub bytes: u64,
    /// From before a copy to within it.
    pub copy: Durations,
    /// The time in the encoder for its records, without writes in between.
    pub encode: Durations,
    /// From the message's event to within its copy: the longest.
    pub delay_max_ns: u64,
}

/// What a writer did for all channels, and to its files.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WriterStatistics {
    /// Records that were taken. When an error stops the writer, those since the last flush are not in the file.
    pub messages: u64,
    /// Records that were refused: too large, or because of an error, such as a full disk. None of `messages` is one of them.
    pub dropped_messages: u64,
    /// Bytes of records that were taken, before compression; headers too.
    pub record_bytes: u64,
    /// Parts that were begun.
    pub parts: u64,
    /// From before a copy to within it.
    pub copy: Durations,
    /// Encoding, writes left out; the end of a part too.
    pub encode: Durations,
    /// Writes to files: `bytes` is what is in the files.
    pub write: Durations,
    /// From a message's event to within its copy: the longest, and its channel.
    pub delay_max_ns: u64,
    /// Channel of the longest delay.
    pub delay_max_channel: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_has_its_size_and_channel() {
        let mut durations = Durations::default();
        for (ns, bytes, channel) in [(5, 100, 1), (9, u64::from(u32::MAX), 2), (-3, 7, 3), (9, 1, 4)] {
            durations.add(ns, bytes, channel);
        }
        let bytes = 108 + u64::from(u32::MAX);
        let max_bytes = u64::from(u32::MAX);
        let expected = Durations { count: 4, total_ns: 23, max_ns: 9, max_bytes, max_channel: 2, bytes };
        assert_eq!(durations, expected);
    }
}
