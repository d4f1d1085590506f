//! Stacks with the frames of PHP: as those of any interpreter (`interpreted`), but for the line of the innermost frame,
//! which is found first, and the calls of the loop, which are found by its registers.
#![allow(unsafe_code)]

use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::StackId;

use super::bounds;
use super::capture::Capture;
use super::composed::{Interpreted, composed};
use super::native::Native;
use crate::interpreter::chain::Walked;
use crate::interpreter::met;
use crate::interpreter::php::calls;
use crate::interpreter::php::chain::{BEYOND, PhpFrames};
use crate::interpreter::php::check::{self, Php};
use crate::interpreter::php::instruction::Known;
use crate::interpreter::php::loops::At;
use crate::interpreter::php::source::Source;
use crate::interpreter::read::{Direct, Kernel, Read};
use crate::platform::thread_pointer::thread_pointer;
use crate::state::{CachedStacks, Index};
use crate::unwind::{Frame, PathHash};

/// The number of a stack with its PHP frames; `None` where there are none.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active.
#[inline(never)]
pub(super) unsafe fn with_php(capture: &Capture<'_>, native: Native) -> Option<StackId> {
    let (session, pointer) = (capture.session, thread_pointer());
    let kernel = Kernel { pid: session.pid };
    // SAFETY: the registers are the caller's.
    let php = check::current().or_else(|| unsafe { checked(capture, kernel, pointer) })?;
    if php.thread != pointer {
        return None;
    }
    let id = native.id();
    // SAFETY: the registers are the caller's. Direct reads: this is the one thread that runs PHP, which neither changes
    // its frames nor frees their functions meanwhile; it is not in a signal handler that has interrupted their change.
    let both = unsafe {
        match native {
            Native::Usual(_) => number(capture, native, php, Direct::new()),
            Native::Unusual(_) => number(capture, native, php, kernel),
        }
    };
    Some(both.unwrap_or_else(|| {
        session.head.count_loss(LossReason::InterpretedFrames);
        id
    }))
}

/// The PHP of this thread, if it is one: the first block that a script asks for finds it, and has frames already.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active.
#[cold]
unsafe fn checked(capture: &Capture<'_>, kernel: Kernel, pointer: usize) -> Option<&'static Php> {
    let session = capture.session;
    if check::is_due()
        && let Some(at) = place(capture)
    {
        // SAFETY: the registers are the caller's, on a stack that was found, and this thread is inside the call.
        unsafe { check::check(at, kernel, pointer) };
    }
    met::define(&session.interpreters, &session.definitions, &session.lock);
    check::current()
}

/// Where the thread is, if its stack has room for a walk with all registers.
#[cold]
fn place<'a>(capture: &Capture<'a>) -> Option<At<'a>> {
    let stack = bounds::find(capture)?.range;
    let Capture { registers, unwinder, .. } = *capture;
    bounds::has_room(capture, stack).then_some(At { unwinder, registers, stack })
}

/// The number of both; `None` when the frames cannot be read, or there is no room for them.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active.
#[inline(always)]
unsafe fn number<R: Read>(capture: &Capture<'_>, native: Native, php: &Php, read: R) -> Option<StackId> {
    let session = capture.session;
    // SAFETY: the frames are the thread's own, and one hook at a time uses them.
    let frames = unsafe { &mut *capture.thread.php.get() };
    let innermost = php.innermost(read)?;
    if innermost == 0 {
        frames.end();
        return Some(native.id());
    }
    let mut source = Source { read, php, innermost, line: 0 };
    if let Some(function) = source.user_function(innermost)? {
        // SAFETY: the registers are the caller's.
        source.line = unsafe { innermost_line(capture, native, &source, function) };
    }
    let hash = match frames.walk(&source, &session.php) {
        Walked::Known(hash) => hash,
        walked => met_first(capture, frames, &source, walked)?,
    };
    let key = hash.joined(native.stack().hash);
    if let Some(id) = session.interner.find(key) {
        return Some(id);
    }
    let kernel = Kernel { pid: session.pid };
    // SAFETY: the registers are the caller's, on the stack that was found, and this thread is inside the call.
    unsafe {
        let at = place(capture)?;
        composed(capture, key, Frames { frames, at, php, kernel })
    }
}

