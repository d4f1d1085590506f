//! Trace formats: bytes to events and back, a folder for each format.
//!
//! | format | reads | writes | what it is |
//! |---|---|---|---|
//! | [`native`] | yes | yes | heapscribe's own: every call of the heap, in compressed columns |
//! | [`memtrace`] | yes | yes | OCaml's statistical memory profiler |
//! | [`gotrace`] | yes | yes | Go's execution tracer |
//! | [`heaplog`] | yes | yes | heaphook's logs of heap calls, as text |
//! | [`pprof`] | yes | | pprof's profiles: sums by stack, see [`profile`] |
//! | [`heaptext`] | yes | | heap profiles of gperftools and jemalloc, as text |
//! | [`valgrind`] | yes | | files of massif and DHAT |
//!
//! The page of each format is its specification, and lists what is lost on the way into it. [`detect`] recognizes all
//! of them by their first bytes. [`model`] is what a native trace holds, as plain data.
//!
//! *You bring* the bytes: a [`Source`] to read from, a `Vec<u8>` or a [`std::io::Write`] to write to; nothing here opens
//! a file or prints. *It guarantees* that no bytes, however damaged or hostile, make it panic, loop, or allocate more
//! than a small multiple of the file; whatever was skipped is reported with its offset, such as a [`Problem`]. *It
//! refuses* formats of a later major version.
//!
//! # A native trace
//!
//! ```
//! use heapscribe_formats::{ChunkInfo, ProcessInfo, Scratch, SessionInfo, Trace, Writer};
//! use heapscribe_wire::ids::StackId;
//! use heapscribe_wire::limits::EVENT_BYTES_MAX;
//! use heapscribe_wire::record::{Call, Event};
//!
//! // An event as a recorded thread logs it: 24 bytes were allocated 5 ticks after the event before.
//! let event = Event::Alloc { call: Call::Malloc, size_bytes: 24, stack: StackId(1), align_log2: 0 };
//! let mut log = [0; EVENT_BYTES_MAX];
//! let len = event.encode(5, &mut log);
//!
//! let (mut writer, mut file) = (Writer::new(), Vec::new());
//! writer.start(&SessionInfo::default(), &mut file);
//! let process = writer.process(&ProcessInfo::default(), &mut file);
//! let chunk = ChunkInfo { thread: 1, begin_ticks: 100, ..ChunkInfo::default() };
//! writer.events(process, &chunk, &log[..len], &mut file);
//! writer.finish(&mut file);
//!
//! let trace = Trace::open(file)?;
//! assert!(trace.is_complete());
//! assert_eq!(trace.chunks()[0].sums.alloc_bytes, 24); // from the index: no event was decoded
//! let (mut scratch, mut events) = (Scratch::default(), Vec::new());
//! for entry in trace.chunks() {
//!     trace.load_chunk(entry, &mut scratch)?.for_each(|ticks, event| events.push((ticks, *event)))?;
//! }
//! assert_eq!(events, [(105, event)]);
//! # Ok::<(), heapscribe_formats::TraceError>(())
//! ```
//!
//! # A memtrace file
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use heapscribe_formats::memtrace::{
//!     Alloc, Event, Heap, Info, Location, LocationCode, Locations, ObjectId, ReadOptions, Reader, WriteOptions, Writer,
//! };
//!
//! let info = Info {
//!     sample_rate: 1e-4,
//!     word_bits: 64,
//!     executable: b"main.exe".to_vec(),
//!     host: b"localhost".to_vec(),
//!     runtime_params: Vec::new(),
//!     pid: 42,
//!     context: Vec::new(),
//!     start_us: 1_700_000_000_000_000,
//!     domain: 0,
//! };
//! let (mut locations, code) = (Locations::default(), LocationCode(0x1234));
//! let (file, function) = (locations.name(b"main.ml"), locations.name(b"Main.parse"));
//! locations.set(code, &[Location::clamped(file, function, 7, 2, 20)]);
//!
//! let mut writer = Writer::create(Vec::new(), &info, WriteOptions::default())?;
//! let alloc = Alloc {
//!     id: ObjectId(0), // the writer numbers objects itself
//!     length_words: 3,
//!     samples: 1,
//!     heap: Heap::Minor,
//!     common: 0,
//!     reused_frames: 0,
//!     stack: &[code],
//! };
//! let id = writer.alloc(0, info.start_us + 10, &alloc, &locations)?;
//! writer.collect(0, info.start_us + 99, id, &locations)?;
//! let bytes = writer.finish(&locations)?;
//!
//! let mut lines = Vec::new();
//! let mut reader = Reader::open(bytes, ReadOptions::default())?;
//! reader.for_each(|moment, event| {
//!     lines.push(match event {
//!         Event::Alloc(alloc) => {
//!             let frame = moment.locations.get(alloc.stack[0]).unwrap_or_default()[0];
//!             let function = String::from_utf8_lossy(moment.locations.text(frame.function));
//!             format!("{} us: {} words by {function}, line {}", moment.time_us, alloc.length_words, frame.line)
//!         }
//!         Event::Promote(id) => format!("{} us: object {} promoted", moment.time_us, id.0),
//!         Event::Collect(id) => format!("{} us: object {} collected", moment.time_us, id.0),
//!     });
//!     ControlFlow::<()>::Continue(())
//! })?;
//! assert_eq!(lines, ["10 us: 3 words by Main.parse, line 7", "99 us: object 0 collected"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod clock;
pub mod detect;
pub mod error;
pub mod gotrace;
pub mod heaplog;
pub mod heaptext;
pub mod heaptrack;
pub mod jit;
pub mod memtrace;
pub mod model;
pub mod native;
pub mod pprof;
pub mod profile;
pub mod source;
pub mod valgrind;

pub use clock::Clock;
pub use error::{Problem, TraceError};
pub use heapscribe_wire::rule_violation::{RuleViolation, Why};
pub use model::{
    Access, AddressSymbols, ChunkEntry, ChunkInfo, ChunkSums, Drainer, EndedImages, Evicted, ExitStatus,
    FreeKind, FreeRange, HeapInfo, HeapLayout, HeapSample, HowEnded, ListsRead, LiveBlock, LiveRole,
    LiveTable, Mapping, MemoryMap, MemorySample, ModeChange, ModuleSymbols, OwnPeak, POOL_END_BYTES,
    POOL_FRONT_BYTES, PageRun, Process, ProcessEnd, ProcessIndex, ProcessInfo, RESIDENT_PARTS, RealTimeRules,
    ResidentSample, SectionLeft, SessionEnd, SessionInfo, Stage, SymbolFrame, SymbolSource, Unrecorded,
    UnrecordedProgram, UnrecordedReason, huge_page_bytes,
};
pub use native::read::{Chunk, Scratch, Trace};
pub use native::write::{DefinitionsTaken, Writer};
pub use source::Source;
