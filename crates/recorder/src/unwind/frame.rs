//! What a walk is made of: registers, frames and where they are, what a step leads to, and why a walk ends.

use heapscribe_nolibc::loader::ModuleText;
use heapscribe_wire::ids::FunctionId;
use heapscribe_wire::limits::LINE_BITS;

use super::bounds::StackRange;

/// The registers a walk needs. At the entry of a hook: the return address, the stack pointer above it, rbp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registers {
    /// The return address.
    pub pc: usize,
    /// The stack pointer after the return.
    pub sp: usize,
    /// The frame pointer register, whatever it holds.
    pub bp: usize,
}

/// A frame's code address.
///
/// | bits  | field                                                                                     |
/// |-------|-------------------------------------------------------------------------------------------|
/// | 0..61 | address                                                                                   |
/// | 61    | 1: of an interpreter: bits 29..61 are the number of its function, 0..29 the line; 62 and 63 are 0       |
/// | 62    | 1: its caller was found by a frame pointer that nothing vouches for                        |
/// | 63    | 1: the address of the interrupted instruction; 0: a return address, behind its call       |
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Frame(u64);

impl Frame {
    const EXACT: u64 = 1 << 63;
    const GUESSES: u64 = 1 << 62;
    const INTERPRETED: u64 = 1 << 61;
    /// No frame, but what stands for frames that were left out of a path that is too deep.
    pub(crate) const GAP: Frame = Frame(Self::EXACT | Self::GUESSES);

    /// Of code. A wrong walk takes any number for an address: under gevent a stack protector's was a frame of Python.
    #[inline(always)]
    pub(super) const fn new(pc: usize, is_exact: bool) -> Frame {
        Frame(pc as u64 & (Self::INTERPRETED - 1) | if is_exact { Self::EXACT } else { 0 })
    }

    /// A frame that an interpreter runs.
    pub(crate) const fn interpreted(function: FunctionId, line: u32) -> Frame {
        Frame(Self::INTERPRETED | (function.0 as u64) << LINE_BITS | line as u64 & ((1 << LINE_BITS) - 1))
    }

    /// The function and the line of a frame that an interpreter runs.
    pub(crate) const fn as_interpreted(self) -> Option<(FunctionId, u32)> {
        let function = FunctionId(((self.0 & !Self::INTERPRETED) >> LINE_BITS) as u32);
        let line = (self.0 & ((1 << LINE_BITS) - 1)) as u32;
        if self.0 & (Self::INTERPRETED | Self::GAP.0) == Self::INTERPRETED {
            Some((function, line))
        } else {
            None
        }
    }

    /// The frame of these bits, which another one had.
    #[inline(always)]
    pub(crate) const fn from_bits(bits: u64) -> Frame {
        Frame(bits)
    }

    /// For hashes: the frame together with one of up to four places.
    #[inline(always)]
    pub(crate) const fn in_place(self, place: u64) -> Frame {
        Frame(self.0 ^ place << 62)
    }

    /// The same frame, whose caller was guessed.
    #[inline(always)]
    #[must_use]
    pub(super) const fn guessing(self) -> Frame {
        Frame(self.0 | Self::GUESSES)
    }

    /// The return address, or the address of the interrupted instruction.
    #[inline(always)]
    pub const fn address(self) -> u64 {
        self.0 & !(Self::EXACT | Self::GUESSES)
    }

    /// Whether a signal interrupted the frame at its address, which then belongs to its line itself.
    #[inline(always)]
    pub const fn is_exact(self) -> bool {
        self.0 & Self::EXACT != 0
    }

    /// Whether its caller was found by a frame pointer alone: that and all frames further out may be wrong.
    #[inline(always)]
    pub const fn guesses(self) -> bool {
        self.0 & Self::GUESSES != 0
    }

    /// All 64 bits: what equal frames have in common.
    #[inline(always)]
    pub const fn to_bits(self) -> u64 {
        self.0
    }
}

/// Where a frame is: with its registers, all that the rest of a walk depends on, besides memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The stack that `sp` is in.
    pub stack: StackRange,
    /// Whether `pc` is an interrupted instruction, not a return address.
    pub is_exact: bool,
}

/// What a step leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The caller.
    Caller(Registers, Place),
    /// The caller, by a frame pointer that nothing vouches for.
    Guessed(Registers, Place),
    /// No further.
    End(End),
}

/// Why a walk ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// At the outermost frame.
    Complete,
    /// There was no room for more frames.
    DepthLimit,
    /// At code whose unwinding information is beyond the rules.
    OtherRule,
    /// At code without unwinding information, and rbp is no frame pointer.
    NoInfo,
    /// A rule led out of the stack, or back.
    OutOfBounds,
    /// A signal interrupted a stack whose bounds are not known.
    UnknownStack,
}

/// What a walk brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Walk {
    /// How many frames were written.
    pub frames: usize,
    /// Why there are no more.
    pub end: End,
}

/// What a walk asks of the recorder.
pub trait Context {
    /// The walk has met a code address that the cache does not have, in this module, which is loaded now.
    /// Called often for the same module, and each time while there is no cache or the frame was interrupted by a
    /// signal. Whether it is known to be the module that rules were cached for before.
    fn on_new_code(&mut self, text: &ModuleText) -> bool;

    /// The bounds of another stack that the walk continues on, at `sp`. On the one before nothing was read at or
    /// beyond `left`.
    fn stack_around(&mut self, sp: usize, left: usize) -> Option<StackRange> {
        let _ = left;
        StackRange::around(sp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_is_a_frame_of_an_interpreter() {
        for pc in [0, 0x5555_5555_1234, 1 << 61, 0x3719_5ab1_d57e_9500, usize::MAX] {
            for is_exact in [false, true] {
                let frame = Frame::new(pc, is_exact);
                assert_eq!((frame.as_interpreted(), frame.is_exact()), (None, is_exact), "{pc:x}");
                assert_eq!((frame.guesses(), frame.guessing().as_interpreted()), (false, None), "{pc:x}");
                assert_eq!(frame.address(), pc as u64 & ((1 << 61) - 1));
            }
        }
        let interpreted = Frame::interpreted(FunctionId(u32::MAX), 7);
        assert_eq!(interpreted.as_interpreted(), Some((FunctionId(u32::MAX), 7)));
    }
}
