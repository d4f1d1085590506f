//! The interpreters that stacks were found to run through, and whether their frames are read: what definitions say of
//! them, in each session of the process anew.
//!
//! ```text
//!   bits 0..8  whether frames are read     8..24  version     24..28  where it has its objects     31  there is one
//! ```

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use heapscribe_wire::definitions::{Definition, Interpreter};
use heapscribe_wire::frames_read::FramesRead;
use heapscribe_wire::language::Language;
use heapscribe_wire::object_allocator::ObjectAllocator;

use crate::definitions::DefinitionWriter;
use crate::platform::lock::Lock;

const LANGUAGES: usize = 8;
const IS_MET: u32 = 1 << 31;

static MET: [AtomicU32; LANGUAGES] = [const { AtomicU32::new(0) }; LANGUAGES];
/// What the environment says of each language's objects: an [`ObjectAllocator`].
static OBJECTS: [AtomicU8; LANGUAGES] = [const { AtomicU8::new(0) }; LANGUAGES];
/// How often a word of these has changed.
static CHANGES: AtomicU32 = AtomicU32::new(0);

/// How many changes of what is met a session's definitions have.
#[derive(Debug, Default)]
pub(crate) struct Defined(AtomicU32);

/// Notes where interpreters of a language have their objects, as the environment says.
pub(crate) fn note_objects(language: Language, objects: ObjectAllocator) {
    if let Some(place) = OBJECTS.get(usize::from(language.0)) {
        place.store(objects.0, Ordering::Relaxed);
    }
}

/// Notes an interpreter, or that its frames are read from now on, or not.
pub(super) fn note(language: Language, version: u32, frames: FramesRead) {
    let index = usize::from(language.0);
    let Some((place, objects)) = MET.get(index).zip(OBJECTS.get(index)) else { return };
    let objects = u32::from(objects.load(Ordering::Relaxed) & 15);
    let word = IS_MET | objects << 24 | (version & 0xffff) << 8 | u32::from(frames.0);
    if place.swap(word, Ordering::AcqRel) != word {
        CHANGES.fetch_add(1, Ordering::AcqRel);
    }
}

/// What is noted of a language's interpreter.
pub(super) fn noted(language: Language) -> Option<Interpreter> {
    let word = MET.get(usize::from(language.0))?.load(Ordering::Acquire);
    let (version, frames) = (word >> 8 & 0xffff, FramesRead(word as u8));
    let objects = ObjectAllocator((word >> 24 & 15) as u8);
    (word & IS_MET != 0).then_some(Interpreter { language, version, frames, objects })
}

/// Defines what has changed since this was last called.
#[inline(always)]
pub(crate) fn define(defined: &Defined, definitions: &DefinitionWriter, lock: &Lock) {
    if defined.0.load(Ordering::Relaxed) != CHANGES.load(Ordering::Acquire) {
        define_all(defined, definitions, lock);
    }
}

#[cold]
fn define_all(defined: &Defined, definitions: &DefinitionWriter, lock: &Lock) {
    let Some(held) = lock.hold() else { return };
    let changes = CHANGES.load(Ordering::Acquire);
    for interpreter in (0..LANGUAGES as u8).filter_map(|language| noted(Language(language))) {
        if definitions.append(&Definition::Interpreter(interpreter), &held).is_err() {
            return;
        }
    }
    defined.0.store(changes, Ordering::Relaxed);
}
