//! The statistics that libc has functions for, of this heap: programs that log them would see zeros otherwise.

use heapscribe_alloc::stats::Stats;

use crate::line::Line;

macro_rules! mall_info {
    ($(#[$meta:meta])* $name:ident, $field:ty, $from:ident) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
        #[allow(missing_docs, reason = "each is the field of that name in mallinfo(3)")]
        pub struct $name {
            pub arena: $field,
            pub ordblks: $field,
            pub smblks: $field,
            pub hblks: $field,
            pub hblkhd: $field,
            pub usmblks: $field,
            pub fsmblks: $field,
            pub uordblks: $field,
            pub fordblks: $field,
            pub keepcost: $field,
        }

        /// The counts of a heap in that form.
        pub fn $from(stats: &Stats) -> $name {
            let number = |value: u64| <$field>::try_from(value).unwrap_or(<$field>::MAX);
            $name {
                arena: number(stats.pool_bytes),
                ordblks: number(stats.free_blocks),
                uordblks: number(stats.used_bytes),
                fordblks: number(stats.free_bytes),
                ..$name::default()
            }
        }
    };
}

mall_info! {
    /// `struct mallinfo`: numbers too large for it are the largest that it holds.
    MallInfo, i32, info
}
mall_info! {
    /// `struct mallinfo2` of glibc 2.33.
    MallInfo2, usize, info2
}

/// Prints what `malloc_stats` does.
pub fn print_stats(stats: &Stats) {
    let line = Line::new().number(stats.used_bytes).text(b" bytes in ").number(stats.blocks);
    let line = line.text(b" blocks, at most ").number(stats.peak_bytes).text(b"; ").number(stats.free_bytes);
    let line = line.text(b" free, the largest piece ").number(stats.largest_free_bytes);
    line.text(b"; ").number(stats.pool_bytes).text(b" bytes in ").number(stats.pools).text(b" pools").print();
}
