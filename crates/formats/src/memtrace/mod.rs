//! memtrace: the trace format of OCaml's memory profiler of the same name, versions 1 to 3.
//!
//! A trace is a sample: each word that the program allocates is drawn with a small probability, and of
//! objects with drawn words the trace has the stack, the promotion from the minor heap, and the end. This
//! page is the specification, the first lines of each file the bytes; all is little-endian.
//!
//! ```text
//!   file      packet ...             each complete, at most 32 KiB, nothing before or between them
//!   packet    header (68)  event ... see `header`; events are of one domain, their times never go back
//!   event     u32: bits 25-31 code, bits 0-24 low bits of its time, us since 1970, completed from the
//!             packet's begin
//!      0      trace info: first packet, alone     see `info`
//!      1      location                            see `location_event`
//!      2      vint words  vint samples  u8 heap  vint common frames  u16 words of the stack  words
//!      3 4    promote, collect: vint, how many objects were allocated after this one in its domain
//!      101-116  an object of 1 to 16 words in the minor heap, one sample: vint common  u8 words  words
//!   vint      0-252 as a byte; 253 and u16; 254 and i32; 255 and i64 of which 63 bits count
//!   stack     outermost first: how many frames are those of the allocation before, then code words:
//!             see `backtrace`
//! ```
//! An object's number is the packet's first one plus how many were allocated in the packet before it.
//! Packets of another pid than the trace info's are a forked child's and not read.
//!
//! A domain's caches, names and last stack go on from packet to packet; only location codes and object
//! numbers belong to the whole file. So when packets of a domain are lost, its later stacks are unknown until the
//! file defines them again; memtrace itself stops there.
//!
//! *You bring* a [`crate::Source`], or a `Write` that takes packets whole. *It guarantees* the bytes that
//! memtrace's own writer makes of the same events, and reads what memtrace reads. *It refuses* a later
//! version, and a file without its first packet.
//!
//! *Lost on the way into this format*: the innermost frames of stacks whose code words need over 4 KiB;
//! texts behind a zero byte; lines over 1048575, columns over 255 and 1023; times finer than 1 us.

mod backtrace;
mod copy;
mod decode;
mod domain;
mod error;
mod event;
mod fields;
mod header;
mod info;
mod layout;
mod location_event;
mod locations;
mod names;
mod packets;
mod read;
pub mod script;
mod time;
mod write;

pub use copy::{Changes, CopyError, copy, copy_all};
pub use error::{Fault, MemtraceError, SkipReason, Skipped};
pub use event::{Alloc, Event, Heap, Info, Moment, ObjectId};
pub use header::{Header, Verifier, is_begin};
pub use layout::{
    FRAMES_MAX, HEADER_BYTES, IDS_PER_CHUNK, MAGIC, OLD_HEADER_BYTES, PACKET_BYTES_MAX, VERSION,
};
pub use locations::{Location, LocationCode, Locations};
pub use names::NameId;
pub use read::{ReadOptions, Reader};
pub use write::{Order, WriteOptions, Writer};

#[cfg(test)]
mod tests;
