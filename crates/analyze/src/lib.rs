//! From events to answers: who allocated, how much, for how long, what was held at the peak and what was
//! never freed.
//!
//! A free event says what it frees - stack, size, age, thread of birth - so nothing here matches
//! addresses or keeps a table of live blocks: each chunk of events is summed alone, on any core, and
//! only sums meet. The peak is exact all the same, and the events are never sorted as a whole. A chunk is
//! read once, and once more only if the peak, a mark, or a step of time that may hold the peak lies in it.
//!
//! Where blocks were sampled each stands for several, and every figure is an estimate; [`estimate`] says
//! how sure the main ones are.
//!
//! *You bring* a [`History`]: a [`Recording`] over a trace, or anything that yields chunks of events.
//! *It guarantees* memory in proportion to stacks, threads and steps of time, not to events; the same
//! answer on any number of cores; and figures that clock skew between threads cannot corrupt. *It
//! refuses* to name functions, to open files and to print.
//!
//! # Peak and leaks of a trace
//!
//! ```
//! use heapscribe_analyze::{Options, Recording, analyze};
//! use heapscribe_formats::{ChunkInfo, ProcessInfo, SessionInfo, Trace, Writer};
//! use heapscribe_wire::ids::StackId;
//! use heapscribe_wire::limits::EVENT_BYTES_MAX;
//! use heapscribe_wire::record::{Block, Call, Event};
//!
//! // A thread allocates 24 and 100 bytes, and frees the 24 again. Each event is 10 ticks after the last.
//! let malloc = |size_bytes| Event::Alloc { call: Call::Malloc, size_bytes, stack: StackId(1), align_log2: 0 };
//! let block = Block { size_bytes: 24, stack: StackId(1), age_ticks: 20, birth_thread: None };
//! let mut log = Vec::new();
//! for event in [malloc(24), malloc(100), Event::Free { call: Call::Free, block }] {
//!     let mut at = [0; EVENT_BYTES_MAX];
//!     let len = event.encode(10, &mut at);
//!     log.extend_from_slice(&at[..len]);
//! }
//!
//! let (mut writer, mut file) = (Writer::new(), Vec::new());
//! writer.start(&SessionInfo::default(), &mut file);
//! let process = writer.process(&ProcessInfo::default(), &mut file);
//! let chunk = ChunkInfo { thread: 1, begin_ticks: 100, ..ChunkInfo::default() };
//! writer.events(process, &chunk, &log, &mut file);
//! writer.finish(&mut file);
//!
//! let trace = Trace::open(file)?;
//! let answer = analyze(&Recording::new(&trace), &Options::default());
//! println!("peak: {} bytes, leaked: {} bytes", answer.peak.bytes, answer.leaked.bytes);
//! assert_eq!((answer.peak.bytes, answer.peak.blocks), (124, 2));
//! assert_eq!((answer.leaked.bytes, answer.leaked.blocks), (100, 1));
//! # Ok::<(), heapscribe_formats::TraceError>(())
//! ```
//!
//! # Where to look
//!
//! | module | answers |
//! |---|---|
//! | [`answer`] | what [`analyze`] gives: totals, peak, leaks, stacks, processes, the heap over time |
//! | [`snapshot`] | what is live, of a table of blocks without events |
//! | [`memory`] | of what the resident memory is made, and who keeps pages that are nearly empty |
//! | [`calls`] | every call in sections, after marks, at a time, by threads of a name |
//! | [`busiest`], [`intervals`] | the second with most allocations; the heap between moments of another log |
//! | [`findings`] | what is worth changing: who grows, what was left, what made the peak |
//! | [`losses`] | between what the figures lie that losses have touched |
//! | [`diff`] | which stacks grew from one answer to another |
//! | [`go`] | traces of Go's execution tracer |
#![forbid(unsafe_code)]

mod analyze;
mod annotations;
pub mod answer;
mod assemble;
pub mod calls;
mod counters;
pub mod diff;
pub mod events;
pub mod findings;
pub mod go;
pub mod input;
mod latency;
pub mod losses;
mod mappings;
pub mod memory;
mod options;
mod passes;
mod peak;
mod sampling;
pub mod snapshot;
mod stacks;
mod sums;
mod timeline;

pub use analyze::analyze;
pub use annotations::moments;
pub use answer::{Answer, estimate, heap_bytes, measure};
pub use assemble::add_samples;
pub use input::{History, Recording, selection};
pub use options::Options;
pub use passes::{
    ChunkDamage, Extent, HeapCuts, HeapOverTime, Highest, LostInChunks, chunk_damage, extent, heap_within,
    highest, lost_in_chunks, over_time,
};
pub use stacks::{gathered, placed};
pub use timeline::{Cutter, ProcessStep, Segment, busiest, intervals};
