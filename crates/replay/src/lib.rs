//! Recorded calls of a program's heap, made again on other heaps: how much memory each takes, how long its calls last,
//! and how small a pool may be that still serves them all.
//!
//! *You bring* allocations, frees and reallocations in the order of time ([`Compiler`]), their blocks under any
//! names. *It guarantees* that the program made of them ([`Op`], 16 bytes an operation) names blocks by slots that
//! are reused, so that memory grows with blocks that are live at a time and with nothing else; that a heap under
//! [`run()`] gets the recorded calls and nothing besides, because nothing is allocated here meanwhile; that every
//! block is freed in the end. *It refuses* to run two calls at a time: concurrent calls become one order, which one thread
//! makes, or as many as made them ([`run_in_threads`]), and contention is not measured.
//!
//! ```
//! use std::fs::File;
//! use std::io::Write;
//!
//! use heapscribe_replay::heaps::behind_malloc;
//! use heapscribe_replay::{AllocRequest, Birth, Compiler, LatencyObserver, Program, Touch, run};
//!
//! // What was recorded: two blocks, of which one is freed.
//! let (a, b) = (Birth { thread: 1, ticks: 10 }, Birth { thread: 1, ticks: 20 });
//! let mut compiler = Compiler::new(Vec::new(), 1_000_000);
//! compiler.allocated(1_000, a, AllocRequest::bytes(100))?;
//! compiler.allocated(2_000, b, AllocRequest::bytes(5_000))?;
//! compiler.freed(3_000, a)?;
//! let (compiled, operations) = compiler.finish()?;
//! assert_eq!((compiled.peak_bytes, compiled.left_bytes), (5_100, 5_000));
//!
//! // The same calls of the heap behind `malloc`, timed.
//! let path = std::env::temp_dir().join(format!("replay-example.{}", std::process::id()));
//! let mut file = File::create_new(&path)?;
//! file.write_all(&operations)?;
//! let file = File::open(&path)?;
//! std::fs::remove_file(&path)?;
//! let program = Program::new(&file, compiled.slots);
//! let mut observer = LatencyObserver::new()?;
//! let outcome = run(&behind_malloc(), &program, Touch::Pages, &mut observer)?;
//! assert_eq!((outcome.calls, outcome.failures), (3, 0));
//! for (function, timed) in observer.finish().kinds {
//!     println!("{function}: {} calls, at most {} ns", timed.calls, timed.max_ns);
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! ```text
//!   compile  events -> operations          run       operations -> a heap, its calls timed or its memory measured
//!   op       an operation in 16 bytes      pool_run  operations -> one pool of a size, without contents
//!   program  operations from a file        smallest  the smallest of these that suffices
//!   threads  the same in as many threads as made them
//! ```

pub mod clock;
mod compile;
pub mod heaps;
mod histogram;
mod observer;
mod op;
mod pool_run;
mod program;
mod resident;
pub mod results;
pub mod run;
pub mod smallest;
mod threads;

pub use compile::{AllocRequest, Birth, Compiled, Compiler};
pub use heapscribe_alloc::{Heap, Stats};
pub use histogram::Histogram;
pub use observer::{FootprintObserver, Kind, LatencyObserver, Observer, Unobserved};
pub use op::{OP_BYTES, Op};
pub use pool_run::{PoolMemory, PoolRun, Tightest, Variation, floor_bytes};
pub use program::{Ops, Program};
pub use results::{Footprint, Latency, Moment, Timed};
pub use run::{Outcome, Touch, run};
pub use threads::{Point, run_in_threads};
