//! Zstandard: of our own, AOS has no reader for it. A file begins with a frame that decoders skip and that
//! names the writer, so that it is not taken for a file of AOS.

use zstd::zstd_safe::zstd_sys::ZSTD_EndDirective as Directive;
use zstd::zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer, ResetDirective};

use super::encoder::{EncodeError, Encoder};
use super::stream::{Codec, Step, Stream, Until};
use crate::pack::Record;

/// With what our `.zst` files begin: a skippable frame with a text.
pub const MARK: &[u8; 32] = b"\x50\x2a\x4d\x18\x18\x00\x00\x00heapscribe message log 1";

/// The encoder of `.zst` files.
pub struct Zstd {
    stream: Stream<Context>,
}

impl std::fmt::Debug for Zstd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Zstd").field("output", &self.stream.output).finish_non_exhaustive()
    }
}

impl Zstd {
    /// An encoder of this level, 1 (fast) to 22 (small).
    pub fn new(level: i32) -> Result<Self, EncodeError> {
        let mut context = CCtx::try_create().ok_or(EncodeError { codec: "zstd", code: 0 })?;
        context.set_parameter(CParameter::CompressionLevel(level)).map_err(refused)?;
        context.set_parameter(CParameter::ChecksumFlag(true)).map_err(refused)?;
        let mut stream = Stream::new(Context(context));
        stream.rehearse()?;
        stream.output.push(MARK);
        Ok(Self { stream })
    }
}

fn refused(code: usize) -> EncodeError {
    EncodeError { codec: "zstd", code: code as i64 }
}

struct Context(CCtx<'static>);

impl Codec for Context {
    fn step(&mut self, input: &[u8], output: &mut [u8], until: Until) -> Result<Step, EncodeError> {
        let mut source = InBuffer::around(input);
        let mut destination = OutBuffer::around(output);
        let directive = match until {
            Until::Consumed => Directive::ZSTD_e_continue,
            Until::Flushed => Directive::ZSTD_e_flush,
            Until::Ended => Directive::ZSTD_e_end,
        };
        let left = self.0.compress_stream2(&mut destination, &mut source, directive).map_err(refused)?;
        Ok(Step {
            taken: source.pos(),
            given: destination.pos(),
            is_done: until != Until::Consumed && left == 0,
        })
    }

    fn restart(&mut self) -> Result<(), EncodeError> {
        self.0.reset(ResetDirective::SessionOnly).map(drop).map_err(refused)
    }
}

impl Encoder for Zstd {
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
        self.stream.restart()?;
        self.stream.output.push(MARK);
        Ok(())
    }

    fn total_bytes(&self) -> u64 {
        self.stream.output.total
    }

    fn extension(&self) -> &'static str {
        ".zst"
    }
}
