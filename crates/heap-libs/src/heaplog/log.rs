//! The log of a process: where its next line goes, and what happens to it at the end.
//!
//! ```text
//!   new -> opening -> open -> ending -> truncated   the file is as long as its lines; further ones are written by
//!             |        |                            system call; open again when an exec has failed
//!             |        \----> full                  no room, or the file was removed: lines are counted
//!             \-> none                              it could not be made
//! ```
//! It stands in memory that a forked child finds empty, so a child begins its own, whatever its parent's threads
//! were at: heaphook's children waited for its lock, or wrote into its log.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, compiler_fence};

use heapscribe_interpose::{Line, setting};
use heapscribe_nolibc::sys::{self, Advice, Errno};

use super::file::LogFile;
use super::line::{Style, Text};
use super::windows::{MAPPED_BYTES, WINDOW_BYTES, Windows};

const NEW: u32 = 0;
const OPENING: u32 = 1;
const OPEN: u32 = 2;
const TRUNCATED: u32 = 3;
const FULL: u32 = 4;
const NONE: u32 = 5;
const ENDING: u32 = 6;

/// In `cursor`: from here on lines are written by system call.
const STOPPED: u64 = 1 << 63;

const TRY_AGAIN_NS: u64 = 50_000;
const TRIES: u32 = 20_000;

/// The log. All zeros is a new one.
#[derive(Debug)]
pub(super) struct Log {
    state: AtomicU32,
    pid: AtomicU32,
    is_csv: AtomicU32,
    /// Where the next line goes.
    cursor: AtomicU64,
    /// The first offset that could not be reserved.
    missing: AtomicU64,
    /// Lines that could not be written.
    lost: AtomicU64,
    /// Which file standard error was at the beginning.
    standard_error: [AtomicU64; 2],
    windows: Windows,
    /// Written while the log is opened, only read afterwards.
    file: UnsafeCell<LogFile>,
}

static LOG: AtomicPtr<Log> = AtomicPtr::new(core::ptr::null_mut());

/// The log's memory, for this process and its children.
pub(super) fn prepare() -> Result<(), Errno> {
    let len = size_of::<Log>().next_multiple_of(4096);
    let at = sys::map_private(len)?;
    // SAFETY: a mapping of ours that nobody knows yet.
    unsafe { sys::advise(at, len, Advice::WipeOnFork) }?;
    LOG.store(at.cast(), Ordering::Release);
    Ok(())
}

/// This process's log, if lines can go there.
#[inline(always)]
pub(super) fn current() -> Option<&'static Log> {
    // SAFETY: null, or memory that stays, as large as a log; zeros are one.
    let log = unsafe { LOG.load(Ordering::Acquire).as_ref() }?;
    if log.state.load(Ordering::Acquire) == OPEN || log.is_ready() { Some(log) } else { None }
}

/// Where a line is written.
#[derive(Debug)]
pub(super) struct ReservedLine {
    log: &'static Log,
    position: u64,
    len: usize,
    /// Null when the line is to be written by system call.
    at: *mut u8,
}

impl Log {
    /// In which form lines are.
    #[inline(always)]
    pub(super) fn style(&self) -> Style {
        if self.is_csv.load(Ordering::Relaxed) == 0 { Style::Calls } else { Style::Csv }
    }

    /// Writes a line.
    pub(super) fn line(&'static self, text: &Text) {
        if let Some(line) = self.reserve(text) {
            line.write(text);
            line.finish();
        }
    }

