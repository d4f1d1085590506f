//! Message logs in AOS's format, written by our packers: from another part, or from lines as `dump --json`
//! prints them.
//!
//! What is lost: in the layout of 2022 when another node passed a message on, which it has no field for. The
//! layout of 2024 has no records of both data and delivery times; they are written as in 2022, which its
//! readers read. A line does not say what its record was written for: fields that have their defaults are
//! taken as not there.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use heapscribe_aos_log::Uuid;
use heapscribe_aos_log::encode::{Encoder, FLUSH_BYTES, Framing, Plain, Snappy, Xz, Zstd};
use heapscribe_aos_log::layout::{Kind, Layout, NO_TIME};
use heapscribe_aos_log::pack::{Bytes, Fields, Header, MessageRecord, Record};
use heapscribe_aos_log::read::{Message, PartReader, Policy, limits};
use heapscribe_aos_log::write::HeaderTexts;
use serde::Deserialize;
use serde::de::IgnoredAny;

use heapscribe_diagnostics::Problem;

/// A line's most bytes: four for each byte of data.
const LINE_BYTES_MAX: u64 = 4 * limits::RECORD_BYTES_MAX as u64 + 4096;
/// AOS's chunks.
const CHUNK_BYTES: usize = 128 << 10;
/// Records up to this size are not cut by a snappy encoder.
const WHOLE_RECORD_BYTES: usize = 4 << 20;
const XZ_PRESET: u32 = 6;
/// Channels of a configuration that is made, at most.
const CHANNELS_MAX: usize = 1 << 16;
const ZSTD_LEVEL: i32 = 3;

/// Records that could not be written as they were.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lost {
    /// Times at which other nodes passed messages on.
    pub transmit_times: u64,
    /// Records with data and delivery times, which are of 2022.
    pub as_in_2022: u64,
    /// Records with data that their kind does not have.
    pub data: u64,
}

/// Writes the records of a part.
pub struct PartWriter {
    out: Box<dyn Write>,
    encoder: Box<dyn Encoder>,
    layout: Layout,
    lost: Lost,
}

impl PartWriter {
    /// Into a file, compressed as its name says.
    pub fn new(out: impl Write + 'static, path: &Path, layout: Layout) -> Result<PartWriter> {
        let encoder: Box<dyn Encoder> = match path.extension().and_then(|extension| extension.to_str()) {
            Some("sz") => {
                Box::new(Snappy::new(Framing::Aos { chunk_bytes: CHUNK_BYTES }, WHOLE_RECORD_BYTES)?)
            }
            Some("xz") => Box::new(Xz::new(XZ_PRESET)?),
            Some("zst") => Box::new(Zstd::new(ZSTD_LEVEL)?),
            _ => Box::new(Plain::new(FLUSH_BYTES)),
        };
        Ok(PartWriter { out: Box::new(out), encoder, layout, lost: Lost::default() })
    }

