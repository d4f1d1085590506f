//! Traces of Go's execution tracer: what `runtime/trace` and `go test -trace` write.
//!
//! A trace has the schedule of goroutines, and of the heap: the live bytes, the goal of the next collection,
//! collections, stops of the world, sweeps, and mark assists. Single objects, with their address, type and end,
//! are recorded only by the experiment of Go 1.23 (`GODEBUG=traceallocfree=1`). This page is the overview; the first
//! lines of `one.rs` and `two.rs` specify the bytes.
//!
//! ```text
//!   file     "go 1.NN trace", zeros up to 16 bytes, then
//!   one      Go 1.11 to 1.21 (1.11 to 1.18 write 1.11, 1.20 writes 1.19): records, in buffers of the Ps;
//!            the clock, the stacks and many names are last, so a program that is killed leaves none
//!   two      Go 1.22, 1.23: batches of threads, in generations of about a second, each with its own clock,
//!            stacks and names, so that of a killed program all but the last generation can be read
//!   number   7 bits a byte, low end first, up to 10 bytes, and often padded to 10
//! ```
//! A file is read twice: first for names, stacks, clock and where each lane's batches lie (a lane is a P or
//! a thread), then for the events, which the lanes are merged for.
//!
//! *You bring* a [`crate::Source`], or a `Write`. *It guarantees* the events up to the first damage with
//! the times that Go's own tool computes for them, and the offset of the damage. *It refuses* versions
//! that it does not know; later ones have other batches. *It does not* check what goroutines do.
//!
//! What is written is layout one, by Go 1.19: see [`Writer`].
//!
//! *Lost on the way in*: samples of the processor in layout two, which are only counted.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use heapscribe_formats::gotrace::{Attached, Meaning, Trace, Writer, kinds};
//!
//! let mut writer = Writer::create(Vec::new())?;
//! writer.event(0, 100, kinds::HEAP_LIVE, &[8192], Attached::default())?;
//! let trace = Trace::open(writer.finish(1_000_000_000)?)?; // ticks of 1 ns
//!
//! trace.for_each(|event| {
//!     assert_eq!(event.meaning(), Meaning::HeapLive(8192));
//!     ControlFlow::<()>::Continue(())
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod event;
mod fields;
mod header;
mod index;
mod layout_go1_11;
mod layout_go1_22;
mod limits;
mod merge;
mod names;
mod read;
mod scan;
mod spec;
mod version;
mod window;
mod write;

pub use error::{Fault, GoTraceError, Malformed};
pub use event::{Event, Meaning, Object, Span};
pub use header::is_begin;
pub use index::Generation;
pub use limits::{BATCH_BYTES_MAX, FRAMES_MAX, STRING_BYTES_MAX, WRITTEN_TEXT_BYTES_MAX};
pub use names::{Frame, HeapLayout, NamedFrame, Type};
pub use read::Trace;
pub use spec::{Spec, kinds};
pub use version::{HEADER_BYTES, Layout, MAGIC, Version};
pub use write::{Attached, FrameOf, TextId, Writer};

#[cfg(test)]
mod tests;
