//! Unwinding information that the program registers at run time for code that is in no module:
//! `__register_frame`, as LLVM's and other JIT compilers call it.
//!
//! A table of fixed size that all threads read without a lock. A section is measured by the thread that
//! registers it: whoever can throw through code of that section reads it as far. A lookup counts itself as a
//! user of the section; whoever deregisters the section waits for its users, a millisecond at most.
//!
//! | word  | of a section                                                                     |
//! |-------|----------------------------------------------------------------------------------|
//! | begin | the address it was registered by; 0: free, 1: being changed                      |
//! | bytes | all bytes of it, the common entries too                                          |
//! | code  | from the first address of its functions to the last                              |
//! | users | lookups that read it now                                                         |
#![allow(unsafe_code)]

use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};

use super::cfi::{Extent, Listed};
use super::pc_cache::PcCache;
use super::rule::Rule;
use heapscribe_nolibc::loader::Segment;
use heapscribe_nolibc::sys;

/// Sections at once: a JIT compiler has one for each piece of code that it has made.
pub const SECTIONS_MAX: usize = 4096;
/// A section has at most this many bytes; what is behind is not seen.
pub const SECTION_BYTES_MAX: usize = 64 << 20;

const FREE: usize = 0;
const CHANGING: usize = 1;

/// How long a section's readers are waited for: naps, and their length.
const NAPS_MAX: usize = 20;
const NAP_NS: u64 = 50_000;

struct Bounds {
    start: AtomicUsize,
    end: AtomicUsize,
}

impl Bounds {
    const fn new() -> Bounds {
        Bounds { start: AtomicUsize::new(0), end: AtomicUsize::new(0) }
    }

    fn get(&self) -> Range<usize> {
        self.start.load(Ordering::Relaxed)..self.end.load(Ordering::Relaxed)
    }

    fn set(&self, range: &Range<usize>) {
        self.start.store(range.start, Ordering::Relaxed);
        self.end.store(range.end, Ordering::Relaxed);
    }
}

struct Section {
    begin: AtomicUsize,
    bytes: Bounds,
    code: Bounds,
    users: AtomicU32,
}

struct Sections {
    sections: [Section; SECTIONS_MAX],
    /// Sections behind this many have never been used.
    used: AtomicUsize,
    /// Registrations and deregistrations so far.
    changes: AtomicU32,
}

static SECTIONS: Sections = Sections {
    sections: [const {
        Section {
            begin: AtomicUsize::new(FREE),
            bytes: Bounds::new(),
            code: Bounds::new(),
            users: AtomicU32::new(0),
        }
    }; SECTIONS_MAX],
    used: AtomicUsize::new(0),
    changes: AtomicU32::new(0),
};

/// How often a section was registered or deregistered: what was worked out before is out of date when it has
/// changed.
pub fn changes() -> u32 {
    SECTIONS.changes.load(Ordering::SeqCst)
}

/// The program has registered the entries at `begin`. False when there is no room for more sections.
///
/// # Safety
/// * `begin` is what the program gave to `__register_frame`: its entries stay until they are deregistered.
pub unsafe fn register(begin: usize, extent: Extent, cache: Option<PcCache>) -> bool {
    // libgcc's __register_frame calls its __register_frame_info where that is ours again.
    deregister(begin, cache);
    // SAFETY: the entries at `begin` stay.
    let Some(bytes) = (unsafe { measure(begin, extent) }) else { return true };
    // SAFETY: the bytes were measured: they are readable, and stay until they are deregistered.
    let Some(code) = (unsafe { listed(begin, &bytes) }).code() else { return true };
    let Some(section) = claim() else { return false };
    section.bytes.set(&bytes);
    section.code.set(&code);
    section.begin.store(begin, Ordering::SeqCst);
    forget(&code, cache);
    true
}

/// The program takes back what it has registered at `begin`.
pub fn deregister(begin: usize, cache: Option<PcCache>) {
    let change = |section: &&Section| {
        section.begin.compare_exchange(begin, CHANGING, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    };
    let Some(section) = in_use().filter(|_| begin > CHANGING).find(change) else { return };
    for _ in 0..NAPS_MAX {
        if section.users.load(Ordering::SeqCst) == 0 {
            break;
        }
        sys::sleep_ns(NAP_NS);
    }
    let code = section.code.get();
    section.users.store(0, Ordering::Relaxed); // a reader that a signal or a fork ended never leaves
    section.begin.store(FREE, Ordering::SeqCst);
    forget(&code, cache);
}

fn in_use() -> impl Iterator<Item = &'static Section> {
    SECTIONS.sections.iter().take(SECTIONS.used.load(Ordering::SeqCst))
}

fn claim() -> Option<&'static Section> {
    let claim = |section: &Section| {
        section.begin.compare_exchange(FREE, CHANGING, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    };
    let (index, section) = SECTIONS.sections.iter().enumerate().find(|(_, section)| claim(section))?;
    SECTIONS.used.fetch_max(index + 1, Ordering::SeqCst);
    Some(section)
}

/// Rules of return addresses of this code are out of date.
fn forget(code: &Range<usize>, cache: Option<PcCache>) {
    // First, so that whoever looked before and caches what it found after us notices.
    SECTIONS.changes.fetch_add(1, Ordering::SeqCst);
    if let Some(cache) = cache {
        cache.forget(code.start..=code.end);
    }
}

