//! What can be wrong with a memtrace file: what, and at which byte. memtrace's own reader stops at each of
//! these, some with an assertion, and at a packet of no length it never does.

use std::{fmt, io};

use super::layout::{CONTENT_BYTES_MAX, FRAMES_MAX, VERSION};

/// Something that no reader can decode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// No packet begins here.
    NotAPacket,
    /// A later version.
    Version(u16),
    /// The file ends within a packet's header.
    CutHeader,
    /// A size below 0, in bits.
    NegativeSize(i32),
    /// A packet that is smaller than its header, in bytes.
    SmallPacket(usize),
    /// A packet with more behind its header than fits, in bytes.
    LargePacket(usize),
    /// A packet that ends before it begins.
    PacketTimes,
    /// A packet whose object numbers end before they begin.
    PacketIds,
    /// The first packet is cut.
    CutInfo,
    /// The first packet does not begin with the trace info.
    NoInfo,
    /// The trace info has another time than its packet.
    InfoTime,
    /// Bytes follow the trace info in its packet.
    InfoRest,
    /// A trace info in a later packet.
    SecondInfo,
    /// An event of an unknown kind.
    UnknownEvent(u32),
    /// The packet ends within an event.
    CutEvent,
    /// An event outside the times of its packet.
    TimeOutsidePacket,
    /// An event that was before the one before it in its domain.
    TimeGoesBack,
    /// A code whose location is another than before.
    LocationChanged(i64),
    /// A name at a place of the table where none is.
    EmptyName,
    /// A source of an allocation that is none.
    UnknownSource(u8),
    /// A promotion of an object that is allocated later.
    PromotedEarly,
    /// Not as many allocations as the packet's header says: the next object's number is the first, it
    /// should be the second.
    IdsDisagree(i64, i64),
    /// The cache of locations is not as the packet's header says.
    Verifier,
    /// A stack of more frames than [`FRAMES_MAX`].
    DeepStack,
    /// More domains than a file of this length can have.
    ManyDomains,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match *self {
            Fault::NotAPacket => "not a CTF packet",
            Fault::Version(found) => {
                return write!(f, "trace format v{found:03}, known is up to v{VERSION:03}");
            }
            Fault::CutHeader => "the file ends within the header of a packet",
            Fault::NegativeSize(bits) => return write!(f, "bad packet size of {bits} bits"),
            Fault::SmallPacket(bytes) => {
                return write!(f, "bad packet size of {bytes} bytes, less than its header");
            }
            Fault::LargePacket(bytes) => {
                return write!(f, "packet with {bytes} bytes of events, at most {CONTENT_BYTES_MAX} fit");
            }
            Fault::PacketTimes => "the packet's times go back",
            Fault::PacketIds => "the packet's object numbers go back",
            Fault::CutInfo => "the first packet is cut",
            Fault::NoInfo => "the first packet has no trace info",
            Fault::InfoTime => "the trace info has another time than its packet",
            Fault::InfoRest => "bytes follow the trace info in its packet",
            Fault::SecondInfo => "a second trace info",
            Fault::UnknownEvent(code) => return write!(f, "unknown event code {code}"),
            Fault::CutEvent => "the packet ends within an event",
            Fault::TimeOutsidePacket => "event time out of its packet's bounds",
            Fault::TimeGoesBack => "the domain's time goes back",
            Fault::LocationChanged(code) => {
                return write!(f, "another location for code {code:#x} than before");
            }
            Fault::EmptyName => "a name at an empty place of the table of names",
            Fault::UnknownSource(source) => return write!(f, "unknown source {source} of an allocation"),
            Fault::PromotedEarly => "an object is promoted before it is allocated",
            Fault::IdsDisagree(is, should) => {
                return write!(f, "the packet ends at object {is}, its header says {should}");
            }
            Fault::Verifier => "the cache of locations is not as the packet's header says",
            Fault::DeepStack => return write!(f, "stack of more than {FRAMES_MAX} frames"),
            Fault::ManyDomains => "more domains than a file of this length can have",
        };
        f.write_str(words)
    }
}

/// Why a file cannot be read, or not any further.
#[derive(Debug)]
pub enum MemtraceError {
    /// The bytes could not be read.
    Io {
        /// Where in the file.
        offset: u64,
        /// The error of the system.
        error: io::Error,
    },
    /// The bytes are invalid.
    Malformed {
        /// Where in the file they begin.
        offset: u64,
        /// What is wrong with it.
        fault: Fault,
    },
}

impl fmt::Display for MemtraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemtraceError::Io { offset, error } => write!(f, "cannot read at byte {offset}: {error}"),
            MemtraceError::Malformed { offset, fault } => write!(f, "{fault} at byte {offset}"),
        }
    }
}

impl std::error::Error for MemtraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            MemtraceError::Io { error, .. } => Some(error),
            MemtraceError::Malformed { .. } => None,
        }
    }
}

/// Why a part of a file was skipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SkipReason {
    /// A packet of another process, a forked child's: the first pid is its, the second the trace's.
    OtherPid(i64, i64),
    /// The file ends within the packet.
    Truncated,
    /// It is invalid, at this byte of the file; what follows can be read.
    Fault {
        /// Where the invalid bytes begin.
        at: u64,
        /// What is wrong with it.
        fault: Fault,
    },
}

/// A part of a file that was skipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Skipped {
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub bytes: u64,
    /// SkipReason.
    pub why: SkipReason,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Skipped { offset, bytes, why } = self;
        match why {
            SkipReason::OtherPid(is, should) => {
                write!(f, "skipping packet of another process (pid {is}, but tracing {should})")?;
            }
            SkipReason::Truncated => f.write_str("skipping truncated packet")?,
            SkipReason::Fault { at, fault } => write!(f, "{fault} at byte {at}; skipping")?,
        }
        write!(f, ": bytes {offset} to {}", offset.saturating_add(*bytes))
    }
}
