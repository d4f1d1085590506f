//! From the registers at a hook's entry to the number of the stack.
//!
//! ```text
//!   on the thread's own stack    walk incrementally, number of the leaf's path      almost always
//!   on another one               the same, after a look that it is there            fibers
//!   on one after another         the same for each of them                          split stacks
//!   with an interpreter          the number of that and of its frames together          Python, PHP, V8
//!   unusual, or a dlclose runs   walk from the beginning, cache nothing
//! ```

mod bounds;
mod capture;
mod chain;
mod composed;
mod define;
mod fast;
mod interpreted;
mod native;
mod php;
mod python;
mod slow;
mod stack_id;
mod stacks_met;
mod v8;
mod verify;
mod without_lock;

pub(crate) use bounds::learn;
pub(crate) use stack_id::stack_id;
