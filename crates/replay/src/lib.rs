//! The calls that a program made of its heap, made again on other heaps: what memory each takes, how long its
//! calls last, and how small a pool may be that still serves them all.
//!
//! *You bring* what happened in the order of time ([`Compiler`]): blocks that came, went and changed their
//! size, under whatever names. *It guarantees* that the program made of it ([`Op`], 16 bytes an operation) names
//! blocks by slots that are used again, so that memory grows with blocks that are live at a time and with nothing
//! else; that a heap under [`run()`] is asked for what was recorded and nothing besides, because nothing is
//! allocated here meanwhile; that every block of it is freed in the end. *It refuses* to be more than one
//! thread: what threads did beside each other becomes one order, and how a heap does under contention is not
//! seen.
//!
//! ```text
//!   compile  blocks -> operations          run       operations -> a heap, calls timed or memory watched
//!   op       an operation in 16 bytes      pool      operations -> one pool of a size, without contents
//!   program  operations from a file        smallest  the smallest of these that suffices
//! ```

pub mod clock;
mod compile;
pub mod found;
pub mod heaps;
mod histogram;
mod op;
mod pool;
mod program;
mod resident;
pub mod run;
pub mod smallest;
mod watch;

pub use compile::{Birth, Compiled, Compiler, Wish};
pub use found::{Footprint, Latency, Moment, Timed};
pub use heapscribe_alloc::{Heap, Stats};
pub use histogram::Histogram;
pub use op::{OP_BYTES, Op};
pub use pool::{Bed, PoolRun, Tightest, Vary, floor_bytes};
pub use program::{Ops, Program};
pub use run::{Outcome, Touch, run};
pub use watch::{Kind, Nothing, Timing, Watch, Watching};
