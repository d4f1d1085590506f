//! The writer of one file: decides for each message whether a part ends, and begins the next.

use uuid::Uuid;

use super::clock::Clock;
use super::error::WriteError;
use super::output::{Output, PutTimes};
use super::remote::{RemoteUpdate, Remotes};
use super::settings::{Settings, SettingsError, StartTimes};
use super::sink::Sink;
use super::statistics::{ChannelStatistics, WriterStatistics};
use crate::encode::Encoder;
use crate::pack::{Bytes, Header, Record};

/// What a writer needs of a message besides its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageInfo {
    /// Its channel in the log.
    pub channel_index: u32,
    /// Its time in the log, by which messages are ordered.
    pub monotonic_event_time: i64,
    /// The boot of the node that the file is about.
    pub source_boot: Uuid,
}

/// Writes the parts of one file: messages of one node, or what is known about the delivery of some.
///
/// A writer that is dropped ends its part as [`close`](Self::close) does, and ignores errors.
pub struct Writer<C: Clock> {
    output: Output<C>,
    settings: Settings,
    scratch: Vec<u8>,
    remotes: Remotes,
    channels: Vec<ChannelStatistics>,
    source_boot: Option<Uuid>,
    parts_uuid: Option<Uuid>,
    parts_index: i32,
    start: StartTimes,
    newest_time: i64,
    max_out_of_order_ns: i64,
    has_header: bool,
    is_rotation_due: bool,
}

impl<C: Clock> std::fmt::Debug for Writer<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("parts_index", &self.parts_index).finish_non_exhaustive()
    }
}

impl<C: Clock> Writer<C> {
    /// A writer with all memory that it will need. Nothing is written before the first message.
    pub fn new(
        mut settings: Settings,
        encoder: Box<dyn Encoder>,
        sink: Box<dyn Sink>,
        clock: C,
    ) -> Result<Self, SettingsError> {
        let remotes = Remotes::new(settings.nodes);
        let (channels, record_bytes_max) = (settings.channels, settings.record_bytes_max);
        settings.texts.complete(channels, record_bytes_max, settings.new_uuid);
        let most = settings.header_bytes_max(&remotes);
        settings.check(most)?;
        Ok(Self {
            output: Output::new(encoder, sink, clock, settings.flush),
            scratch: vec![0; most],
            remotes,
            channels: vec![ChannelStatistics::default(); settings.channels],
            source_boot: None,
            parts_uuid: None,
            parts_index: 0,
            start: StartTimes::default(),
            newest_time: i64::MIN,
            max_out_of_order_ns: settings.max_out_of_order_ns,
            has_header: false,
            is_rotation_due: false,
            settings,
        })
    }

    /// Sets when the log began. If that is a change, the next message begins a part.
    pub fn set_start(&mut self, start: StartTimes) {
        self.is_rotation_due |= self.start != start;
        self.start = start;
    }

    /// Sets the boot of another node.
    pub fn update_boot(&mut self, node: usize, boot: Uuid) {
        self.is_rotation_due |= self.remotes.set_boot(node, boot);
    }

    /// Sets the boot of the node that the file is about, before [`Self::update_remote`].
    pub fn enter_boot(&mut self, source_boot: Uuid) {
        self.check_boot(source_boot);
    }

    /// Applies what a message shows of another node: to be called before the message is written.
    pub fn update_remote(&mut self, update: &RemoteUpdate) {
        self.is_rotation_due |= self.remotes.update(update);
    }

    /// Lets the next message begin a part.
    pub fn rotate(&mut self) {
        self.is_rotation_due = true;
    }

    /// Writes a message that was begun to be handled at `start_ns`.
    pub fn write(
        &mut self,
        record: &mut dyn Record,
        info: &MessageInfo,
        start_ns: i64,
    ) -> Result<(), WriteError> {
        let size = record.size();
        if size > self.settings.record_bytes_max {
            self.output.statistics.dropped_messages += 1;
            return Err(WriteError::TooLarge(size));
        }
        let written = self.write_checked(record, info, start_ns, size);
        if written.is_err() {
            self.output.statistics.dropped_messages += 1;
        }
        written
    }

    fn write_checked(
        &mut self,
        record: &mut dyn Record,
        info: &MessageInfo,
        start_ns: i64,
        size: usize,
    ) -> Result<(), WriteError> {
        self.check_boot(info.source_boot);
        self.check_order(info.monotonic_event_time);
        self.begin_part_if_due(start_ns)?;
        // The time to begin a part is no part of the message's encoding.
        let took = self.output.put(record, start_ns)?;
        // One that meets a full disk here is dropped, and not a message that was taken as well.
        self.output.flush_if_due(start_ns)?;
        self.count(info, size as u64, start_ns, took);
        Ok(())
    }

