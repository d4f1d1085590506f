//! A message log that its writer never waits for and never allocates for: the parts that AOS, the robot
//! operating system of FRC team 971, writes and reads.
//!
//! AOS's logger once grew for hours, although no byte leaked: a flatbuffer builder and a buffer for each
//! message, all of different sizes, had left the heap full of holes. The cure, which this crate is built
//! around, is to take all memory at the start and to write each message straight to its place in it.
//!
//! - [`pack`]: records know their size and write themselves, whole or in slices. No builder.
//! - [`encode`]: plain, snappy, xz and zstd, in memory taken once, that of the codecs included.
//! - [`write`](mod@write): parts with headers, rotation, boots, flushes, statistics, a full disk.
//! - [`logger`]: which message goes to which writers, as what.
//! - [`read`]: parts back, in order, damaged ones too.
//! - [`layout`] and [`header_fields`] define the bytes, for writers and readers.
//!
//! **You bring** the largest size that a record will have, a [`Clock`](write::Clock), and a place for the bytes
//! (a [`Sink`](write::Sink), such as [`Files`](write::Files)). **You get** records that are to the byte those of AOS
//! (of 2022 and of 2024), and no allocation between a writer's construction and its end, also where a part ends
//! and another begins. **It refuses** to go on after a full disk or a failed write, so that a log has no hole in
//! its middle; messages that are larger than `record_bytes_max`; and kinds of records that a layout does not have.
//!
//! ```
//! use heapscribe_aos_log::encode::Zstd;
//! use heapscribe_aos_log::layout::{Kind, Layout};
//! use heapscribe_aos_log::pack::{Fields, MessageRecord};
//! use heapscribe_aos_log::read::{PartReader, Policy};
//! use heapscribe_aos_log::write::{Clock, Files, MessageInfo, Settings, SystemClock, Writer};
//! use heapscribe_aos_log::Uuid;
//!
//! # let directory = tempfile::tempdir()?;
//! # let base = directory.path().join("robot");
//! let boot = Uuid::new_v4();
//! let settings = Settings { record_bytes_max: 4096, channels: 3, ..Settings::default() };
//! let sink = Files::new(&base).ok_or("the path is not UTF-8")?;
//! let mut writer = Writer::new(settings, Box::new(Zstd::new(3)?), Box::new(sink), SystemClock)?;
//!
//! // From here on nothing is allocated.
//! for queue_index in 0..1000 {
//!     let now = SystemClock.monotonic_ns();
//!     let fields = Fields { channel_index: 2, queue_index, monotonic_sent_time: now, data: b"hello", ..Fields::default() };
//!     let mut record = MessageRecord::new(Layout::V2024, Kind::Message, &fields)?;
//!     let info = MessageInfo { channel_index: 2, monotonic_event_time: now, source_boot: boot };
//!     writer.write(&mut record, &info, now)?;
//! }
//! writer.close()?;
//! assert_eq!(writer.statistics().messages, 1000);
//! assert_eq!(writer.channels()[2].bytes, 1000 * 72);
//!
//! // And back: whatever the compression, and past damage.
//! let file = std::fs::File::open(format!("{}.part0.bfbs.zst", base.display()))?;
//! let mut part = PartReader::open(file, Policy::Skip)?;
//! while let Some(record) = part.next_message()? {
//!     assert_eq!(record.message.data, Some(&b"hello"[..]));
//! }
//! assert_eq!((part.messages(), part.problems().len()), (1000, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/robot.rs` is a whole program; `include/heapscribe_messages.h` is the same for C.

mod c_api;
pub mod checksum;
pub mod encode;
pub mod header_fields;
pub mod layout;
pub mod logger;
pub mod pack;
pub mod read;
pub mod write;

pub use uuid::Uuid;
