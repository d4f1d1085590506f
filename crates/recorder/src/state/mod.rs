//! What a recorded process and its threads have: put together here from the parts, without any behaviour of
//! its own, so that all that acts on both finds them without knowing each other.

mod backoff;
mod cached_stacks;
mod counts;
mod current;
pub mod hook_flags;
mod named_modules;
mod other_stacks;
mod sampling;
mod sections;
mod session;
mod thread;
mod threads;
pub(crate) mod words;

pub(crate) use cached_stacks::{CachedStacks, Index};
pub use counts::Counts;
pub(crate) use current::{
    Claim, claim, current, finish, forget_in_child, give_up, go_on, inherited, is_being_made,
    is_off_for_good, is_refused, stop, stopped,
};
pub(crate) use other_stacks::OtherStacks;
pub(crate) use session::Session;
pub(crate) use thread::{Lost, Thread};
pub(crate) use threads::{Threads, count_cut_stack};
