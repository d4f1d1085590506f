//! The heaps' own benchmarks: what a call takes, what memory is needed, and whether a pool lasts.
//!
//! ```text
//!   compare  `heaps`: heaps beside each other    work   one run of it, a process of its own
//!   soak     `heap-soak`: the pool heap for very many operations
//! ```

pub(crate) mod compare;
pub(crate) mod soak;
pub(crate) mod work;
