//! Whether there is an interpreter whose frames can be read: looked for among the modules that stacks run through, then
//! checked on a thread that runs it. What does not fit leaves stacks native.
//!
//! ```text
//!   nothing -> candidate -> reading        a module that has the interpreter's loop; frames as expected on a thread
//!                        '> refused        of another version or build, or loaded so that it may be unloaded
//! ```
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use heapscribe_nolibc::loader::{Loader, ModuleText};
use heapscribe_wire::frames_read::FramesRead;
use heapscribe_wire::language::Language;

use super::layout::{
    Chain, Layout, OBJECT_LENGTH, OBJECT_TYPE, OWNED_BY_C, REFERENCE_BITS, SHAPES, TYPE_FREE,
};
use super::lock::Lock;
use super::offsets::{self, Without};
use super::read::{Kernel, Read};
use super::symbols::{FIRST_WITH, OTHERS};
use super::{met, php, possible, v8};
use crate::unwind::cfi;

const NOTHING: u32 = 0;
const CANDIDATE: u32 = 1;
const CHECKING: u32 = 2;
const READING: u32 = 3;
const REFUSED: u32 = 4;

static STATE: AtomicU32 = AtomicU32::new(NOTHING);
/// Captures since there is a candidate, and checks that found something else than expected.
static CAPTURES: AtomicU32 = AtomicU32::new(0);
static MISFITS: AtomicU32 = AtomicU32::new(0);
/// What frees a code object, as the interpreter has it.
static FREE_CODE: AtomicUsize = AtomicUsize::new(0);

/// An interpreter is made while it runs: so often it may be found half made.
const MISFITS_MAX: u32 = 64;
/// So many are not spoken of.
const MISFITS_AT_FIRST: u32 = 4;
/// After the first captures, one of so many is used for a check.
const CAPTURES_BETWEEN: u32 = 1024;
/// Frames that a check looks at.
const FRAMES_CHECKED: usize = 1000;
/// Where glibc keeps a thread's value of the first key, from the thread pointer on: `specific_1stblock` of its
/// `struct pthread`; a sequence number and the value for each of 32 keys.
const FIRST_KEY: usize = 0x310;
const KEYS: usize = 32;
const KEY_BYTES: usize = 16;

/// An interpreter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interpreter {
    /// Where it keeps what.
    pub layout: Layout,
    version: u32,
    is_debug: bool,
    /// The number of its shape in [`SHAPES`].
    pub shape: Option<usize>,
    /// Where the code of its loop begins and ends.
    pub loop_code: (usize, usize),
    /// `_PyRuntime`.
    runtime: usize,
    /// `PyCode_Type`.
    code_type: usize,
    /// Its lock.
    pub lock: Lock,
}

struct Place(UnsafeCell<Interpreter>);
// SAFETY: written by the one thread that has set CHECKING, or found the candidate; read after READING was seen.
unsafe impl Sync for Place {}
static INTERPRETER: Place = Place(UnsafeCell::new(Interpreter::NONE));

fn set_state(next: u32) {
    STATE.store(next, Ordering::Release);
    possible::set(possible::PYTHON, next != REFUSED);
}

