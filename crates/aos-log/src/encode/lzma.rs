//! The .xz format by liblzma, which asks for memory when a stream begins and again when one ends (for the
//! index). It is given an allocator of ours that keeps what it has given out: after two whole streams have
//! been written for practice, every later stream finds all its memory there.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::ptr::null_mut;

use liblzma_sys::{
    LZMA_CHECK_CRC64, LZMA_FINISH, LZMA_OK, LZMA_RUN, LZMA_STREAM_END, lzma_allocator, lzma_code,
    lzma_easy_encoder, lzma_end, lzma_stream,
};

use super::encoder::{EncodeError, Encoder};
use super::stream::{Codec, Step, Stream};
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

/// Memory that was given out once.
#[derive(Debug)]
struct Block {
    start: *mut u8,
    layout: Layout,
    is_used: bool,
}

/// All memory that was given out, used or not.
#[derive(Debug)]
struct Memory {
    blocks: Vec<Block>,
}

impl Memory {
    fn take(&mut self, bytes: usize) -> *mut u8 {
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

    fn give_back(&mut self, start: *mut u8) {
        if let Some(block) = self.blocks.iter_mut().find(|block| block.start == start) {
            block.is_used = false;
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        for block in &self.blocks {
            // SAFETY: `take` got it with this layout, and nothing else gives it back.
            unsafe { dealloc(block.start, block.layout) };
        }
    }
}

unsafe extern "C" fn take(memory: *mut c_void, count: usize, bytes: usize) -> *mut c_void {
    let Some(bytes) = count.checked_mul(bytes) else { return null_mut() };
    // SAFETY: liblzma gives back what `Lzma::new` gave it, a `Memory` that outlives the stream, and calls
    // this from `lzma_code` and its like only, never from two at once.
    unsafe { &mut *memory.cast::<Memory>() }.take(bytes).cast()
}

unsafe extern "C" fn give_back(memory: *mut c_void, start: *mut c_void) {
    // SAFETY: as above.
    unsafe { &mut *memory.cast::<Memory>() }.give_back(start.cast());
}

/// A liblzma encoder with its memory. The parts are boxed because liblzma keeps pointers to them, and raw
/// because it writes through these.
struct Lzma {
    stream: *mut lzma_stream,
    allocator: *mut lzma_allocator,
    memory: *mut Memory,
    preset: u32,
}

// SAFETY: liblzma's state belongs to no thread; whoever has the `Lzma` is the only one to use it.
unsafe impl Send for Lzma {}

impl std::fmt::Debug for Lzma {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lzma").field("preset", &self.preset).finish_non_exhaustive()
    }
}

impl Lzma {
    fn new(preset: u32) -> Result<Self, EncodeError> {
        let memory = Box::into_raw(Box::new(Memory { blocks: Vec::with_capacity(BLOCKS) }));
        let allocator = lzma_allocator { alloc: Some(take), free: Some(give_back), opaque: memory.cast() };
        let allocator = Box::into_raw(Box::new(allocator));
        // SAFETY: all zeros is how liblzma says a stream is to be initialized.
        let mut stream: lzma_stream = unsafe { std::mem::zeroed() };
        stream.allocator = allocator;
        let mut lzma = Self { stream: Box::into_raw(Box::new(stream)), allocator, memory, preset };
        lzma.restart()?;
        Ok(lzma)
    }
}

impl Drop for Lzma {
    fn drop(&mut self) {
        // SAFETY: the stream was made by `new`; the three boxes too, and this is the end of them. The stream
        // goes before the allocator it uses, the allocator before the memory it names.
        unsafe {
            lzma_end(self.stream);
            drop(Box::from_raw(self.stream));
            drop(Box::from_raw(self.allocator));
            drop(Box::from_raw(self.memory));
        }
    }
}

impl Codec for Lzma {
    fn step(&mut self, input: &[u8], output: &mut [u8], is_last: bool) -> Result<Step, EncodeError> {
        // SAFETY: the stream is ours alone, and was initialized by `restart`. Input and output are borrowed for
        // the call, and their pointers are not used after it: the next call sets them anew.
        let (code, stream) = unsafe {
            let stream = &mut *self.stream;
            (stream.next_in, stream.avail_in) = (input.as_ptr(), input.len());
            (stream.next_out, stream.avail_out) = (output.as_mut_ptr(), output.len());
            (lzma_code(self.stream, if is_last { LZMA_FINISH } else { LZMA_RUN }), &*self.stream)
        };
        if code != LZMA_OK && code != LZMA_STREAM_END {
            return Err(EncodeError { codec: "xz", code: code.into() });
        }
        Ok(Step {
            taken: input.len() - stream.avail_in,
            given: output.len() - stream.avail_out,
            is_at_end: code == LZMA_STREAM_END,
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
