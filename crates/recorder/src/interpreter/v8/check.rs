//! Whether there is a V8 whose frames can be read: looked for among the modules that stacks run through, then checked on
//! a thread that runs it. What does not fit leaves stacks native.
//!
//! ```text
//!   nothing -> candidate -> reading        a module with the constants; functions, scopes and positions as expected
//!                        '> refused        of another version or build
//! ```
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

use heapscribe_nolibc::loader::{Loader, ModuleText};
use heapscribe_wire::frames_read::FramesRead;
use heapscribe_wire::language::Language;

use super::bytecode::Bytecode;
use super::function::Function;
use super::heap::Heap;
use super::layout::{Constants, Layout, V8};
use super::location::{bytecode_of, code_of};
use super::native_stack::NativeStack;
use super::positions::{Bounds, Encoding, fits};
use super::running::{Kind, Running};
use crate::interpreter::byte_reader::ByteReader;
use crate::interpreter::read::Kernel;
use crate::interpreter::{met, possible};

const NOTHING: u32 = 0;
const CANDIDATE: u32 = 1;
const CHECKING: u32 = 2;
const READING: u32 = 3;
const REFUSED: u32 = 4;

static STATE: AtomicU32 = AtomicU32::new(NOTHING);
/// Captures since there is a candidate, and checks that found something else than expected.
static CAPTURES: AtomicU32 = AtomicU32::new(0);
static MISFITS: AtomicU32 = AtomicU32::new(0);

/// It is checked while it runs: so often something may be half made.
const MISFITS_MAX: u32 = 64;
/// After the first captures, one of so many is used for a check.
const CAPTURES_BETWEEN: u32 = 64;
/// Functions whose source positions are of one encoding alone, before it is believed.
const FUNCTIONS_WANTED: u32 = 2;

struct Place(UnsafeCell<V8>);
// SAFETY: written by the one thread that has set CHECKING; read after READING was seen.
unsafe impl Sync for Place {}
static FOUND: Place =
    Place(UnsafeCell::new(V8 { layout: Layout::NONE, encoding: Encoding::Signed, module: [0; 2] }));

/// Constants of a module.
struct Exported<'a> {
    text: &'a ModuleText,
    loader: &'a Loader,
}

impl Constants for Exported<'_> {
    fn get(&self, name: &[u8]) -> Option<usize> {
        const PREFIX: &[u8] = b"v8dbg_";
        const NAME_BYTES_MAX: usize = 96;
        let mut whole = [0; NAME_BYTES_MAX];
        let (prefix, rest) = whole.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX);
        rest.get_mut(..name.len())?.copy_from_slice(name);
        let whole = whole.get(..PREFIX.len() + name.len())?;
        let place = self.loader.find_in_module_of(whole, self.text.start as *const ())?;
        // SAFETY: an `int` of a module that the calling thread returns to, so that it is there.
        Some(unsafe { place.cast::<i32>().read_unaligned() } as usize)
    }
}

/// A module that stacks are found to run through: has it V8?
#[cold]
pub(in crate::interpreter) fn meet(text: &ModuleText, loader: &Loader) {
    let exported = Exported { text, loader };
    if exported.get(b"off_fp_function").is_none() {
        return;
    }
    if STATE.compare_exchange(NOTHING, CHECKING, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    let next = match Layout::of(&exported) {
        Some(layout) => {
            let found = V8 { layout, encoding: Encoding::Signed, module: [text.start, text.end] };
            // SAFETY: this thread has set CHECKING.
            unsafe { *FOUND.0.get() = found };
            CANDIDATE
        }
        None => note(FramesRead::VERSION, REFUSED),
    };
    set_state(next);
}

fn set_state(next: u32) {
    STATE.store(next, Ordering::Release);
    possible::set(possible::V8, next != REFUSED);
}

fn note(frames: FramesRead, state: u32) -> u32 {
    met::note(Language::JAVASCRIPT, 0, frames);
    state
}

/// The V8 whose frames can be read.
#[inline(always)]
pub(crate) fn current() -> Option<&'static V8> {
    // SAFETY: written before READING was set, and not after.
    (STATE.load(Ordering::Acquire) == READING).then(|| unsafe { &*FOUND.0.get() })
}