/// A module that stacks are found to run through: is it an interpreter?
#[cold]
pub(crate) fn meet(text: &ModuleText, loader: &Loader) {
    const LOOP: &[u8] = b"_PyEval_EvalFrameDefault";
    let find = |name: &[u8]| loader.find_in_module_of(name, text.start as *const ());
    let Some(loop_code) = find(LOOP) else {
        php::check::meet(text, loader);
        v8::check::meet(text, loader);
        for (language, _) in OTHERS.iter().filter(|(_, function)| find(function).is_some()) {
            met::note(*language, 0, FramesRead::LANGUAGE);
        }
        return;
    };
    if STATE.compare_exchange(NOTHING, CHECKING, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    let is_glibc = loader.find_anywhere(b"gnu_get_libc_version").is_some();
    let (version, candidate) = candidate(find, loader.is_initial(text), is_glibc);
    let next = match candidate {
        Ok(mut candidate) => {
            candidate.loop_code = code_of(text, loop_code as usize);
            // SAFETY: this thread has set CHECKING.
            unsafe { *INTERPRETER.0.get() = candidate };
            CANDIDATE
        }
        Err(frames) => {
            met::note(Language::PYTHON, version, frames);
            REFUSED
        }
    };
    set_state(next);
}

/// The version, and what is to be checked on it. One that might be unloaded is refused: its memory is read without asking.
fn candidate(
    find: impl Fn(&[u8]) -> Option<*const ()>,
    stays: bool,
    is_glibc: bool,
) -> (u32, Result<Interpreter, FramesRead>) {
    let address = |name: &[u8]| find(name).map(|address| address as usize);
    let whole_version = match address(b"Py_Version") {
        // SAFETY: a constant of a module that the calling thread returns to, so that it is there.
        Some(version) => unsafe { (version as *const u32).read() },
        None => {
            let first = FIRST_WITH.iter().find(|(name, _)| address(name).is_some());
            first.map_or(0, |(_, version)| *version << 16)
        }
    };
    let version = whole_version >> 16;
    let known = (version >> 8 == 3).then(|| Layout::of(version as u8)).flatten();
    let places = address(b"_PyRuntime").zip(address(b"PyCode_Type"));
    let layout = match (known, places) {
        (None, Some((runtime, _))) => {
            // SAFETY: words of the interpreter's state, which is larger, in a module that the calling thread returns to.
            offsets::read(whole_version, |at| unsafe { ((runtime + at) as *const u64).read_volatile() })
        }
        (known, _) => known.ok_or(Without::Unknown),
    };
    let is_threaded =
        layout.err() == Some(Without::FreeThreaded) || address(b"_Py_MergeZeroLocalRefcount").is_some();
    let checked = match layout.ok().zip(places) {
        _ if is_threaded => Err(FramesRead::THREADS),
        _ if !is_glibc => Err(FramesRead::C_LIBRARY),
        None => Err(FramesRead::VERSION),
        _ if !stays => Err(FramesRead::UNLOADABLE),
        Some((layout, (runtime, code_type))) => {
            let is_debug = address(b"_Py_NegativeRefcount").is_some();
            let shape = SHAPES.iter().position(|shape| *shape == layout.shape);
            Ok(Interpreter { layout, version, shape, is_debug, runtime, code_type, ..Interpreter::NONE })
        }
    };
    (version, checked)
}

/// The code of the function at this address; as one without unwinding information it has none.
fn code_of(text: &ModuleText, function: usize) -> (usize, usize) {
    // SAFETY: a module that the calling thread returns to, so that it is there.
    let segment = unsafe { text.segment(text.eh_frame_hdr) };
    let code = segment.and_then(|segment| cfi::code_at(segment, text.eh_frame_hdr, function));
    code.map_or((0, 0), |code| (code.start, code.end))
}

/// The interpreter whose frames can be read, checked by this capture if need be. `free_code` is called before a code
/// object is freed.
#[inline(always)]
pub(crate) fn current(
    kernel: Kernel,
    thread_pointer: usize,
    free_code: FreeCode,
) -> Option<&'static Interpreter> {
    if STATE.load(Ordering::Acquire) != READING && !try_check(kernel, thread_pointer, free_code) {
        return None;
    }
    // SAFETY: written before READING was set, and not after.
    Some(unsafe { &*INTERPRETER.0.get() })
}

/// What takes the place of the function that frees a code object.
pub(crate) type FreeCode = unsafe extern "C" fn(usize);

