//! The .xz format by liblzma, which allocates when a stream begins and again when one ends (for the index). It gets
//! an allocator that keeps freed blocks for reuse: after two whole streams have been written as a rehearsal, every
//! later stream finds all its memory there.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::ptr::null_mut;

use liblzma_sys::{
    LZMA_CHECK_CRC64, LZMA_FINISH, LZMA_OK, LZMA_RUN, LZMA_STREAM_END, LZMA_SYNC_FLUSH, lzma_allocator,
    lzma_code, lzma_easy_encoder, lzma_end, lzma_stream,
};

use super::encoder::{EncodeError, Encoder};
use super::stream::{Codec, Step, Stream, Until};
use crate::pack::Record;

/// liblzma holds some twenty pieces of memory at a time.
const BLOCKS: usize = 64;
const ALIGNMENT: usize = 16;

/// The encoder of `.xz` files.
#[derive(Debug)]
pub struct Xz {
    stream: Stream<Lzma>,
}

impl Xz {
    /// An encoder of this preset, 0 (fast) to 9 (small), as `xz` has them. Preset 6 takes 94 MiB of memory,
    /// 9 takes 674 MiB, 0 takes 3 MiB.
    pub fn new(preset: u32) -> Result<Self, EncodeError> {
        let mut stream = Stream::new(Lzma::new(preset)?);
        stream.rehearse()?;
        Ok(Self { stream })
    }
}

/// A block of memory, allocated to liblzma or free.
#[derive(Debug)]
struct Block {
    start: *mut u8,
    layout: Layout,
    is_used: bool,
}

/// All blocks that were ever allocated, for reuse.
#[derive(Debug)]
struct Memory {
    blocks: Vec<Block>,
}

impl Memory {
    fn allocate(&mut self, bytes: usize) -> *mut u8 {
        let fits = |block: &&mut Block| !block.is_used && block.layout.size() >= bytes;
        if let Some(block) = self.blocks.iter_mut().filter(fits).min_by_key(|block| block.layout.size()) {
            block.is_used = true;
            return block.start;
        }
        let Ok(layout) = Layout::from_size_align(bytes.max(1), ALIGNMENT) else { return null_mut() };
        // SAFETY: the layout has at least one byte.
        let start = unsafe { alloc(layout) };
        if !start.is_null() {
            self.blocks.push(Block { start, layout, is_used: true });
        }
        start
    }

    fn free(&mut self, start: *mut u8) {
        if let Some(block) = self.blocks.iter_mut().find(|block| block.start == start) {
            block.is_used = false;
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        for block in &self.blocks {
            // SAFETY: `allocate` got it with this layout, and nothing else deallocates it.
            unsafe { dealloc(block.start, block.layout) };
        }
    }
}

/// The allocation function of liblzma's allocator.
///
/// # Safety
///
/// - `memory` is the `Memory` of [`Lzma::new`], which is not freed yet.
/// - Nobody else uses it during the call.
unsafe extern "C" fn allocate(memory: *mut c_void, count: usize, bytes: usize) -> *mut c_void {
    let Some(bytes) = count.checked_mul(bytes) else { return null_mut() };
    debug_assert!(!memory.is_null());
    // SAFETY: by the first bullet it is valid, by the second the reference is exclusive.
    unsafe { &mut *memory.cast::<Memory>() }.allocate(bytes).cast()
}

/// The function of liblzma's allocator that frees.
///
/// # Safety
///
/// - `memory` is the `Memory` of [`Lzma::new`], which is not freed yet.
/// - Nobody else uses it during the call.
unsafe extern "C" fn free(memory: *mut c_void, start: *mut c_void) {
    debug_assert!(!memory.is_null());
    // SAFETY: by the first bullet it is valid, by the second the reference is exclusive.
    unsafe { &mut *memory.cast::<Memory>() }.free(start.cast());
}

/// A liblzma encoder with its memory. The parts are boxed because liblzma keeps pointers to them, and raw
/// because it writes through these.
struct Lzma {
    stream: *mut lzma_stream,
    allocator: *mut lzma_allocator,
    memory: *mut Memory,
    preset: u32,
}

// SAFETY: liblzma's state is not bound to a thread, and the `Lzma` is the only owner of it.
unsafe impl Send for Lzma {}

impl std::fmt::Debug for Lzma {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lzma").field("preset", &self.preset).finish_non_exhaustive()
    }
}

