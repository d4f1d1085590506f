//! What is known of the program as a whole and outlives a fork: its heap and its loader. Found once, by whichever
//! hook is first; read without a lock ever after.

mod heap;
mod loader;
mod plain;

pub use heap::{Heap, find_libc_heap, heap, libc_function, libc_heap};
pub(crate) use heap::{granule_shift, is_passed_over, is_sanitizers, set_own_heap};
pub use loader::loader;
