//! Every call of the heap at the places that someone asks about: inside sections of a name, after a mark, at
//! a time, by threads of a name. That is what a program with real-time parts must not do there.
//!
//! *You bring* a [`History`](crate::input::History) and [`Question`]s. *It guarantees* that each call is counted once for each
//! question that it belongs to, whichever chunk it lies in, in memory that grows with stacks. *It refuses* to
//! know more of a free than the recording does: a free has no stack of its own, so it is counted for the
//! stack that asked for the block.
//!
//! A call that a process was stopped at, because the recording had a rule against it, is one of these, and is
//! counted once, whether its event is there or found no room; of a free, too, it is counted for who called.
//!
//! A mark is a moment of its process: calls of all threads count that come after the first mark of the name.
//! How well that is known between threads is a property of the trace, see [`crate::intervals`].

mod find;
mod pass;
mod question;

pub use self::find::calls;
pub use self::question::{CallsByProcess, MatchingCalls, Place, Question};
pub use crate::answer::{CallCounts, StackCalls};
