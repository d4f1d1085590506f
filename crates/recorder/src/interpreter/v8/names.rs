//! What is known of V8's frames, and the definition of those that are met for the first time.

use super::function::Function;
use super::heap::Heap;
use super::inlined::DEPTH_MAX;
use super::location::Location;
use super::positions::Encoding;
use super::running::{Kind, Running};
use super::source::Lines;
use crate::definitions::DefinitionWriter;
use crate::interpreter::functions::Functions;
use crate::interpreter::map::Map;
use crate::interpreter::read::{Kernel, Read};
use crate::interpreter::word_hash::hash;
use crate::platform::lock::{Held, Lock};
use crate::unwind::Frame;
use heapscribe_wire::limits::LINE_BITS;

/// Functions with their bytecodes that are called from; addresses that code of V8 returns to.
const FRAMES: usize = 1 << 18;
const CODES: usize = 1 << 16;
/// Captures in which a line is looked for that could not be read: the collector, which moves things meanwhile, makes some
/// hundreds.
const TRIES: u64 = 1024;
/// In place of a frame: there are no more that are inlined.
const END: u64 = u64::MAX;

/// What is known of the functions of a process.
#[derive(Debug, Default)]
pub(crate) struct V8Functions {
    /// Frames, by what they are known by; and those that are inlined into them, by that and their number.
    frames: Map<FRAMES>,
    /// Kinds of code, by the address that it is returned to.
    codes: Map<CODES>,
    lines: Lines,
}

/// What is needed to define a frame.
#[derive(Clone, Copy)]
pub(crate) struct Definer<'a> {
    pub functions: &'a Functions,
    pub definitions: &'a DefinitionWriter,
    pub lock: &'a Lock,
    pub kernel: Kernel,
}

/// A frame that was defined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Defined {
    /// It is known from now on.
    Known,
    /// Its line could not be read, and is looked for again: the frame of this capture alone.
    WithoutLine(Frame),
}

impl V8Functions {
    /// The frame that is known by this.
    #[inline(always)]
    pub(super) fn frame(&self, identity: u64) -> Option<Frame> {
        self.frames.get(identity).map(Frame::from_bits)
    }

    /// The kind of the code that is returned to at this address, if it is known to be V8's.
    pub(super) fn kind(&self, pc: usize) -> Option<Kind> {
        self.codes.get(pc as u64).and_then(Kind::from_number)
    }

    /// Notes the kind of a code. It stays, as what V8 compiles to the same place later is of the same: but for the
    /// interpreter, which nothing takes the place of, and code that runs no function, whose frames say so.
    pub(super) fn set_kind(&self, pc: usize, kind: Kind, lock: &Lock) {
        if let Some(held) = lock.hold() {
            self.codes.set(pc as u64, kind.number(), &held);
        }
    }

    /// The frames that are inlined into a frame that is known by this, the innermost first. `None` when they are not known.
    pub(super) fn inlined(&self, identity: u64) -> Option<impl Iterator<Item = Frame> + Clone + '_> {
        let get = move |number: usize| self.frames.get(inlined_key(identity, number));
        let end = (0..=DEPTH_MAX).take_while(|number| get(*number).is_some_and(|bits| bits != END)).count();
        (get(end)? == END).then(|| (0..end).filter_map(get).map(Frame::from_bits))
    }

    /// Defines a frame that is met for the first time. `None` when it cannot be read, or there is no room.
    #[cold]
    pub(super) fn define<R: Read>(
        &self,
        heap: &Heap<'_, R>,
        encoding: Encoding,
        running: Running,
        identity: u64,
        definer: Definer<'_>,
    ) -> Option<Defined> {
        let held = definer.lock.hold()?;
        let function = Function::read(heap, running.function)?;
        // What V8 brings itself has no source.
        let location = function.has_script().then(|| Location::of(heap, encoding, definer.kernel, running));
        let Location { position, inlined, is_read } = location.unwrap_or_default();
        let frame = self.frame_of(heap, function, position, definer, &held)?;
        let has_line = frame.as_interpreted().is_some_and(|(_, line)| line != 0);
        let may_have = function.has_script() && (position.is_some() || !is_read);
        if may_have && !has_line && !self.gives_up(identity, &held) {
            return Some(Defined::WithoutLine(frame));
        }
        self.frames.set(identity, frame.to_bits(), &held).then_some(())?;
        if running.kind == Kind::Interpreted {
            return Some(Defined::Known);
        }
        for (number, (shared, position)) in inlined.functions().iter().enumerate() {
            let function = Function::of_shared(heap, *shared)?;
            let frame = self.frame_of(heap, function, *position, definer, &held)?;
            self.frames.set(inlined_key(identity, number), frame.to_bits(), &held).then_some(())?;
        }
        self.frames.set(inlined_key(identity, inlined.count), END, &held).then_some(Defined::Known)
    }

    /// Whether no line is to be had of a frame. While the collector moves objects they cannot be read, and a frame that was
    /// defined then had no line for good: so it is tried again in the next captures.
    fn gives_up(&self, identity: u64, held: &Held<'_>) -> bool {
        let key = hash([identity as usize, usize::MAX]).max(1);
        let tries = self.frames.get(key).unwrap_or(0);
        self.frames.set(key, tries + 1, held);
        tries >= TRIES
    }

    /// A frame of a function at a position, which is defined if it is new.
    fn frame_of<R: Read>(
        &self,
        heap: &Heap<'_, R>,
        function: Function,
        position: Option<usize>,
        definer: Definer<'_>,
        held: &Held<'_>,
    ) -> Option<Frame> {
        let line_of = |position| self.lines.of(heap, function.script, position, held);
        let first_line = function.scope.map_or(0, |scope| line_of(scope.start));
        let line = position.map_or(0, line_of);
        let names = function.names(heap, first_line, held)?;
        let number = definer.functions.number(&names, definer.definitions, held)?;
        Some(Frame::interpreted(number, if line >> LINE_BITS == 0 { line } else { 0 }))
    }
}

fn inlined_key(identity: u64, number: usize) -> u64 {
    hash([identity as usize, number + 1]).max(1)
}
