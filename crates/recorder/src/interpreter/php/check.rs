//! Whether there is a PHP whose frames can be read: looked for among the modules that stacks run through, then checked
//! on a thread that runs it. What does not fit leaves stacks native.
//!
//! ```text
//!   nothing -> candidate -> reading        a module that has the interpreter's loop; frames as expected on a thread
//!                        '> refused        of another version or build, or loaded so that it may be unloaded
//! ```
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

use heapscribe_nolibc::loader::{Loader, ModuleText};
use heapscribe_wire::frames_read::FramesRead;
use heapscribe_wire::language::Language;

use super::layout::{
    ENTRY_TYPE, EVAL, INSTRUCTION_BYTES, INTERNAL, LINE, Layout, MODULE_BUILD, MODULE_BYTES,
    MODULE_INTERFACE, POINTER, STRING_BYTES, STRING_LENGTH, TABLE_COUNT, TABLE_ENTRIES, USER, V8_2,
    version_of,
};
use super::loop_code::LoopCode;
use super::loops::{At, Loops};
use crate::interpreter::read::{Kernel, Read};
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
/// So many are not spoken of.
const MISFITS_AT_FIRST: u32 = 4;
/// After the first captures, one of so many is used for a check.
const CAPTURES_BETWEEN: u32 = 256;
/// Frames that a check looks at.
const FRAMES_CHECKED: usize = 1000;
/// No line is beyond.
const LINES_MAX: usize = 1 << 24;
const NAME_BYTES_MAX: usize = 1 << 16;

/// A PHP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Php {
    /// Where it keeps what.
    pub layout: Layout,
    /// Its loop.
    pub code: LoopCode,
    /// The thread pointer of the thread that runs it.
    pub thread: usize,
    /// `executor_globals`.
    globals: usize,
    /// `module_registry`.
    modules: usize,
    version: u32,
}

struct Place(UnsafeCell<Php>);
// SAFETY: written by the one thread that has set CHECKING; read after READING was seen.
unsafe impl Sync for Place {}
static PHP: Place = Place(UnsafeCell::new(Php::NONE));

/// Why a PHP is not believed.
enum Unchecked {
    /// The thread does not run it, or it is not made yet.
    NotYet,
    /// Something else is where something was expected.
    Other,
    /// Its frames are not read.
    Never(FramesRead),
}

/// A module that stacks are found to run through: is it PHP?
#[cold]
pub(in crate::interpreter) fn meet(text: &ModuleText, loader: &Loader) {
    let find = |name: &[u8]| {
        let found = loader.find_in_module_of(name, text.start as *const ());
        found.map(|address| address as usize)
    };
    let Some(start) = find(b"execute_ex").filter(|_| find(b"zend_vm_kind").is_some()) else { return };
    if STATE.compare_exchange(NOTHING, CHECKING, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    // SAFETY: the module is loaded, as the calling thread is to return to it.
    let segments = unsafe { text.code(start).zip(text.segment(text.eh_frame_hdr)) };
    let code = segments.and_then(|(code, tables)| LoopCode::find(text, code, tables, start));
    let places = find(b"executor_globals").zip(find(b"module_registry"));
    let candidate = match (code, places) {
        _ if find(b"executor_globals_offset").is_some() => Err(FramesRead::THREADS),
        _ if !loader.is_initial(text) => Err(FramesRead::UNLOADABLE),
        (Some(code), Some((globals, modules))) => Ok(Php { code, globals, modules, ..Php::NONE }),
        _ => Err(FramesRead::LAYOUT),
    };
    let next = match candidate {
        Ok(candidate) => {
            // SAFETY: this thread has set CHECKING.
            unsafe { *PHP.0.get() = candidate };
            // With a heap of its own it may make no recorded call at all while it runs a script.
            candidate.note(FramesRead::UNTRIED, CANDIDATE)
        }
        Err(frames) => Php::NONE.note(frames, REFUSED),
    };
    set_state(next);
}

fn set_state(next: u32) {
    STATE.store(next, Ordering::Release);
    possible::set(possible::PHP, next != REFUSED);
}

/// The PHP whose frames can be read.
#[inline(always)]
pub(crate) fn current() -> Option<&'static Php> {
    // SAFETY: written before READING was set, and not after.
    (STATE.load(Ordering::Acquire) == READING).then(|| unsafe { &*PHP.0.get() })
}

