//! Any bytes as a table of stacks in Parquet: it is refused, or read to its end with all its stacks in bounds.
#![no_main]

use heapscribe_convert::tables::read_stacks::StoredStacks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(table) = StoredStacks::open(bytes) else { return };
    let (mut stacks, mut lines) = (0usize, 0usize);
    let _ = table.for_each(|_, of| {
        stacks += 1;
        lines += of.len();
    });
    // A row group has at most 65,536 entries, or 256 for each byte of the file; each group takes bytes of the footer.
    assert!(stacks + lines <= (65_536 + 256 * bytes.len()) * 2 * bytes.len());
});