#[cold]
#[inline(never)]
fn try_check(kernel: Kernel, thread_pointer: usize, free_code: FreeCode) -> bool {
    let count = CAPTURES.fetch_add(1, Ordering::Relaxed) + 1;
    let is_due = count.is_power_of_two() || count.is_multiple_of(CAPTURES_BETWEEN);
    let claim = || STATE.compare_exchange(CANDIDATE, CHECKING, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    if !is_due || !claim() {
        return false;
    }
    // SAFETY: this thread has set CHECKING.
    let interpreter = unsafe { &mut *INTERPRETER.0.get() };
    let next = match interpreter.check(kernel, thread_pointer) {
        Ok(()) if interpreter.watch(kernel, free_code) => interpreter.note(FramesRead::YES, READING),
        Ok(()) => interpreter.note(FramesRead::LAYOUT, REFUSED),
        Err(Unchecked::NotYet) => CANDIDATE,
        Err(Unchecked::Other) => {
            let frames = if interpreter.is_debug { FramesRead::DEBUG_BUILD } else { FramesRead::LAYOUT };
            match MISFITS.fetch_add(1, Ordering::Relaxed) {
                ..MISFITS_AT_FIRST => CANDIDATE,
                // It is no other if it fits later.
                MISFITS_AT_FIRST..MISFITS_MAX => interpreter.note(frames, CANDIDATE),
                _ => interpreter.note(frames, REFUSED),
            }
        }
    };
    set_state(next);
    next == READING
}

/// Calls what frees a code object in the interpreter itself.
///
/// # Safety
/// * `code` is a code object that is to be freed, and this was called in place of what does so.
pub(crate) unsafe fn free_code(code: usize) {
    let address = FREE_CODE.load(Ordering::Acquire);
    // SAFETY: the address is that of the type's own function, which takes an object and is called once for it.
    unsafe { core::mem::transmute::<usize, FreeCode>(address)(code) }
}

/// Why an interpreter is not believed.
enum Unchecked {
    /// The thread does not run it, or it is not made yet.
    NotYet,
    /// Something else is where something was expected.
    Other,
}

impl Interpreter {
    const NONE: Interpreter = Interpreter {
        layout: Layout::NONE,
        version: 0,
        shape: None,
        loop_code: (0, 0),
        is_debug: false,
        runtime: 0,
        code_type: 0,
        lock: Lock::NONE,
    };

    /// Notes whether its frames are read; the state that it is in now.
    fn note(&self, frames: FramesRead, state: u32) -> u32 {
        met::note(Language::PYTHON, self.version, frames);
        state
    }

    /// Checks all that is read on the calling thread.
    fn check(&mut self, kernel: Kernel, thread_pointer: usize) -> Result<(), Unchecked> {
        let fields = self.layout.runtime;
        self.lock = Lock::find(kernel, self.runtime, fields).ok_or(Unchecked::NotYet)?;
        let state = self.lock.state_of_holder(kernel, thread_pointer).ok_or(Unchecked::NotYet)?;
        self.lock.check(kernel, state);
        let slot = |key: usize| FIRST_KEY + KEY_BYTES * key + 8;
        let has_state = |key: &usize| kernel.word(thread_pointer.wrapping_add(slot(*key))) == Some(state);
        let key = match fields.key {
            // Libraries may keep the state under keys of their own (pybind11's), which they make later.
            0 => (0..KEYS).find(has_state),
            key => {
                let key = kernel.half(self.runtime.wrapping_add(key)).ok_or(Unchecked::Other)? as usize;
                Some(key).filter(|key| *key < KEYS).filter(has_state)
            }
        };
        self.lock.slot = slot(key.ok_or(Unchecked::Other)?);
        self.check_frames(kernel, state)
    }

    /// Follows the frames of a thread to the outermost one.
    fn check_frames(&self, kernel: Kernel, state: usize) -> Result<(), Unchecked> {
        let (thread, fields) = (self.layout.shape.thread, self.layout.shape.frame);
        let first = match thread.frame {
            0 => kernel
                .word(state.wrapping_add(thread.record))
                .and_then(|record| kernel.word(record.wrapping_add(thread.record_frame))),
            frame => kernel.word(state.wrapping_add(frame)),
        };
        let mut frame = first.ok_or(Unchecked::Other)?;
        if frame == 0 {
            return Err(Unchecked::NotYet);
        }
        for _ in 0..FRAMES_CHECKED {
            let word = |field: usize| kernel.word(frame.wrapping_add(field)).ok_or(Unchecked::Other);
            let mark = kernel.known_byte(frame.wrapping_add(fields.mark)).ok_or(Unchecked::Other)?;
            let is_shim = self.layout.shape.chain == Chain::Shims && mark >= OWNED_BY_C;
            if !is_shim {
                let instruction = word(fields.instruction)? & fields.instruction_bits;
                let is_code = self.is_code(kernel, word(fields.code)? & !REFERENCE_BITS, instruction);
                is_code.filter(|is_code| *is_code).ok_or(Unchecked::Other)?;
            }
            frame = word(fields.previous)?;
            if frame == 0 {
                return Ok(());
            }
        }
        Err(Unchecked::Other)
    }

    /// Whether there is a code object, with names and such an instruction.
    fn is_code(&self, kernel: Kernel, code: usize, instruction: usize) -> Option<bool> {
        const LINES_MAX: u32 = 1 << 24;
        let fields = self.layout.code;
        let word = |field: usize| kernel.word(code.wrapping_add(field));
        let type_of = |field: usize| kernel.word(word(field)?.wrapping_add(OBJECT_TYPE));
        let has_names =
            type_of(fields.name)? == type_of(fields.file)? && type_of(fields.lines)? != self.code_type;
        let is_instruction = match self.layout.shape.chain {
            Chain::Objects | Chain::Unrecorded => (instruction as u32 as i32) >= -1,
            // The number of instructions of 2 bytes is the length of the object.
            _ => {
                let start = code.wrapping_add(fields.instructions);
                let offset = instruction.wrapping_add(2).wrapping_sub(start);
                offset <= 2 * word(OBJECT_LENGTH)?.wrapping_add(1)
            }
        };
        let first_line = kernel.half(code.wrapping_add(fields.first_line))?;
        Some(word(OBJECT_TYPE)? == self.code_type && has_names && is_instruction && first_line < LINES_MAX)
    }

    /// From now on we are told when a code object is freed, so that another one in its place is told apart. False where
    /// that cannot be.
    fn watch(&self, kernel: Kernel, free_code: FreeCode) -> bool {
        let place = self.code_type.wrapping_add(TYPE_FREE);
        let Some(own) = kernel.word(place).filter(|own| *own != 0) else { return false };
        if own == free_code as usize {
            return true; // a child has its parent's
        }
        if !kernel.is_writable(place) {
            return false;
        }
        FREE_CODE.store(own, Ordering::Release);
        // SAFETY: an aligned word of the type, in a page that can be written, which was found to be a function like ours.
        let word = unsafe { &*(place as *const AtomicUsize) };
        word.compare_exchange(own, free_code as usize, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}
