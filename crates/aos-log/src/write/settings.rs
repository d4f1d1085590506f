//! Settings of a writer: everything that determines the memory that it needs.

use uuid::Uuid;

use super::output::FlushRules;
use super::remote::Remotes;
use crate::layout::{Layout, NO_TIME};
use crate::pack::{Header, configuration};

/// When something began, by both clocks of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StartTimes {
    /// By its monotonic clock, in ns.
    pub monotonic_ns: i64,
    /// As wall time, in ns since 1970.
    pub realtime_ns: i64,
}

/// Not known.
impl Default for StartTimes {
    fn default() -> Self {
        Self { monotonic_ns: NO_TIME, realtime_ns: NO_TIME }
    }
}

/// The texts of a header that are the same in all parts. A writer fills in those without which AOS opens no log, see
/// [`Self::complete`]; any other that is `None` is left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the schema's own names; HeaderField defines each")]
pub struct HeaderTexts {
    pub name: Option<String>,
    pub node: Option<String>,
    pub logger_node: Option<String>,
    pub log_event_uuid: Option<Uuid>,
    pub logger_instance_uuid: Option<Uuid>,
    pub logger_node_boot_uuid: Option<Uuid>,
    pub log_start_uuid: Option<Uuid>,
    pub configuration_sha256: Option<String>,
    /// A finished flatbuffer, carried in each header; a reader needs this or the file that the sha256 names. Given
    /// neither, a writer makes one with as many channels as there are, without schemas.
    pub configuration: Option<Vec<u8>>,
    pub logger_sha1: Option<String>,
    pub logger_version: Option<String>,
    pub logger_start_monotonic_ns: Option<i64>,
    pub logger_start_realtime_ns: Option<i64>,
}

impl HeaderTexts {
    /// Fills in what AOS does not open a log without, where it is not given: names of the log, of its start, of the logger
    /// and of this boot; the logger's node, when there is a node; a configuration.
    pub fn complete(&mut self, channels: usize, data_bytes_max: usize, new_uuid: impl Fn() -> Uuid) {
        for id in [&mut self.log_event_uuid, &mut self.logger_instance_uuid, &mut self.log_start_uuid] {
            id.get_or_insert_with(&new_uuid);
        }
        self.logger_node_boot_uuid.get_or_insert_with(|| boot_id().unwrap_or_else(&new_uuid));
        if self.logger_node.is_none() {
            self.logger_node.clone_from(&self.node);
        }
        if self.configuration.is_none() && self.configuration_sha256.is_none() {
            self.configuration = Some(configuration(channels, data_bytes_max, self.node.as_deref()));
        }
    }

    /// A header with these, and nothing else.
    #[must_use]
    pub fn header(&self) -> Header<'_> {
        Header {
            name: self.name.as_deref(),
            node: self.node.as_deref(),
            logger_node: self.logger_node.as_deref(),
            log_event_uuid: self.log_event_uuid,
            logger_instance_uuid: self.logger_instance_uuid,
            logger_node_boot_uuid: self.logger_node_boot_uuid,
            log_start_uuid: self.log_start_uuid,
            configuration_sha256: self.configuration_sha256.as_deref(),
            configuration: self.configuration.as_deref(),
            logger_sha1: self.logger_sha1.as_deref(),
            logger_version: self.logger_version.as_deref(),
            logger_monotonic_start_time: self.logger_start_monotonic_ns.unwrap_or(NO_TIME),
            logger_realtime_start_time: self.logger_start_realtime_ns.unwrap_or(NO_TIME),
            ..Header::default()
        }
    }
}

/// The kernel's name of the time since the machine was started.
fn boot_id() -> Option<Uuid> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Uuid::try_parse(text.trim()).ok()
}

/// How a writer works.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which layout its records have.
    pub layout: Layout,
    /// Bytes of the largest record, see [`MessageRecord::size_of`](crate::pack::MessageRecord::size_of).
    pub record_bytes_max: usize,
    /// Nodes there are: the length of the header's lists.
    pub nodes: usize,
    /// Index of the node that the file is about.
    pub node_index: usize,
    /// Channels there are: the length of the statistics.
    pub channels: usize,
    /// How much older than the newest a message may be, in ns, before the header has to allow for more.
    pub max_out_of_order_ns: i64,
    /// When what is ready is written.
    pub flush: FlushRules,
    /// The texts of all headers.
    pub texts: HeaderTexts,
    /// 0 data, 1 timestamps, 2 remote timestamps; in the layout of 2024.
    pub data_stored: Vec<u8>,
    /// Names a new sequence of parts.
    pub new_uuid: fn() -> Uuid,
}

/// One node, one channel, records of up to 128 KiB, AOS's 300 ms, and random names.
impl Default for Settings {
    fn default() -> Self {
        Self {
            layout: Layout::default(),
            record_bytes_max: crate::encode::FLUSH_BYTES,
            nodes: 1,
            node_index: 0,
            channels: 1,
            max_out_of_order_ns: 300_000_000,
            flush: FlushRules::default(),
            texts: HeaderTexts::default(),
            data_stored: vec![0],
            new_uuid: Uuid::new_v4,
        }
    }
}

/// Settings that no writer can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingsError {
    /// There is no node of that index.
    NoSuchNode,
    /// The header has so many bytes, more than a flatbuffer can.
    HeaderTooLarge(usize),
}

impl std::fmt::Display for SettingsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SettingsError::NoSuchNode => f.write_str("the node's index is not below the number of nodes"),
            SettingsError::HeaderTooLarge(bytes) => write!(f, "a header of {bytes} bytes is too large"),
        }
    }
}

impl std::error::Error for SettingsError {}

impl Settings {
    pub(super) fn check(&self, header_bytes: usize) -> Result<(), SettingsError> {
        if self.node_index >= self.nodes {
            return Err(SettingsError::NoSuchNode);
        }
        if header_bytes > i32::MAX as usize {
            return Err(SettingsError::HeaderTooLarge(header_bytes));
        }
        Ok(())
    }

    /// Bytes of the longest header: with every boot and every time known.
    pub(super) fn header_bytes_max(&self, remotes: &Remotes) -> usize {
        let boots = vec![Some(Uuid::nil()); self.nodes];
        let longest = Header {
            parts_uuid: Some(Uuid::nil()),
            source_node_boot_uuid: Some(Uuid::nil()),
            boot_uuids: &boots,
            oldest: &remotes.oldest,
            data_stored: &self.data_stored,
            ..self.texts.header()
        };
        longest.size(self.layout)
    }
}