/// The rule of return address `pc`, at `instruction`, which is in no module.
pub(super) fn rule_at(pc: usize, instruction: usize, cache: Option<&PcCache>) -> Rule {
    let before = changes();
    let Some(rule) = ask(instruction, |listed| listed.rule_at(instruction)) else { return Rule::NO_INFO };
    if let Some(cache) = cache {
        cache.put(pc, rule);
        fence(Ordering::SeqCst); // either this sees the change, or `forget` sees the rule
        if changes() != before {
            cache.forget(pc..=pc);
        }
    }
    rule
}

/// Asks the sections around `instruction`, until one has an answer.
pub(super) fn ask<T>(instruction: usize, mut question: impl FnMut(&Listed<'_>) -> Option<T>) -> Option<T> {
    in_use().filter(|section| section.code.get().contains(&instruction)).find_map(|section| {
        let begin = section.begin.load(Ordering::SeqCst);
        section.users.fetch_add(1, Ordering::SeqCst);
        let is_still = begin > CHANGING && section.begin.load(Ordering::SeqCst) == begin;
        let answer = if is_still { section.ask(begin, &mut question) } else { None };
        let one_less = |n: u32| n.checked_sub(1);
        let _ = section.users.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
        answer
    })
}

impl Section {
    fn ask<T>(&self, begin: usize, question: impl FnOnce(&Listed<'_>) -> Option<T>) -> Option<T> {
        let bytes = self.bytes.get();
        // A library that was unloaded may have left a section behind.
        if !sys::is_readable(bytes.start) || !sys::is_readable(bytes.end.saturating_sub(8)) {
            return None;
        }
        // SAFETY: the bytes were measured when it was registered, and are not deregistered while it has a user.
        question(&unsafe { listed(begin, &bytes) })
    }
}

/// The entries at `begin`.
///
/// # Safety
/// * `bytes` are readable for `'a`.
unsafe fn listed<'a>(begin: usize, bytes: &Range<usize>) -> Listed<'a> {
    // SAFETY: the bytes are readable for `'a`.
    let slice = unsafe { core::slice::from_raw_parts(bytes.start as *const u8, bytes.len()) };
    Listed { segment: Segment { bytes: slice, address: bytes.start }, begin }
}

/// The bytes of the entries at `begin`, up to the length of 0 or to where nothing can be read, and back to
/// the first common entry that they name.
///
/// # Safety
/// * `begin` is what the program gave to `__register_frame`: its entries stay until they are deregistered.
unsafe fn measure(begin: usize, extent: Extent) -> Option<Range<usize>> {
    const EXTENDED: u64 = u32::MAX as u64;
    let mut pages = Pages::around(begin)?;
    let mut bytes = begin..begin;
    loop {
        let at = bytes.end;
        let (length, body) = match pages.number(at, 4) {
            None | Some(0) => break,
            Some(EXTENDED) => (pages.number(at + 4, 8), at + 12),
            length => (length, at + 4),
        };
        let end = length.and_then(|length| body.checked_add(usize::try_from(length).ok()?));
        let Some(end) = end.filter(|&end| pages.reach(at..end)) else { break };
        bytes.end = end;
        let Some(common_offset) = pages.number(body, 4).filter(|_| end - body >= 4) else { continue };
        let common = body.saturating_sub(common_offset as usize);
        if common_offset != 0 && common < bytes.start && pages.reach(common..at) {
            bytes.start = common;
        }
        if common_offset != 0 && extent == Extent::Entry {
            break;
        }
    }
    (bytes.len() >= 8).then_some(bytes)
}

/// Memory around a section which the kernel could read.
struct Pages {
    begin: usize,
    known: Range<usize>,
}

const PAGE: usize = 4096;

impl Pages {
    fn around(begin: usize) -> Option<Pages> {
        let start = begin & !(PAGE - 1);
        sys::is_readable(start).then(|| Pages { begin, known: start..start + PAGE })
    }

    /// Whether all of `range` can be read.
    fn reach(&mut self, range: Range<usize>) -> bool {
        let is_near = |address: usize| address.abs_diff(self.begin) <= SECTION_BYTES_MAX;
        if !is_near(range.start) || !is_near(range.end) {
            return false;
        }
        while range.start < self.known.start {
            let page = self.known.start - PAGE;
            if !sys::is_readable(page) {
                return false;
            }
            self.known.start = page;
        }
        while range.end > self.known.end {
            if !sys::is_readable(self.known.end) {
                return false;
            }
            self.known.end += PAGE;
        }
        true
    }

    /// The number of `size` bytes at `address`.
    fn number(&mut self, address: usize, size: usize) -> Option<u64> {
        if !self.reach(address..address.checked_add(size)?) {
            return None;
        }
        let mut bytes = [0u8; 8];
        // SAFETY: the kernel could read these pages, and the program has registered them as its section.
        let found = unsafe { core::slice::from_raw_parts(address as *const u8, size) };
        for (to, from) in bytes.iter_mut().zip(found) {
            *to = *from;
        }
        Some(u64::from_le_bytes(bytes))
    }
}
