//! Where in the source a call of optimized code is, by what V8 keeps of it for the case that the function is deoptimized
//! meanwhile: the bytecodes that it stands for, in the function and in those that are inlined there. V8 makes the stacks of
//! errors of this, too, so that it is right wherever it is there.
//!
//! ```text
//!   safepoint -> deoptimization: ..., translation, ...        -> frames: literal, offset of the bytecode
//!   literal   -> what a function shares with its closures     -> bytecodes -> position
//! ```

use super::bytecode::Bytecode;
use super::code::Code;
use super::heap::{Heap, small_integer};
use super::inlined::Inlined;
use super::literals::{element, function};
use super::positions::Encoding;
use super::safepoints;
use super::translation::{Opcodes, Translated, Translation};
use crate::interpreter::read::Read;

/// Words of a deoptimization, and which of these is the index of its translation.
const WORDS: usize = 3;
const TRANSLATION: usize = 1;
/// In what optimized code was made of: all translations.
const TRANSLATIONS: usize = 0;

/// What runs where `code` is returned to at an offset: nothing where the call cannot be deoptimized. `None` of what cannot be
/// read.
pub(super) fn inlined<R: Read>(
    heap: &Heap<'_, R>,
    encoding: Encoding,
    code: Code,
    data: usize,
    offset: usize,
) -> Option<Option<Inlined>> {
    let Some(opcodes) = Opcodes::of(heap.layout.types.version()) else { return Some(None) };
    let number = safepoints::deoptimization(heap, code, code.is_maglev(heap)?, offset);
    let Some(number) = number else { return Some(None) };
    let at = heap.layout.optimized.deoptimizations + WORDS * number + TRANSLATION;
    let index = small_integer(element(heap, data, at)?)?;
    let bytes = heap.bytes(element(heap, data, TRANSLATIONS)?)?;
    let mut translation = Translation::new(heap.read, bytes, opcodes, index)?;
    frames(heap, encoding, data, || translation.next()).map(Some)
}

/// The frames that `next` gives from the outermost in.
fn frames<R: Read>(
    heap: &Heap<'_, R>,
    encoding: Encoding,
    data: usize,
    mut next: impl FnMut() -> Option<Option<Translated>>,
) -> Option<Inlined> {
    let mut found = Inlined::default();
    let mut outermost = None;
    while let Some(frame) = next()? {
        let shared = function(heap, data, frame.literal)?;
        let bytecode = frame.offset.and_then(|offset| Bytecode::of_shared(heap, shared, offset));
        let position = bytecode.and_then(|bytecode| bytecode.position(heap, encoding));
        match outermost {
            None => outermost = Some(position),
            Some(_) => found.push(shared, position)?,
        }
    }
    found.position = outermost?;
    found.reverse();
    Some(found)
}