    fn record(&mut self, record: &mut dyn Record) -> Result<()> {
        let mut done = 0;
        while done < record.size() {
            let encoded = self.encoder.encode(record, done)?;
            done += encoded;
            if encoded == 0 || self.encoder.queue().len() >= FLUSH_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.out.write_all(self.encoder.queue())?;
        self.encoder.clear();
        Ok(())
    }

    /// Writes a header that was another part's.
    fn copied_header(&mut self, header: &[u8]) -> Result<()> {
        let mut padded = header.to_vec();
        padded.resize(header.len().next_multiple_of(heapscribe_aos_log::layout::ALIGNMENT), 0);
        let len = u32::try_from(padded.len() - 4)?;
        padded[..4].copy_from_slice(&len.to_le_bytes());
        let mut record = Bytes::new(&padded).ok_or_else(|| anyhow!("the header is too large"))?;
        self.record(&mut record)
    }

    /// Writes a header that says no more than how messages come, and what AOS does not open a log without.
    fn made_header(&mut self, times: &Times) -> Result<()> {
        let mut texts = HeaderTexts::default();
        texts.complete(times.channels, times.data_bytes_max, Uuid::new_v4);
        let header = Header {
            monotonic_start_time: times.first_ns.unwrap_or(NO_TIME),
            max_out_of_order_duration: times.lag_ns,
            parts_uuid: Some(Uuid::new_v4()),
            ..texts.header()
        };
        let mut bytes = vec![0; header.size(self.layout)];
        header.pack(self.layout, &mut bytes)?;
        self.copied_header(&bytes)
    }

    fn message(&mut self, m: &Message<'_>) -> Result<()> {
        let is_of_2022 = self.layout == Layout::V2024 && m.kind == Kind::MessageAndDeliveryTime;
        let layout = if is_of_2022 { Layout::V2022 } else { self.layout };
        self.lost.as_in_2022 += u64::from(is_of_2022);
        let loses_time = layout == Layout::V2022 && m.monotonic_remote_transmit_time != NO_TIME;
        self.lost.transmit_times += u64::from(loses_time);
        let has_data = matches!(m.kind, Kind::Message | Kind::MessageAndDeliveryTime);
        self.lost.data += u64::from(!has_data && m.data.is_some());
        let fields = Fields {
            channel_index: m.channel_index,
            monotonic_sent_time: m.monotonic_sent_time,
            realtime_sent_time: m.realtime_sent_time,
            queue_index: m.queue_index,
            data: m.data.unwrap_or_default(),
            monotonic_remote_time: m.monotonic_remote_time,
            realtime_remote_time: m.realtime_remote_time,
            remote_queue_index: m.remote_queue_index,
            monotonic_timestamp_time: m.monotonic_timestamp_time,
            monotonic_remote_transmit_time: m.monotonic_remote_transmit_time,
        };
        self.record(&mut MessageRecord::new(layout, m.kind, &fields)?)
    }

    /// Ends the file; what was lost on the way.
    fn finish(mut self) -> Result<Lost> {
        while !self.encoder.finish()? {
            self.flush()?;
        }
        self.flush()?;
        self.out.flush()?;
        Ok(self.lost)
    }
}

/// Writes the records of a part; what of it could not be read.
pub fn convert_part(path: &Path, policy: Policy, mut to: PartWriter) -> Result<(Lost, Vec<String>)> {
    let shown = path.display();
    let open = || -> Result<PartReader<File>> {
        let file = File::open(path).with_context(|| format!("cannot open {shown}"))?;
        PartReader::open(file, policy).with_context(|| shown.to_string())
    };
    let mut part = open()?;
    match part.header_record() {
        Some(header) => to.copied_header(header)?,
        None => to.made_header(&Times::of_part(open()?)?)?,
    }
    while let Some(record) = part.next_message().with_context(|| shown.to_string())? {
        to.message(&record.message)?;
    }
    let problems = part.problems().iter().map(ToString::to_string).collect();
    Ok((to.finish()?, problems))
}

/// Writes messages that are lines of JSON.
pub fn convert_lines(file: File, path: &Path, mut to: PartWriter) -> Result<Lost> {
    let mut times = Times::default();
    let mut lines = Lines::new(BufReader::new(file), path);
    while let Some(line) = lines.next_line()? {
        times.note(line.monotonic_sent_time, line.channel_index, line.data.as_ref().map_or(0, Vec::len));
    }
    to.made_header(&times)?;
    let mut file = lines.bytes.into_inner();
    file.rewind()?;
    let mut lines = Lines::new(BufReader::new(file), path);
    while let Some(line) = lines.next_line()? {
        to.message(&line.message())?;
    }
    to.finish()
}

/// When messages come and how far behind each other, on how many channels, and how large the largest is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Times {
    first_ns: Option<i64>,
    newest_ns: Option<i64>,
    lag_ns: i64,
    channels: usize,
    data_bytes_max: usize,
}

