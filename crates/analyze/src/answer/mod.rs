//! Answers: all that a view needs. Plain data, no events, no names of functions: a view that wants
//! names looks up `Frame`s in the modules' files itself.
//!
//! Units: `_bytes` are requested bytes, `_ns` are nanoseconds; a moment is counted from the begin of the
//! recording ([`Answer::begin_mono_ns`]). A *block* that `realloc` makes counts as a new block and the
//! one it replaces as freed, so `allocations - frees` is always what is live.

mod amounts;
mod annotations;
mod bounds;
mod calls;
mod coverage;
mod early_times;
pub mod estimate;
mod heap;
mod interpreted;
mod latency;
mod mappings;
pub mod measure;
mod patterns;
mod pools;
mod process;
mod stack;
mod taken;
mod timeline;
mod totals;
mod tree;
mod whole;

pub use self::amounts::{Amount, Holder, LifetimeClass, Peak, SizeClass, WholePeak};
pub use self::annotations::{Mark, Section, SectionsLeft};
pub use self::bounds::{Bounds, FigureBounds, Range, StackBounds};
pub use self::calls::{CallCounts, StackCalls};
pub use self::coverage::Coverage;
pub use self::early_times::EarlyTimes;
pub use self::heap::Heap;
pub use self::interpreted::InterpretedFunction;
pub use self::latency::{BrokenRule, CallKind, CallLatency, WorstCall};
pub use self::mappings::{MappedStack, Mappings};
pub use self::patterns::{Ascent, GROWTH_STEPS, Growth, Patterns, Resident};
pub use self::pools::{PoolBounds, PoolSampling, PoolStack, PoolStackSampling, Pools};
pub use self::process::{Ended, Exit, Process, StackCheck, Thread};
pub use self::stack::{AgeRange, Lifetime, Stack};
pub use self::taken::heap_bytes;
pub(crate) use self::taken::{AllBlocks, overhead_bytes, taken_bytes_max};
pub use self::timeline::{Step, Timeline};
pub use self::totals::{Calls, Dropped, Totals};
pub use self::tree::{CallTree, Frame, Module, Node, NodeId};
pub use self::whole::{Answer, Window};