    /// Reserves room for a line as long as this one: the next in the log. `None`, and counted, when there is none.
    pub(super) fn reserve(&'static self, text: &Text) -> Option<ReservedLine> {
        let len = text.as_bytes().len();
        let cursor = self.cursor.fetch_add(len as u64, Ordering::AcqRel);
        let position = cursor & !STOPPED;
        let at = if cursor & STOPPED == 0 {
            self.window(position, len as u64)
        } else {
            self.wait_for_truncation()
        };
        if at.is_none() {
            self.missing.fetch_min(position, Ordering::AcqRel);
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Some(ReservedLine { log: self, position, len, at: at? })
    }

    #[inline(always)]
    fn window(&self, position: u64, len: u64) -> Option<*mut u8> {
        let (first, last) = (position / WINDOW_BYTES, (position + len - 1) / WINDOW_BYTES);
        let map = |number| self.map(number);
        let at = self.windows.get(first, map)?;
        if first != last {
            // What the line has there is counted there, so the window must be known.
            self.windows.get(last, map);
        }
        // SAFETY: the window is mapped from there for all that a line can be long.
        Some(unsafe { at.add((position % WINDOW_BYTES) as usize) })
    }

    fn map(&self, number: u64) -> Option<*mut u8> {
        let file = self.file()?;
        match file.map(number) {
            Ok(at) => {
                // It has made the file longer again.
                let cursor = self.cursor.load(Ordering::Acquire);
                if cursor & STOPPED != 0 && self.state.load(Ordering::Acquire) == TRUNCATED {
                    let _ = file.truncate(cursor & !STOPPED);
                }
                Some(at)
            }
            Err(Errno(number)) => {
                if self.state.compare_exchange(OPEN, FULL, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    let line = Line::new().text(file.path()).text(b" ends here (error ");
                    self.report(line.number(number.unsigned_abs().into()).text(b"): lines are lost"));
                }
                None
            }
        }
    }

    /// Waits until the file is as long as its lines.
    fn wait_for_truncation(&self) -> Option<*mut u8> {
        for _ in 0..TRIES {
            match self.state.load(Ordering::Acquire) {
                TRUNCATED | OPEN => return Some(core::ptr::null_mut()),
                ENDING => sys::sleep_ns(TRY_AGAIN_NS),
                _ => break,
            }
        }
        None
    }

    /// The file, once it is made.
    fn file(&self) -> Option<&LogFile> {
        let is_made = matches!(self.state.load(Ordering::Acquire), OPEN | ENDING | TRUNCATED | FULL);
        // SAFETY: these states come after it was written, and it is not written again.
        is_made.then(|| unsafe { &*self.file.get() })
    }

    #[cold]
    #[inline(never)]
    fn is_ready(&self) -> bool {
        for _ in 0..TRIES {
            match self.state.load(Ordering::Acquire) {
                NEW => self.open(),
                OPENING => sys::sleep_ns(TRY_AGAIN_NS),
                FULL => {
                    self.lost.fetch_add(1, Ordering::Relaxed);
                    return false;
                }
                state => return matches!(state, OPEN | ENDING | TRUNCATED),
            }
        }
        false
    }

    /// Makes the file. Signals are held back, so that no handler of this thread's waits for it.
    fn open(&self) {
        let _blocked = sys::SignalsBlocked::new();
        if self.state.compare_exchange(NEW, OPENING, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return;
        }
        let pid = sys::pid();
        self.pid.store(pid, Ordering::Relaxed);
        self.is_csv.store(u32::from(is_csv()), Ordering::Relaxed);
        self.missing.store(u64::MAX, Ordering::Relaxed);
        let (device, inode) = sys::standard_error().map_or((0, 0), |stat| stat.identity);
        self.standard_error[0].store(device, Ordering::Relaxed);
        self.standard_error[1].store(inode, Ordering::Relaxed);
        // SAFETY: only the thread that moved the state to OPENING is here.
        let file = unsafe { &mut *self.file.get() };
        let state = match file.create(pid) {
            Ok(()) => OPEN,
            Err(Errno(number)) => {
                let line = Line::new().text(file.path()).text(b" can not be made (error ");
                self.report(line.number(number.unsigned_abs().into()).text(b"): there is no log"));
                NONE
            }
        };
        self.state.store(state, Ordering::Release);
    }

    /// Prints a line, if standard error is still the file that it was.
    fn report(&self, line: Line) {
        let was = self.standard_error.each_ref().map(|part| part.load(Ordering::Relaxed));
        if sys::standard_error().is_ok_and(|stat| was == [stat.identity.0, stat.identity.1]) {
            line.print();
        }
    }

    /// The process ends: the file becomes as long as its lines.
    fn end(&self) {
        // A child that has its parent's memory is not the one whose log this is.
        if self.pid.load(Ordering::Relaxed) != sys::pid() {
            return;
        }
        let was_open =
            self.state.compare_exchange(OPEN, ENDING, Ordering::AcqRel, Ordering::Acquire) != Err(TRUNCATED);
        let Some(file) = self.file().filter(|_| was_open) else { return };
        let cursor = self.cursor.fetch_or(STOPPED, Ordering::AcqRel) & !STOPPED;
        let _ = file.truncate(cursor.min(self.missing.load(Ordering::Acquire)));
        let _ = self.state.compare_exchange(ENDING, TRUNCATED, Ordering::AcqRel, Ordering::Relaxed);
        let lost = self.lost.load(Ordering::Relaxed);
        if lost > 0 {
            self.report(
                Line::new().number(lost).text(b" lines are missing at the end of ").text(file.path()),
            );
        }
    }

    /// Lines go into windows again, once the file has the room that was cut off.
    fn resume(&self) {
        let is_late = self.state.load(Ordering::Acquire) == TRUNCATED;
        let Some(file) = self.file().filter(|_| is_late && self.pid.load(Ordering::Relaxed) == sys::pid())
        else {
            return;
        };
        let number = (self.cursor.load(Ordering::Acquire) & !STOPPED) / WINDOW_BYTES;
        if (number..=number + 1).all(|number| file.allocate(number).is_ok()) {
            self.cursor.fetch_and(!STOPPED, Ordering::AcqRel);
            let _ = self.state.compare_exchange(TRUNCATED, OPEN, Ordering::AcqRel, Ordering::Relaxed);
        }
    }
}

/// This process ends, or executes another program.
pub(super) fn end() {
    // SAFETY: null, or memory that stays, as large as a log; zeros are one.
    if let Some(log) = unsafe { LOG.load(Ordering::Acquire).as_ref() } {
        log.end();
    }
}

/// An exec has failed: the process goes on.
pub(super) fn resume() {
    // SAFETY: null, or memory that stays, as large as a log; zeros are one.
    if let Some(log) = unsafe { LOG.load(Ordering::Acquire).as_ref() } {
        log.resume();
    }
}

impl ReservedLine {
    /// Whether no other line was reserved behind this one.
    pub(super) fn is_last(&self) -> bool {
        self.log.cursor.load(Ordering::Acquire) == self.position + self.len as u64
    }