/// Whether this capture is one to check it by: there are frames.
pub(crate) fn is_due() -> bool {
    // SAFETY: written before CANDIDATE was set, and then by a check of this or another thread, which changes no address
    // of what is read here: a word of the module's own data, which stays.
    let has_frames = || unsafe {
        let globals = (&raw const (*PHP.0.get()).globals).read();
        (globals.wrapping_add(V8_2.current) as *const usize).read_volatile() != 0
    };
    if STATE.load(Ordering::Acquire) != CANDIDATE || !has_frames() {
        return false;
    }
    let count = CAPTURES.fetch_add(1, Ordering::Relaxed) + 1;
    count.is_power_of_two() || count.is_multiple_of(CAPTURES_BETWEEN)
}

/// Checks it on the calling thread, unless another one does so.
///
/// # Safety
/// * As of [`Loops::new`].
#[cold]
#[inline(never)]
pub(crate) unsafe fn check(at: At<'_>, kernel: Kernel, thread_pointer: usize) {
    if STATE.compare_exchange(CANDIDATE, CHECKING, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    // SAFETY: this thread has set CHECKING.
    let php = unsafe { &mut *PHP.0.get() };
    // SAFETY: the registers are the caller's, and this thread is inside the call.
    let next = match unsafe { php.check(at, kernel, thread_pointer) } {
        Ok(()) => php.note(FramesRead::YES, READING),
        Err(Unchecked::NotYet) => CANDIDATE,
        Err(Unchecked::Never(frames)) => php.note(frames, REFUSED),
        Err(Unchecked::Other) => match MISFITS.fetch_add(1, Ordering::Relaxed) {
            ..MISFITS_AT_FIRST => CANDIDATE,
            // It is no other if it fits later.
            MISFITS_AT_FIRST..MISFITS_MAX => php.note(FramesRead::LAYOUT, CANDIDATE),
            _ => php.note(FramesRead::LAYOUT, REFUSED),
        },
    };
    set_state(next);
}

impl Php {
    const NONE: Php =
        Php { layout: V8_2, code: LoopCode::NONE, thread: 0, globals: 0, modules: 0, version: 0 };

    #[cfg(test)]
    pub(super) fn of_tests() -> Php {
        Php::NONE
    }

    /// Notes whether its frames are read; the state that it is in now.
    fn note(&self, frames: FramesRead, state: u32) -> u32 {
        met::note(Language::PHP, self.version, frames);
        state
    }

    /// The innermost frame; 0 for none.
    #[inline(always)]
    pub(crate) fn innermost<R: Read>(&self, read: R) -> Option<usize> {
        read.word(self.globals.wrapping_add(self.layout.current))
    }

    /// Checks all that is read on the calling thread.
    ///
    /// # Safety
    /// * As of [`Loops::new`].
    unsafe fn check(&mut self, at: At<'_>, kernel: Kernel, thread_pointer: usize) -> Result<(), Unchecked> {
        if self.version == 0 {
            self.version = self.find_version(kernel)?;
        }
        self.layout = Layout::of(self.version).ok_or(Unchecked::Never(FramesRead::VERSION))?;
        // SAFETY: the registers are the caller's, and this thread is inside the call.
        let call = unsafe { Loops::new(at, &self.code).next() }.ok_or(Unchecked::NotYet)?;
        let mut frame = self.innermost(kernel).ok_or(Unchecked::Other)?;
        if frame == 0 {
            return Err(Unchecked::NotYet);
        }
        let mut is_met = false;
        for _ in 0..FRAMES_CHECKED {
            let is_frame = self.is_frame(kernel, frame).unwrap_or(false);
            is_frame.then_some(()).ok_or(Unchecked::Other)?;
            is_met |= call.frame == Some(frame);
            let previous = kernel.word(frame.wrapping_add(self.layout.frame.previous));
            frame = previous.ok_or(Unchecked::Other)?;
            if frame == 0 {
                break;
            }
        }
        self.thread = thread_pointer;
        (is_met && frame == 0).then_some(()).ok_or(Unchecked::Other)
    }

    /// The version, by the interface that its own modules are made for.
    fn find_version(&self, kernel: Kernel) -> Result<u32, Unchecked> {
        let count = kernel.half(self.modules.wrapping_add(TABLE_COUNT)).ok_or(Unchecked::Other)?;
        let entries = kernel.word(self.modules.wrapping_add(TABLE_ENTRIES)).ok_or(Unchecked::Other)?;
        if count == 0 {
            return Err(Unchecked::NotYet);
        }
        let kind = kernel.half(entries.wrapping_add(ENTRY_TYPE)).ok_or(Unchecked::Other)?;
        let module = kernel.word(entries).filter(|_| kind & 0xff == POINTER).ok_or(Unchecked::Other)?;
        let half = |field: usize| kernel.half(module.wrapping_add(field)).ok_or(Unchecked::Other);
        let is_module = half(0)? & 0xffff == MODULE_BYTES as u32;
        let version = version_of(half(MODULE_INTERFACE)?);
        match half(MODULE_BUILD)? {
            _ if !is_module || version == 0 => Err(Unchecked::Never(FramesRead::VERSION)),
            build if build & 0xff00 != 0 => Err(Unchecked::Never(FramesRead::THREADS)),
            build if build & 0xff != 0 => Err(Unchecked::Never(FramesRead::DEBUG_BUILD)),
            _ => Ok(version),
        }
    }

    /// Whether there is a frame of a function with names, at an instruction of it.
    fn is_frame(&self, kernel: Kernel, frame: usize) -> Option<bool> {
        let (fields, of) = (&self.layout.frame, &self.layout.function);
        let [instruction, function] = kernel.words(frame, [fields.instruction, fields.function])?;
        if function == 0 {
            return Some(true);
        }
        let [name, class] = kernel.words(function, [of.name, of.class])?;
        let has_name = name == 0 || is_name(kernel, name)?;
        match kernel.word(function)? & 0xff {
            INTERNAL => Some(has_name && (class == 0 || class.is_multiple_of(8))),
            USER | EVAL => {
                let [count, start, file, lines] =
                    kernel.words(function, [of.count, of.instructions, of.file, of.lines])?;
                let line = kernel.word(instruction.wrapping_add(LINE))? as u32 as usize;
                let is_within = is_instruction(instruction, start, count);
                let has_lines = lines as u32 as usize <= lines >> 32 && line < LINES_MAX;
                Some(has_name && is_within && has_lines && is_name(kernel, file)?)
            }
            _ => Some(false),
        }
    }
}

/// Whether an instruction is one of so many that begin at `start`; the number is the lower half of a word.
#[inline(always)]
pub(super) fn is_instruction(instruction: usize, start: usize, count: usize) -> bool {
    let offset = instruction.wrapping_sub(start);
    offset < INSTRUCTION_BYTES * (count as u32 as usize) && offset.is_multiple_of(INSTRUCTION_BYTES)
}

/// Whether there is a string that may be a name.
fn is_name(kernel: Kernel, string: usize) -> Option<bool> {
    let length = kernel.word(string.wrapping_add(STRING_LENGTH))?;
    let end = kernel.half(string.wrapping_add(STRING_BYTES).wrapping_add(length))?;
    Some((1..NAME_BYTES_MAX).contains(&length) && end & 0xff == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_is_a_whole_one_of_its_function() {
        let check = |instruction, expected| {
            assert_eq!(
                is_instruction(instruction, 0x1000, 0xffff_0000_0000 | 3),
                expected,
                "{instruction:#x}"
            );
        };
        for (instruction, expected) in
            [(0xfe0, false), (0x1000, true), (0x1008, false), (0x1040, true), (0x1060, false)]
        {
            check(instruction, expected);
        }
    }

    #[test]
    fn a_name_ends_where_its_length_says() {
        let kernel = Kernel { pid: std::process::id() };
        let check = |length: usize, bytes: &[u8; 16], expected| {
            let mut string = [0u8; 40];
            string[STRING_LENGTH..STRING_BYTES].copy_from_slice(&length.to_ne_bytes());
            string[STRING_BYTES..].copy_from_slice(bytes);
            assert_eq!(is_name(kernel, string.as_ptr() as usize), expected, "{length}");
        };
        check(5, b"order\0\0\0\0\0\0\0\0\0\0\0", Some(true));
        check(4, b"order\0\0\0\0\0\0\0\0\0\0\0", Some(false));
        check(0, &[0; 16], Some(false));
        assert_eq!(is_name(kernel, 8), None);
    }
}
