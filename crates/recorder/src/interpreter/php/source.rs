//! PHP's frames as they are in memory.

use super::check::Php;
use super::layout::{CALLED_BY_C, EVAL, INTERNAL, LINE, STRING_HASH, USER};
use crate::interpreter::read::Read;
use crate::interpreter::word_hash::hash;

/// What a frame is to the call of the loop that runs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Place {
    /// It was called by the frame further out, in the same call of the loop, or is a function written in C.
    #[default]
    Inner,
    /// It is the outermost of the call.
    Outermost,
    /// No frame, but what stands for a call of C code.
    Shim,
    /// The same, which a fiber begins with: what is further out runs on another stack.
    Fiber,
}

/// A frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct RawFrame {
    pub frame: usize,
    /// Words of its function, which together no other has within a request, hashed.
    pub function: u64,
    /// 0: none that is sure.
    pub line: u32,
    pub place: Place,
}

/// Of what a walk is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a, R> {
    /// How to read.
    pub read: R,
    /// Where everything is.
    pub php: &'a Php,
    /// The innermost frame, and its line, if that is a user's function.
    pub innermost: usize,
    pub line: u32,
}

impl<R: Read> Source<'_, R> {
    /// A frame, and the one further out; 0: none.
    #[inline(always)]
    pub(crate) fn frame(&self, frame: usize) -> Option<(RawFrame, usize)> {
        let (read, fields) = (self.read, &self.php.layout.frame);
        let [instruction, function, call, previous] =
            read.words(frame, [fields.instruction, fields.function, fields.call, fields.previous])?;
        let shim = |place| Some((RawFrame { frame, place, ..RawFrame::default() }, previous));
        if function == 0 {
            return shim(Place::Shim);
        }
        let of = &self.php.layout.function;
        let kind = read.word(function)?;
        match kind & 0xff {
            INTERNAL => {
                let [name, class] = read.words(function, [of.name, of.class])?;
                if name == 0 {
                    return shim(Place::Fiber);
                }
                let function = hash([function, kind, name, class]);
                Some((RawFrame { frame, function, ..RawFrame::default() }, previous))
            }
            USER | EVAL => {
                let [name, class, file, lines] =
                    read.words(function, [of.name, of.class, of.file, of.lines])?;
                let file = read.word(file.wrapping_add(STRING_HASH))?;
                let line = match frame == self.innermost {
                    true => self.line,
                    false => self.line_of(instruction)?,
                };
                let place = if call & CALLED_BY_C == 0 { Place::Inner } else { Place::Outermost };
                let function = hash([function, kind, name, class, file, lines]);
                Some((RawFrame { frame, function, line, place }, previous))
            }
            _ => None,
        }
    }

    /// The line of an instruction.
    #[inline(always)]
    pub(crate) fn line_of(&self, instruction: usize) -> Option<u32> {
        Some(self.read.word(instruction.wrapping_add(LINE))? as u32)
    }

    /// The function of a frame, if it is written in PHP.
    #[inline(always)]
    pub(crate) fn user_function(&self, frame: usize) -> Option<Option<usize>> {
        let function = self.read.word(frame.wrapping_add(self.php.layout.frame.function))?;
        if function == 0 {
            return Some(None);
        }
        let kind = self.read.word(function)? & 0xff;
        Some((kind == USER || kind == EVAL).then_some(function))
    }
}