    /// Writes the line, or writes it anew; it is as long as that which the place was reserved for.
    pub(super) fn write(&self, text: &Text) {
        let bytes = text.as_bytes();
        debug_assert_eq!(bytes.len(), self.len);
        if self.at.is_null() {
            if let Some(file) = self.log.file() {
                let _ = file.write(self.position, bytes);
            }
            return;
        }
        let (_, chunks) = bytes.as_rchunks::<8>();
        let (Some((last, rest)), Some(first)) = (chunks.split_last(), bytes.first_chunk::<8>()) else {
            return;
        };
        let put = |at: usize, chunk: &[u8; 8]| {
            // SAFETY: the place is this line's only, as long as the line, and mapped until it is done.
            unsafe { self.at.add(at).cast::<[u8; 8]>().write_unaligned(*chunk) };
        };
        // First the end: of a program that is killed here, the next line is whole.
        put(bytes.len() - 8, last);
        compiler_fence(Ordering::Release);
        for (i, chunk) in rest.iter().rev().enumerate() {
            put(bytes.len() - 8 * (i + 2), chunk);
        }
        put(0, first);
    }

    /// The line is complete: nothing is written there from now on.
    pub(super) fn finish(self) {
        if !self.at.is_null() {
            self.log.windows.written(self.position, self.len as u64, |window| {
                // SAFETY: a window of `LogFile::map`; all of it is written, so nobody has an address in it.
                let _ = unsafe { sys::unmap(window, MAPPED_BYTES) };
            });
        }
    }
}

fn is_csv() -> bool {
    let read = |value: &[u8]| match value {
        b"csv" => true,
        b"calls" | b"" => false,
        other => {
            let line = Line::new().text(b"HEAPLOG_FORMAT=").text(other.get(..64).unwrap_or(other));
            line.text(b" is neither calls nor csv; calls is used").print();
            false
        }
    };
    setting::with(c"HEAPLOG_FORMAT", read).unwrap_or(false)
}
