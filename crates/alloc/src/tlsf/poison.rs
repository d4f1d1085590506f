//! What a free block is filled with in debug builds, so that a write after the free is found when the block is
//! allocated again. Only its first bytes: the time has to stay bounded there too.
#![allow(unsafe_code)]

use super::block::Block;

/// The byte, and how many of it at most.
const POISON: u8 = 0xDF;
const POISON_BYTES: usize = 64;
/// The list's two words before it, the block's own address behind it.
const LINKS: usize = 16;
const BEHIND: usize = 16;

/// Where the poison of a free block of `total` bytes is, by offset.
fn range(total: usize) -> core::ops::Range<usize> {
    let end = total.saturating_sub(BEHIND).min(LINKS + POISON_BYTES);
    LINKS..end.max(LINKS)
}

/// Fills a block that was freed.
///
/// # Safety
/// * Free: it is a block of this heap, and its contents are nobody's.
#[inline(always)]
pub(super) unsafe fn fill(block: Block) {
    if cfg!(debug_assertions) {
        // SAFETY: free: the range is within the block's contents, which are nobody's.
        unsafe {
            let range = range(block.total());
            block.0.as_ptr().add(range.start).write_bytes(POISON, range.len());
        }
    }
}

/// Stops the program when a free block was written to.
///
/// # Safety
/// * Free: as for [`fill`], which was called for the block as it is.
#[inline(always)]
pub(super) unsafe fn check(block: Block) {
    if cfg!(debug_assertions) {
        // SAFETY: free: the range is within the block's contents, and nobody writes there.
        let is_whole = unsafe {
            let range = range(block.total());
            let bytes = core::slice::from_raw_parts(block.0.as_ptr().add(range.start), range.len());
            bytes.iter().all(|&byte| byte == POISON)
        };
        assert!(is_whole, "a block was written to after it was freed");
    }
}