/// The V8 to check on this capture, if it is one to check it by.
pub(crate) fn due() -> Option<V8> {
    if STATE.load(Ordering::Acquire) != CANDIDATE {
        return None;
    }
    let count = CAPTURES.fetch_add(1, Ordering::Relaxed) + 1;
    let is_due = count.is_power_of_two() || count.is_multiple_of(CAPTURES_BETWEEN);
    let is_claimed =
        is_due && STATE.compare_exchange(CANDIDATE, CHECKING, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    // SAFETY: this thread has set CHECKING.
    is_claimed.then(|| unsafe { *FOUND.0.get() })
}

/// Checks what [`due`] gave on the calling thread's stack, if that is known.
#[cold]
#[inline(never)]
pub(crate) fn check(v8: &V8, source: Option<NativeStack<'_>>) {
    let next = match source.as_ref().map_or(Err(Unchecked::NotYet), checked) {
        Ok(encoding) => {
            // SAFETY: this thread has set CHECKING, and nobody reads it before READING is set.
            unsafe { *FOUND.0.get() = V8 { encoding, ..*v8 } };
            note(FramesRead::YES, READING)
        }
        Err(Unchecked::NotYet) => CANDIDATE,
        Err(Unchecked::Other) => match MISFITS.fetch_add(1, Ordering::Relaxed) {
            ..MISFITS_MAX => CANDIDATE,
            _ => note(FramesRead::LAYOUT, REFUSED),
        },
    };
    set_state(next);
}

/// Why a V8 is not believed.
enum Unchecked {
    /// The thread runs no function whose bytecodes are known, or too few.
    NotYet,
    /// Something else is where something was expected.
    Other,
}

/// The encoding of source positions, which each function on the stack has, if all else fits.
fn checked(source: &NativeStack<'_>) -> Result<Encoding, Unchecked> {
    let mut votes = [0u32; 2];
    for index in 0..source.active {
        let Some(pointer) = source.frame_pointer(index) else { continue };
        let Some(running) = source.running_anew(index, pointer) else { continue };
        let heap = Heap { read: source.kernel, layout: &source.v8.layout };
        let code = code_of(heap, running);
        let bytecode = match (running.kind, bytecode_of(&heap, source.kernel, running, code)) {
            (_, Some(bytecode)) => bytecode,
            (Kind::Interpreted, None) => return Err(Unchecked::Other),
            _ => continue,
        };
        let possible = encodings(&heap, running, bytecode).ok_or(Unchecked::Other)?;
        if possible[0] != possible[1] {
            votes[usize::from(possible[1])] += 1;
        }
    }
    match votes {
        [signed, shifted] if signed > 0 && shifted > 0 => Err(Unchecked::Other),
        [signed, shifted] if signed + shifted < FUNCTIONS_WANTED => Err(Unchecked::NotYet),
        [0, _] => Ok(Encoding::Shifted),
        _ => Ok(Encoding::Signed),
    }
}

/// Which encodings the positions of a function can be of. `None` when it is not what is expected.
fn encodings(heap: &Heap<'_, Kernel>, running: Running, bytecode: Bytecode) -> Option<[bool; 2]> {
    let function = Function::read(heap, running.function)?;
    let scope = function.scope.filter(|_| function.script != 0)?;
    let (_, length) = heap.bytes(bytecode.array)?;
    let (at, bytes) = heap.bytes(heap.field(bytecode.array, heap.layout.positions)?)?;
    let bounds = Bounds { length: length as i64, start: scope.start, end: scope.end };
    let is_within = |encoding| {
        let position = bytecode.position(heap, encoding);
        position.is_none_or(|position| (scope.start..=scope.end).contains(&position))
    };
    Some([Encoding::Signed, Encoding::Shifted].map(|encoding| {
        let mut table = ByteReader::new(heap.read, at, bytes);
        fits(encoding, bounds, || table.next()) && is_within(encoding)
    }))
}
