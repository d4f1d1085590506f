//! Questions about ranges of a trace: its index in a file of its own, and answers by stack, thread, process and size.
//!
//! ```no_run
//! # fn main() -> anyhow::Result<()> {
//! use heapscribe_convert::ranges::{IndexOptions, Ranges};
//! use heapscribe_convert::{Input, Salvage};
//! use heapscribe_index::{Question, Span};
//!
//! let path = std::path::Path::new("run.hst");
//! let trace = Input::open(path)?.into_trace(Salvage::default())?;
//! let recording = trace.recording();
//! let ranges = Ranges::open(&recording, path, &IndexOptions::default(), &mut |done, of| println!("{done} of {of}"))?;
//! let second = Span { from_ns: ranges.extent().begin_ns, to_ns: ranges.extent().begin_ns + 1_000_000_000 };
//! let allocated = ranges.ask(&Question::allocated(second));
//! println!("{} bytes", allocated.total().bytes);
//! # Ok(())
//! # }
//! ```

mod asked;
mod index_file;
mod lifetimes;
mod measured;
mod place;
mod samples;
mod stacks;

pub use asked::{ByKey, Ranges};
pub use index_file::IndexOptions;
pub use measured::ThreadCurves;
pub use samples::{StackSample, StackSamples};
pub use stacks::RangeStacks;
