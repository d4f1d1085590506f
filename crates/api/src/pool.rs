//! Pools: blocks that a program allocates itself, inside blocks of the heap.

use crate::find;

/// Records the blocks of an allocator of the program's own - an arena, a slab, a free list. Its blocks
/// are counted and reported beside the heap's, by the stack that asked for them, not among them: they lie
/// inside blocks that are counted already.
///
/// Addresses are only recorded, never followed, so any are safe. The owner of a block records its free before
/// anybody else can be given the address.
///
/// ```
/// use heapscribe_api::Pool;
///
/// struct Arena { memory: Vec<u8>, used: usize }
///
/// impl Arena {
///     fn alloc(&mut self, size: usize) -> *const u8 {
///         let block = self.memory[self.used..].as_ptr();
///         self.used += size;
///         Pool::alloc(block, size);
///         block
///     }
///
///     fn free(&mut self, block: *const u8) {
///         Pool::free(block);
///     }
/// }
///
/// let mut arena = Arena { memory: vec![0; 4096], used: 0 };
/// let block = arena.alloc(100);
/// arena.free(block);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Pool;

impl Pool {
    /// A block of so many bytes was allocated at `p`, for whoever called the caller. Null is none.
    #[inline(always)]
    pub fn alloc<T>(p: *const T, size_bytes: usize) {
        find::pool_alloc(p.cast(), size_bytes);
    }

    /// The block at `p` is freed. Null is none.
    #[inline(always)]
    pub fn free<T>(p: *const T) {
        find::pool_free(p.cast());
    }

    /// The block at `old` was reallocated: it has so many bytes now, at `p`.
    #[inline(always)]
    pub fn realloc<T>(old: *const T, p: *const T, size_bytes: usize) {
        find::pool_realloc(old.cast(), p.cast(), size_bytes);
    }
}
