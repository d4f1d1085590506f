//! A frame as the interpreter has it in memory, and what is needed to read one. What is read anew of a frame that is known
//! is four words, and no more is looked at where these are the same.

use super::functions::Functions;
use super::layout::{Chain, FrameFields, Layout, OWNED_BY_C, REFERENCE_BITS, Shaped};
use super::read::Read;

/// Of what a walk is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a, R, S> {
    /// How to read.
    pub read: R,
    /// Where a walk finds what it reads.
    pub shape: S,
    /// Where everything is.
    pub layout: &'a Layout,
    /// Where the code of the interpreter's loop begins and ends.
    pub loop_code: (usize, usize),
    /// The state of the thread.
    pub thread_state: usize,
    /// What is known of code objects.
    pub functions: &'a Functions,
}

/// A frame as it is in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct RawFrame {
    /// Where it is.
    pub frame: usize,
    /// The frame further out; 0: it is the outermost.
    pub previous: usize,
    /// Its code object.
    pub code: usize,
    /// The instruction that it is at.
    pub instruction: usize,
    /// What tells its place.
    mark: u8,
}

/// What a frame is to the call of the interpreter's loop that runs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// It was called by the frame further out, in the same call of the loop.
    Inner,
    /// It is the outermost of the call.
    Outermost,
    /// No frame, but what stands for the call.
    Shim,
}

impl RawFrame {
    /// The frame that is further out than this one.
    #[inline(always)]
    pub(super) fn previous<R: Read, S: Shaped>(source: Source<'_, R, S>, frame: usize) -> Option<usize> {
        source.read.word(frame.wrapping_add(source.shape.shape().frame.previous))
    }

    /// A frame that [`RawFrame::previous`] was read of.
    #[inline(always)]
    pub(super) fn read<R: Read>(read: R, fields: FrameFields, frame: usize) -> Option<RawFrame> {
        let field = |offset: usize| read.known_word(frame.wrapping_add(offset));
        Some(RawFrame {
            frame,
            previous: field(fields.previous)?,
            code: field(fields.code)? & !REFERENCE_BITS,
            instruction: field(fields.instruction)? & fields.instruction_bits,
            mark: read.known_byte(frame.wrapping_add(fields.mark))?,
        })
    }

    /// What it is to its call.
    #[inline(always)]
    pub(super) fn place(self, chain: Chain) -> Place {
        match chain {
            Chain::Marked if self.mark == 0 => Place::Inner,
            Chain::Shims if self.mark >= OWNED_BY_C => Place::Shim,
            Chain::Shims => Place::Inner,
            Chain::Marked | Chain::Objects | Chain::Unrecorded => Place::Outermost,
        }
    }

    /// What has changed of it since it was read: where the instruction is an address in the code object, which stays where
    /// it is while the frame is known, the same instruction is of the same code.
    #[inline(always)]
    pub(super) fn change<R: Read, S: Shaped>(self, read: R, shape: S) -> Option<Change> {
        let (fields, chain) = (shape.shape().frame, shape.shape().chain);
        let field = |offset: usize| read.known_word(self.frame.wrapping_add(offset));
        let instruction = field(fields.instruction)? & fields.instruction_bits;
        let mark = read.known_byte(self.frame.wrapping_add(fields.mark))?;
        if field(fields.previous)? != self.previous || mark != self.mark {
            return Some(Change::Other);
        }
        let is_same = instruction == self.instruction;
        if is_same && matches!(chain, Chain::Marked | Chain::Shims) {
            return Some(Change::Nothing);
        }
        Some(match (field(fields.code)? & !REFERENCE_BITS == self.code, is_same) {
            (true, true) => Change::Nothing,
            (true, false) => Change::Instruction(instruction),
            (false, _) => Change::Other,
        })
    }
}

/// How a frame differs from what it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    Nothing,
    /// It is at this instruction now.
    Instruction(usize),
    /// It is another frame.
    Other,
}
