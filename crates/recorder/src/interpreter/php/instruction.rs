//! The line that the innermost frame is at, when that is a function in PHP: its instruction allocates itself, and may not
//! have saved where it is. The loop's registers say it, wherever the functions in between have saved them.
#![allow(unsafe_code)]

use heapscribe_wire::ids::StackId;

use super::check::is_instruction;
use super::loops::{At, Loops};
use super::names::PhpFunctions;
use super::source::Source;
use crate::interpreter::read::{Kernel, Read};
use crate::platform::lock::Lock;
use crate::unwind::{Registers, StackRange};

/// Words of a stack pointer's offset that are kept.
const WORD_BYTES: usize = 8;

/// Where the words are that a native stack has the registers in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    pub functions: &'a PhpFunctions,
    /// The native stack.
    pub stack: StackId,
    /// The registers of the hook's caller.
    pub registers: Registers,
    /// An address in a frame of ours that is there until the number of the stack is known.
    pub own: usize,
}

impl Known<'_> {
    fn depth_bytes(&self) -> usize {
        self.registers.sp.wrapping_sub(self.own)
    }

    /// The line, by where the registers were found before. `range`: the thread's own stack, which is read directly.
    #[inline(always)]
    pub(crate) fn line<R: Read>(
        &self,
        source: &Source<'_, R>,
        function: usize,
        range: Option<StackRange>,
    ) -> Option<u32> {
        let places = self.functions.places(self.stack, self.depth_bytes())?;
        let value = |place: i32| {
            let address = self.registers.sp.wrapping_add_signed(place as isize * WORD_BYTES as isize);
            match range {
                Some(range) => {
                    let is_there = self.own <= address && address < range.hi && address.is_multiple_of(8);
                    // SAFETY: an aligned word of the thread's own stack, above a frame of ours.
                    is_there.then(|| unsafe { (address as *const usize).read_volatile() })
                }
                None => source.read.word(address),
            }
        };
        let [frame, instruction] = places.map(value);
        (frame? == source.innermost).then_some(())?;
        line_within(source, function, instruction?)
    }

    /// The line, by a walk with all registers; 0: it is not sure.
    ///
    /// # Safety
    /// * As of [`Loops::new`].
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn find_line<R: Read>(
        &self,
        source: &Source<'_, R>,
        function: usize,
        at: At<'_>,
        kernel: Kernel,
        lock: &Lock,
    ) -> u32 {
        // SAFETY: the registers are the caller's, and this thread is inside the call.
        let call = unsafe { Loops::new(at, &source.php.code).next() };
        let Some((call, frame)) = call.and_then(|call| Some((call, call.frame?))) else { return 0 };
        if frame != source.innermost {
            return saved_line(source, frame, kernel).unwrap_or(0);
        }
        let Some(line) = call.instruction.and_then(|at| line_within(source, function, at)) else { return 0 };
        if let Some(places) = call.places.and_then(|places| self.offsets(places)) {
            self.functions.set_places(self.stack, self.depth_bytes(), places, lock);
        }
        line
    }

    /// Words from the stack pointer on; `None` for what is in frames that end before they are read.
    fn offsets(&self, places: [usize; 2]) -> Option<[i32; 2]> {
        let mut offsets = [0; 2];
        for (offset, place) in offsets.iter_mut().zip(places) {
            (place >= self.own).then_some(())?;
            let bytes = place.wrapping_sub(self.registers.sp) as isize;
            *offset = i32::try_from(bytes / WORD_BYTES as isize).ok()?;
        }
        Some(offsets)
    }
}

/// The line of an instruction, if it is one of the function.
#[inline(always)]
fn line_within<R: Read>(source: &Source<'_, R>, function: usize, instruction: usize) -> Option<u32> {
    let of = &source.php.layout.function;
    let [count, start] = source.read.words(function, [of.count, of.instructions])?;
    is_instruction(instruction, start, count).then(|| source.line_of(instruction))?
}

/// The line that the innermost frame has saved when it called the function that the loop is at, which has begun or ended
/// and is not in the list.
fn saved_line<R: Read>(source: &Source<'_, R>, frame: usize, kernel: Kernel) -> Option<u32> {
    let fields = &source.php.layout.frame;
    let previous = kernel.word(frame.wrapping_add(fields.previous))?;
    (previous == source.innermost).then_some(())?;
    let function = source.user_function(source.innermost)??;
    let instruction = source.read.word(source.innermost.wrapping_add(fields.instruction))?;
    line_within(source, function, instruction)
}