impl Lzma {
    fn new(preset: u32) -> Result<Self, EncodeError> {
        let memory = Box::into_raw(Box::new(Memory { blocks: Vec::with_capacity(BLOCKS) }));
        // liblzma calls the two functions with `memory`, and only within its own functions: `Lzma` has the stream
        // alone, so never two at a time, and frees the memory after the stream.
        let allocator = lzma_allocator { alloc: Some(allocate), free: Some(free), opaque: memory.cast() };
        let allocator = Box::into_raw(Box::new(allocator));
        // SAFETY: it is a C struct of numbers and nullable pointers; all zeros is liblzma's LZMA_STREAM_INIT.
        let mut stream: lzma_stream = unsafe { std::mem::zeroed() };
        stream.allocator = allocator;
        let mut lzma = Self { stream: Box::into_raw(Box::new(stream)), allocator, memory, preset };
        lzma.restart()?;
        Ok(lzma)
    }
}

impl Drop for Lzma {
    fn drop(&mut self) {
        // SAFETY: the stream and the three boxes were made by `new` and are not used after this. The stream is freed
        // before the allocator that it uses, the allocator before its memory.
        unsafe {
            lzma_end(self.stream);
            drop(Box::from_raw(self.stream));
            drop(Box::from_raw(self.allocator));
            drop(Box::from_raw(self.memory));
        }
    }
}

impl Codec for Lzma {
    fn step(&mut self, input: &[u8], output: &mut [u8], until: Until) -> Result<Step, EncodeError> {
        let action = match until {
            Until::Consumed => LZMA_RUN,
            Until::Flushed => LZMA_SYNC_FLUSH,
            Until::Ended => LZMA_FINISH,
        };
        // SAFETY: the stream is ours alone, and was initialized by `restart`. Input and output are borrowed for
        // the call, and their pointers are not used after it: the next call sets them anew.
        let (code, stream) = unsafe {
            let stream = &mut *self.stream;
            (stream.next_in, stream.avail_in) = (input.as_ptr(), input.len());
            (stream.next_out, stream.avail_out) = (output.as_mut_ptr(), output.len());
            (lzma_code(self.stream, action), &*self.stream)
        };
        if code != LZMA_OK && code != LZMA_STREAM_END {
            return Err(EncodeError { codec: "xz", code: code.into() });
        }
        Ok(Step {
            taken: input.len() - stream.avail_in,
            given: output.len() - stream.avail_out,
            is_done: code == LZMA_STREAM_END,
        })
    }

    fn restart(&mut self) -> Result<(), EncodeError> {
        // SAFETY: the stream is ours alone, and zeroed or initialized before: liblzma takes both.
        let code = unsafe { lzma_easy_encoder(self.stream, self.preset, LZMA_CHECK_CRC64) };
        if code == LZMA_OK { Ok(()) } else { Err(EncodeError { codec: "xz", code: code.into() }) }
    }
}

impl Encoder for Xz {
    fn has_space(&self, bytes: usize) -> bool {
        self.stream.has_space(bytes)
    }

    fn encode(&mut self, record: &mut dyn Record, start: usize) -> Result<usize, EncodeError> {
        self.stream.encode(record, start)
    }

    fn queue(&self) -> &[u8] {
        self.stream.output.filled()
    }

    fn clear(&mut self) {
        self.stream.output.clear();
    }

    fn held_bytes(&self) -> usize {
        self.stream.held_bytes
    }

    fn flush(&mut self) -> Result<bool, EncodeError> {
        self.stream.flush()
    }

    fn finish(&mut self) -> Result<bool, EncodeError> {
        self.stream.finish()
    }

    fn restart(&mut self) -> Result<(), EncodeError> {
        self.stream.restart()
    }

    fn total_bytes(&self) -> u64 {
        self.stream.output.total
    }

    fn extension(&self) -> &'static str {
        ".xz"
    }
}