    /// A message of another boot: the times of other nodes were measured in the boot before, and are reset.
    fn check_boot(&mut self, source_boot: Uuid) {
        if self.source_boot == Some(source_boot) {
            return;
        }
        if self.source_boot.is_some() {
            self.remotes.reset_times();
            self.max_out_of_order_ns = self.settings.max_out_of_order_ns;
            self.newest_time = i64::MIN;
        }
        self.source_boot = Some(source_boot);
        self.parts_uuid = Some((self.settings.new_uuid)());
        self.remotes.set_boot(self.settings.node_index, source_boot);
        self.is_rotation_due = true;
    }

    fn check_order(&mut self, time: i64) {
        let lag = self.newest_time.saturating_sub(time);
        if self.newest_time != i64::MIN && lag > self.max_out_of_order_ns {
            self.max_out_of_order_ns = lag.max(self.max_out_of_order_ns).saturating_mul(2);
            self.is_rotation_due = true;
        }
        self.newest_time = self.newest_time.max(time);
    }

    fn begin_part_if_due(&mut self, now: i64) -> Result<(), WriteError> {
        if self.has_header && !self.is_rotation_due {
            return Ok(());
        }
        if self.has_header {
            self.output.close()?;
            self.parts_index += 1;
        }
        self.has_header = true;
        self.is_rotation_due = false;
        self.output.open(self.parts_index)?;
        let part_start = StartTimes { monotonic_ns: now, realtime_ns: self.output.clock.realtime_ns() };
        let texts = &self.settings.texts;
        let header = Header {
            monotonic_start_time: self.start.monotonic_ns,
            realtime_start_time: self.start.realtime_ns,
            max_out_of_order_duration: self.max_out_of_order_ns,
            parts_uuid: self.parts_uuid,
            parts_index: self.parts_index,
            source_node_boot_uuid: self.source_boot,
            boot_uuids: &self.remotes.boots,
            logger_part_monotonic_start_time: part_start.monotonic_ns,
            logger_part_realtime_start_time: part_start.realtime_ns,
            oldest: &self.remotes.oldest,
            data_stored: &self.settings.data_stored,
            ..texts.header()
        };
        // The scratch has room for the longest header there can be; see `Settings::header_bytes_max`.
        let size = header.pack(self.settings.layout, &mut self.scratch).unwrap_or(0);
        if let Some(mut record) = Bytes::new(&self.scratch[..size]) {
            let now = self.output.clock.monotonic_ns();
            self.output.put(&mut record, now)?;
            self.output.statistics.record_bytes += size as u64;
        }
        Ok(())
    }

    fn count(&mut self, info: &MessageInfo, bytes: u64, start_ns: i64, took: PutTimes) {
        let PutTimes { copied_ns: copied, encode_ns } = took;
        let delay = copied.saturating_sub(info.monotonic_event_time).max(0).unsigned_abs();
        let all = &mut self.output.statistics;
        all.messages += 1;
        all.record_bytes += bytes;
        all.copy.add(copied - start_ns, bytes, info.channel_index);
        all.encode.add(encode_ns, bytes, info.channel_index);
        if delay > all.delay_max_ns {
            (all.delay_max_ns, all.delay_max_channel) = (delay, info.channel_index);
        }
        if let Some(channel) = self.channels.get_mut(info.channel_index as usize) {
            channel.messages += 1;
            channel.bytes += bytes;
            channel.copy.add(copied - start_ns, bytes, info.channel_index);
            channel.encode.add(encode_ns, bytes, info.channel_index);
            channel.delay_max_ns = channel.delay_max_ns.max(delay);
        }
    }

    /// Writes what was not written if that is due: to be called when there is no message for a while.
    pub fn flush_if_due(&mut self, now: i64) -> Result<(), WriteError> {
        self.output.flush_if_due(now)
    }

    /// Writes everything that was taken. A codec is flushed, which makes its file a little larger.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.output.flush()
    }

    /// Ends the part that is open. Another message would begin another.
    pub fn close(&mut self) -> Result<(), WriteError> {
        self.is_rotation_due = true;
        self.output.close()
    }

    /// The error that stopped the writer, if one did.
    pub fn error(&self) -> Option<WriteError> {
        self.output.error()
    }

    /// The index of the part that is open, or of the next.
    pub fn parts_index(&self) -> i32 {
        self.parts_index
    }

    /// Bytes of the part that is open, those that wait to be written included.
    pub fn part_bytes(&self) -> u64 {
        self.output.part_bytes()
    }

    /// Its statistics so far.
    pub fn statistics(&self) -> &WriterStatistics {
        &self.output.statistics
    }

    /// Its statistics so far, by channel.
    pub fn channels(&self) -> &[ChannelStatistics] {
        &self.channels
    }
}