impl Times {
    fn note(&mut self, sent_ns: i64, channel: u32, data_bytes: usize) {
        self.channels = self.channels.max((channel as usize).saturating_add(1).min(CHANNELS_MAX));
        self.data_bytes_max = self.data_bytes_max.max(data_bytes);
        let newest_ns = self.newest_ns.map_or(sent_ns, |newest_ns| newest_ns.max(sent_ns));
        self.newest_ns = Some(newest_ns);
        self.first_ns = Some(self.first_ns.map_or(sent_ns, |first_ns| first_ns.min(sent_ns)));
        self.lag_ns = self.lag_ns.max(newest_ns.saturating_sub(sent_ns));
    }

    fn of_part(mut part: PartReader<File>) -> Result<Times> {
        let mut times = Times::default();
        while let Some(record) = part.next_message()? {
            let Message { monotonic_sent_time, channel_index, data, .. } = record.message;
            times.note(monotonic_sent_time, channel_index, data.map_or(0, <[u8]>::len));
        }
        Ok(times)
    }
}

/// A line of `dump --json`; of what is not there the schema's default.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    channel_index: u32,
    #[serde(default)]
    monotonic_sent_time: i64,
    #[serde(default)]
    realtime_sent_time: i64,
    #[serde(default)]
    queue_index: u32,
    data: Option<Vec<u8>>,
    #[serde(default = "no_time")]
    monotonic_remote_time: i64,
    #[serde(default = "no_time")]
    realtime_remote_time: i64,
    #[serde(default = "no_index")]
    remote_queue_index: u32,
    #[serde(default = "no_time")]
    monotonic_timestamp_time: i64,
    #[serde(default = "no_time")]
    monotonic_remote_transmit_time: i64,
    /// What `dump` adds for its readers; the index says it all.
    #[serde(default, rename = "channel_name")]
    _channel_name: IgnoredAny,
    #[serde(default, rename = "channel_type")]
    _channel_type: IgnoredAny,
}

fn no_time() -> i64 {
    NO_TIME
}

fn no_index() -> u32 {
    heapscribe_aos_log::layout::NO_QUEUE_INDEX
}

impl Line {
    fn message(&self) -> Message<'_> {
        let remote_times = [self.monotonic_remote_time, self.realtime_remote_time];
        let is_remote = remote_times != [NO_TIME; 2] || self.remote_queue_index != no_index();
        Message {
            channel_index: self.channel_index,
            monotonic_sent_time: self.monotonic_sent_time,
            realtime_sent_time: self.realtime_sent_time,
            queue_index: self.queue_index,
            data: self.data.as_deref(),
            monotonic_remote_time: self.monotonic_remote_time,
            realtime_remote_time: self.realtime_remote_time,
            remote_queue_index: self.remote_queue_index,
            monotonic_timestamp_time: self.monotonic_timestamp_time,
            monotonic_remote_transmit_time: self.monotonic_remote_transmit_time,
            kind: match (self.data.is_some(), is_remote, self.monotonic_timestamp_time != NO_TIME) {
                (_, _, true) => Kind::RemoteTimestamp,
                (true, true, _) => Kind::MessageAndDeliveryTime,
                (true, false, _) => Kind::Message,
                (false, _, _) => Kind::DeliveryTime,
            },
        }
    }
}

/// Lines of a file, one at a time.
struct Lines<'a, R> {
    bytes: R,
    path: &'a Path,
    line: Vec<u8>,
    number: u64,
}

impl<'a, R: BufRead> Lines<'a, R> {
    fn new(bytes: R, path: &'a Path) -> Lines<'a, R> {
        Lines { bytes, path, line: Vec::new(), number: 0 }
    }

    fn next_line(&mut self) -> Result<Option<Line>> {
        loop {
            self.line.clear();
            self.number += 1;
            let n = (&mut self.bytes).take(LINE_BYTES_MAX).read_until(b'\n', &mut self.line);
            let n = n.with_context(|| format!("cannot read {}", self.path.display()))?;
            if n == 0 {
                return Ok(None);
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        let parsed = serde_json::from_slice(&self.line);
        parsed.map(Some).map_err(|e| {
            let what = format!("{} line {}: {e}", self.path.display(), self.number);
            Problem::new(what, "write the JSON with `heapscribe dump --json PART`").into()
        })
    }
}
