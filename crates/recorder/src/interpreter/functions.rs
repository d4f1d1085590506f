//! What is known of code objects: the numbers of their functions, and the lines of their instructions.
//!
//! ```text
//!   code object's address        -> its serial number, and words of it that must be the same     until it is freed
//!   serial number, instruction   -> the frame: number of the function, line
//!   name, file and first line    -> number of the function: objects that are compiled again have the same
//! ```
//! A code object that is freed is forgotten at once, when the interpreter calls what frees it ([`Functions::forget`]). A
//! change in between is also noticed by the words.

use core::sync::atomic::{AtomicU32, Ordering};

use heapscribe_wire::definitions::{Definition, Function};
use heapscribe_wire::ids::FunctionId;

use super::code::{Code, Names};
use super::layout::Layout;
use super::map::Map;
use super::read::Read;
use crate::definitions::DefinitionWriter;
use crate::platform::lock::Held;
use crate::unwind::Frame;

/// Code objects that are in use at a time.
const CODES: usize = 1 << 16;
/// Lines and functions.
const PLACES: usize = 1 << 18;

/// What is known of a process's code objects.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    codes: Map<CODES>,
    frames: Map<PLACES>,
    numbers: Map<PLACES>,
    /// Serial numbers of code objects, and of functions, that were given.
    serials: AtomicU32,
    defined: AtomicU32,
    /// How many known code objects were freed.
    freed: AtomicU32,
}

impl Functions {
    /// Changes when a code object that was known is freed: what was found of others holds.
    #[inline(always)]
    pub(crate) fn generation(&self) -> u32 {
        self.freed.load(Ordering::Acquire)
    }

    /// A code object is freed.
    pub(crate) fn forget(&self, code: usize) {
        if self.codes.forget(code as u64) {
            self.freed.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// The serial number of a code object that is known.
    #[inline(always)]
    pub(crate) fn serial<R: Read>(&self, read: R, layout: &Layout, code: usize) -> Option<u32> {
        let known = self.codes.get(code as u64)?;
        (Code::witness(read, layout, code)? == known as u32).then_some((known >> 32) as u32)
    }

    /// The frame of an instruction that is known, of a code object with this serial number.
    #[inline(always)]
    pub(crate) fn frame(&self, serial: u32, code: usize, instruction: usize) -> Option<Frame> {
        self.frames.get(key(serial.into(), code, instruction)).map(Frame::from_bits)
    }

    /// The frame of an instruction that is met for the first time. `None` when it cannot be read, or there is no room.
    #[cold]
    pub(crate) fn define<R: Read>(
        &self,
        read: R,
        layout: &Layout,
        (code, instruction): (usize, usize),
        definitions: &DefinitionWriter,
        held: &Held<'_>,
    ) -> Option<Frame> {
        let witness = Code::witness(read, layout, code)?;
        let known = self.codes.get(code as u64).filter(|known| *known as u32 == witness);
        let serial = match known {
            Some(known) => known >> 32,
            None => u64::from(self.serials.fetch_add(1, Ordering::Relaxed) + 1),
        };
        let names = Names::read(read, layout, code, held)?;
        let line = Code { address: code, first_line: names.first_line }.line(read, layout, instruction);
        let function = self.number(&names, definitions, held)?;
        let frame = Frame::interpreted(function, line);
        let is_kept = self.frames.set(key(serial, code, instruction), frame.to_bits(), held)
            && self.codes.set(code as u64, serial << 32 | u64::from(witness), held);
        is_kept.then_some(frame)
    }

    /// The number of a function, defined when it is new.
    pub(super) fn number(
        &self,
        names: &Names<'_>,
        definitions: &DefinitionWriter,
        held: &Held<'_>,
    ) -> Option<FunctionId> {
        let hash = names.hash();
        if let Some(known) = self.numbers.get(hash) {
            return Some(FunctionId(known as u32));
        }
        let id = FunctionId(self.defined.load(Ordering::Relaxed) + 1);
        let Names { name, file, first_line, language } = *names;
        let function = Function { id, language, first_line, name, file };
        definitions.append(&Definition::Function(function), held).ok()?;
        self.defined.store(id.0, Ordering::Relaxed);
        self.numbers.set(hash, id.0.into(), held).then_some(id)
    }
}

/// The key of an instruction: what numbers of code objects and instructions have in common with no other pair, as far
/// as code is less than 16 MiB.
const fn key(serial: u64, code: usize, instruction: usize) -> u64 {
    let offset = if instruction >> 32 == 0 { instruction } else { instruction.wrapping_sub(code) };
    serial << 32 | (offset as u64 + 2) & 0xffff_ffff
}
