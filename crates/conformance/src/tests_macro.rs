//! The suite as tests.

/// The whole suite for one heap, as a module of tests: its name, the heap (`&'static H`, made anew for each
/// test), its [`Traits`](crate::Traits).
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
