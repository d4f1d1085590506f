//! Whether a heap keeps what [`Heap`] promises.
//!
//! *You bring* a heap, as an expression that makes a new one for each test, and what is known of it
//! ([`Traits`]). *It guarantees* that each test looks at what the heap really did: at addresses, at contents,
//! at blocks beside each other. *It refuses* to assert how long anything takes.
//!
//! ```ignore
//! heapscribe_conformance::heap_conformance!(my_heap, Box::leak(Box::new(MyHeap::new())), Traits::UNKNOWN);
//! ```
//! makes a module `my_heap` of tests. The heap is never the one that the test program itself uses.

mod fork;
pub mod load;
pub mod program;
mod shadow;
pub mod soak;
pub mod suite;

pub use heapscribe_alloc::Heap;
pub use shadow::ShadowHeap;

/// What is known of a heap.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    /// All that it can ever hand out at the same time, about; `None` when it has no bound worth reaching.
    pub capacity_bytes: Option<usize>,
    /// What is freed can be had again.
    pub reuses: bool,
    /// It says what it owns.
    pub knows_owner: bool,
}

impl Traits {
    /// Of a heap that promises no more than it has to.
    pub const UNKNOWN: Traits = Traits { capacity_bytes: None, reuses: false, knows_owner: false };
}

/// The whole suite for one heap, as a module of tests: its name, the heap (`&'static H`, made anew for each
/// test), its [`Traits`].
#[macro_export]
macro_rules! heap_conformance {
    ($name:ident, $heap:expr, $traits:expr) => {
        $crate::heap_conformance!(@tests $name, $heap, $traits,
            alignments, sizes, impossible_sizes, realloc_keeps_contents, realloc_across_alignments, zeroed,
            usable_size_is_writable, four_threads, blocks_freed_by_other_threads, fork_while_threads_allocate,
            exhaustion_and_recovery, owner, random_programs);
    };
    (@tests $name:ident, $heap:expr, $traits:expr, $($test:ident),*) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            $(
                #[test]
                fn $test() {
                    $crate::suite::$test($heap, $traits);
                }
            )*
        }
    };
}