/// The line of the innermost frame, which runs this function; 0: it is not sure.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active.
#[inline(always)]
unsafe fn innermost_line<R: Read>(
    capture: &Capture<'_>,
    native: Native,
    source: &Source<'_, R>,
    function: usize,
) -> u32 {
    let Capture { registers, session, .. } = *capture;
    let own = (&raw const source) as usize;
    let known = Known { functions: &session.php, stack: native.id(), registers, own };
    let range = capture.thread.stack.get().filter(|range| range.contains(registers.sp));
    if let Some(line) = known.line(source, function, range) {
        return line;
    }
    let kernel = Kernel { pid: session.pid };
    // SAFETY: the registers are the caller's, on the stack that was found, and this thread is inside the call.
    unsafe {
        let Some(at) = place(capture) else { return 0 };
        known.find_line(source, function, at, kernel, &session.lock)
    }
}

/// Defines what a walk has met for the first time, and makes room: the hash of all.
#[cold]
#[inline(never)]
fn met_first<R: Read>(
    capture: &Capture<'_>,
    frames: &mut PhpFrames,
    source: &Source<'_, R>,
    mut walked: Walked,
) -> Option<PathHash> {
    let session = capture.session;
    loop {
        walked = match walked {
            Walked::Known(hash) => return Some(hash),
            Walked::Nothing | Walked::Unreadable => return None,
            Walked::New(index) => {
                let (key, raw) = (frames.key(index)?, frames.raw(index)?);
                let (definitions, lock) = (&session.definitions, &session.lock);
                session.php.define(key, raw, source, &session.functions, definitions, lock)?;
                frames.resolve(&session.php)
            }
            Walked::NoRoom => {
                let has_grown = session.lock.hold().is_some_and(|held| frames.grow(&held));
                has_grown.then(|| frames.walk(source, &session.php))?
            }
        };
    }
}

/// The frames of PHP on the calling thread's stack.
struct Frames<'a> {
    frames: &'a mut PhpFrames,
    /// Where the calling thread is, while it is inside the call.
    at: At<'a>,
    php: &'a Php,
    kernel: Kernel,
}

impl Interpreted for Frames<'_> {
    fn len(&self) -> usize {
        self.frames.len()
    }

    fn find_calls(&mut self) -> bool {
        // SAFETY: `at` has the registers of this thread's caller, which is active, and this thread is inside the call.
        unsafe { calls::find(self.frames, self.at, self.php, self.kernel) }
    }

    /// Frames that no call of the loop runs any more, of PHP's own end, are the outermost.
    fn merge(&self, stacks: &mut CachedStacks, index: Index) -> Option<usize> {
        let (native, frames) = stacks.stack_and_frames(index)?;
        let (mut left, mut count) = (self.frames.len(), 0);
        let mut put = |frame: Frame| -> Option<()> {
            *frames.get_mut(count)? = frame;
            count += 1;
            Some(())
        };
        for (at, cached) in native.walked().iter().enumerate().rev() {
            let begin = native.slot(at)?.wrapping_add(8);
            while let Some(next) = left.checked_sub(1) {
                let (frame, call) = self.frames.frame(next)?;
                if call >= native.slot_before(at) {
                    break; // of a call further out
                }
                if call < begin {
                    return None;
                }
                frame.map_or(Some(()), &mut put)?;
                left = next;
            }
            if cached.frame != Frame::default() {
                put(cached.frame)?;
            }
        }
        for index in (0..left).rev() {
            let (frame, call) = self.frames.frame(index)?;
            (call == BEYOND).then_some(())?;
            frame.map_or(Some(()), &mut put)?;
        }
        Some(count)
    }
}
