//! Code that a JIT compiler made, with tables that it registered: walked exactly while they are there.
#![allow(unsafe_code)]

#[path = "stacks/reference.rs"]
mod reference;
mod stacks;

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use heapscribe_recorder::unwind::cfi::Extent;
use heapscribe_recorder::unwind::{
    End, Frame, Place, Registers, StackRange, Step, Walk, full_walk, registered,
};
use proptest::prelude::*;
use reference::{Seen, reference};
use stacks::{Counting, Hook, Stacks, hook, unwinder};

unsafe extern "C" {
    fn mmap(at: *mut c_void, size: usize, access: c_int, flags: c_int, fd: c_int, from: i64) -> *mut c_void;
    fn mprotect(at: *mut c_void, size: usize, access: c_int) -> c_int;
    fn munmap(at: *mut c_void, size: usize) -> c_int;
    fn __register_frame(begin: *const u8);
    fn __deregister_frame(begin: *const u8);
}

const PAGE: usize = 4096;
const READ_WRITE: c_int = 3;
const READ_EXECUTE: c_int = 5;

/// Pages of memory, between pages without access.
struct Pages {
    start: usize,
    size: usize,
}

impl Pages {
    fn new(size: usize) -> Pages {
        // SAFETY: new memory.
        let start = unsafe { mmap(std::ptr::null_mut(), size + 2 * PAGE, 0, 0x22, -1, 0) } as usize;
        assert_ne!(start as isize, -1);
        let pages = Pages { start: start + PAGE, size };
        pages.protect(READ_WRITE);
        pages
    }

    fn protect(&self, access: c_int) {
        // SAFETY: our own memory.
        assert_eq!(unsafe { mprotect(self.start as *mut c_void, self.size, access) }, 0);
    }

    /// Copies bytes to the end, so that what follows cannot be read; where they are.
    fn put_last(&self, bytes: &[u8]) -> usize {
        let at = self.start + self.size - bytes.len();
        // SAFETY: our own memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
        at
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: our own memory.
        unsafe { munmap((self.start - PAGE) as *mut c_void, self.size + 2 * PAGE) };
    }
}

/// A function of a JIT compiler, and what its table says.
#[derive(Clone, Copy)]
struct Compiled {
    code: &'static [u8],
    program: &'static [u8],
}

/// push rbp; mov ebp, 7; sub rsp, 32; call rdi; add rsp, 32; pop rbp; ret
const USUAL: Compiled = Compiled {
    code: &[0x55, 0xbd, 7, 0, 0, 0, 0x48, 0x83, 0xec, 32, 0xff, 0xd7, 0x48, 0x83, 0xc4, 32, 0x5d, 0xc3],
    program: &[0x41, 0x0e, 16, 0x86, 2, 0x49, 0x0e, 48, 0x46, 0x0e, 16, 0x41, 0x0e, 8, 0xc6],
};
/// push rbx; mov rbx, rsp; sub rsp, 48; call rdi; mov rsp, rbx; pop rbx; ret
const BY_RBX: Compiled = Compiled {
    code: &[0x53, 0x48, 0x89, 0xe3, 0x48, 0x83, 0xec, 48, 0xff, 0xd7, 0x48, 0x89, 0xdc, 0x5b, 0xc3],
    program: &[0x41, 0x0e, 16, 0x83, 2, 0x43, 0x0d, 3, 0x49, 0x0d, 7, 0x41, 0x0e, 8, 0xc3],
};

/// Common entry, one entry with absolute addresses, and where the latter begins.
fn section(code: usize, Compiled { code: bytes, program }: Compiled) -> (Vec<u8>, usize) {
    let mut section = vec![20, 0, 0, 0, 0, 0, 0, 0, 1];
    section.extend(b"zR\0\x01\x78\x10\x01\x00");
    section.extend([0x0c, 7, 8, 0x90, 1, 0, 0]);
    let entry = section.len();
    section.extend(((21 + program.len()) as u32).to_le_bytes());
    section.extend((entry as u32 + 4).to_le_bytes());
    section.extend((code as u64).to_le_bytes());
    section.extend((bytes.len() as u64).to_le_bytes());
    section.push(0);
    section.extend(program);
    (section, entry)
}

const END_MARK: [u8; 4] = [0; 4];

fn terminated(mut section: Vec<u8>) -> Vec<u8> {
    section.extend(END_MARK);
    section
}

/// Code in memory that may be executed.
fn load(compiled: Compiled) -> (Pages, usize) {
    let pages = Pages::new(PAGE);
    // gcc's unwinder reads a little behind code that it does not know.
    let code = pages.put_last(&[compiled.code, &[0xcc; 64]].concat());
    pages.protect(READ_EXECUTE);
    (pages, code)
}

fn call(code: usize, hook: Hook) {
    // SAFETY: a function that calls its argument.
    let function: extern "C" fn(Hook) = unsafe { std::mem::transmute(code) };
    function(hook);
}

fn register(begin: usize, extent: Extent) -> bool {
    // SAFETY: a section of this file, deregistered before it goes.
    unsafe { registered::register(begin, extent, unwinder().cache) }
}

fn deregister(begin: usize) {
    registered::deregister(begin, unwinder().cache);
}

/// There is one table in a process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|e| e.into_inner())
}

/// A walk, its frames, and those that gcc's unwinder sees.
type Report = (Walk, Vec<Seen>, Vec<Seen>);

static SEEN: Mutex<Option<Report>> = Mutex::new(None);

extern "C" fn report(sp: usize, bp: usize, pc: usize) {
    let (start, stack) = (Registers { pc, sp, bp }, StackRange::around(sp).unwrap());
    let mut out = vec![Frame::default(); 4096];
    // SAFETY: registers of a hook's caller, in this call of it, and the kernel's bounds.
    let walk = unsafe { full_walk(&unwinder(), &mut Counting::default(), start, stack, &mut out) };
    assert!(out[..walk.frames].iter().all(|frame| !frame.guesses()), "nothing here has a frame pointer");
    let frames = out[..walk.frames].iter().map(|f| (f.address() as usize, f.is_exact())).collect();
    *SEEN.lock().unwrap() = Some((walk, frames, reference(pc)));
}

hook!(report_hook => report);

fn seen(code: usize) -> Report {
    call(code, report_hook);
    SEEN.lock().unwrap().take().unwrap()
}

/// Without the table a walk ends in the code: rbp is no frame pointer there.
fn check_unknown(code: usize) {
    let (walk, ..) = seen(code);
    assert_eq!(walk, Walk { frames: 1, end: End::NoInfo });
}

fn check_exact(code: usize) {
    for _ in 0..2 {
        let (walk, frames, reference) = seen(code);
        assert_eq!(walk.end, End::Complete);
        assert!(frames.len() > 4);
        assert_eq!(frames, reference);
    }
}

fn check_while_registered(compiled: Compiled) {
    let _alone = alone();
    let (_code_pages, code) = load(compiled);
    let pages = Pages::new(PAGE);
    let begin = pages.put_last(&terminated(section(code, compiled).0));
    for _ in 0..3 {
        if compiled.code == USUAL.code {
            check_unknown(code);
        }
        // SAFETY: a section that stays until it is deregistered.
        unsafe { __register_frame(begin as *const u8) };
        assert!(register(begin, Extent::List));
        assert!(register(begin, Extent::List), "a second time, as libgcc does it");
        check_exact(code);
        deregister(begin);
        // SAFETY: registered above.
        unsafe { __deregister_frame(begin as *const u8) };
    }
    if compiled.code == USUAL.code {
        check_unknown(code);
    }
}

#[test]
fn code_is_known_while_its_section_is_registered() {
    check_while_registered(USUAL);
}

#[test]
fn code_that_needs_all_registers() {
    check_while_registered(BY_RBX);
}

/// LLVM's libunwind takes one function's entry: the common entry is before it, and no end mark behind.
#[test]
fn one_entry() {
    let _alone = alone();
    let (_code_pages, code) = load(USUAL);
    let pages = Pages::new(PAGE);
    let (bytes, entry) = section(code, USUAL);
    let begin = pages.put_last(&bytes) + entry;
    assert!(register(begin, Extent::Entry));
    let (walk, ..) = seen(code);
    assert_eq!(walk.end, End::Complete);
    deregister(begin);
    check_unknown(code);
}

/// Several functions in one section, and sections of other code before and behind.
#[test]
fn the_right_one_of_many() {
    let _alone = alone();
    let loaded = [load(USUAL), load(BY_RBX), load(USUAL)];
    let compiled = [USUAL, BY_RBX, USUAL];
    let mut bytes = Vec::new();
    for ((_, code), compiled) in loaded.iter().zip(compiled) {
        bytes.extend(section(*code, compiled).0);
    }
    let pages = Pages::new(PAGE);
    let begin = pages.put_last(&terminated(bytes));
    assert!(register(begin, Extent::List));
    for (_, code) in &loaded {
        let (walk, ..) = seen(*code);
        assert_eq!(walk.end, End::Complete);
    }
    deregister(begin);
    check_unknown(loaded[2].1);
}

#[test]
fn a_full_table_says_so_and_has_room_again() {
    let _alone = alone();
    let pages = Pages::new(80 * registered::SECTIONS_MAX);
    let begin = |n: usize| pages.start + 80 * n;
    for n in 0..registered::SECTIONS_MAX + 1 {
        let bytes = terminated(section(0x1000 + n, USUAL).0);
        assert!(bytes.len() <= 80);
        if n < registered::SECTIONS_MAX {
            // SAFETY: 80 bytes of our own memory.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), begin(n) as *mut u8, bytes.len()) };
            assert!(register(begin(n), Extent::List), "{n}");
        } else {
            let last = Pages::new(PAGE);
            let at = last.put_last(&bytes);
            assert!(!register(at, Extent::List));
            deregister(begin(77));
            assert!(register(at, Extent::List));
            deregister(at);
        }
    }
    (0..registered::SECTIONS_MAX).for_each(|n| deregister(begin(n)));
}

/// Sections come and go, and their memory with them, while other threads walk through code that stays.
#[test]
fn others_come_and_go_meanwhile() {
    let _alone = alone();
    let (_code_pages, code) = load(USUAL);
    let pages = Pages::new(PAGE);
    let begin = pages.put_last(&terminated(section(code, USUAL).0));
    assert!(register(begin, Extent::List));
    let (done, before) = (AtomicBool::new(false), registered::changes());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..500 {
                let pages = Pages::new(PAGE);
                let begin = pages.put_last(&terminated(section(code & !0xfff, USUAL).0));
                assert!(register(begin, Extent::List));
                deregister(begin);
            }
            done.store(true, Ordering::Relaxed);
        });
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let step = step_at(code + 12);
                assert!(matches!(step, Step::Caller(..)), "{step:?}");
                // In the code that comes and goes: there is an answer, whichever.
                step_at((code & !0xfff) + 12);
            }
        });
    });
    assert!(registered::changes() - before >= 1000);
    deregister(begin);
}

/// A step from a frame at `pc`, on a stack of words.
fn step_at(pc: usize) -> Step {
    let words = std::hint::black_box([0x1234usize; 64]);
    let base = words.as_ptr() as usize;
    let stack = StackRange { lo: base, hi: base + size_of_val(&words) };
    let place = Place { stack, is_exact: false };
    let here = Registers { pc, sp: base, bp: 0 };
    // SAFETY: the stack is the array.
    unsafe { unwinder().step(&mut Counting::default(), here, place) }
}

/// Registers bytes that end where nothing can be read, and asks for code that they may be about.
fn check_harmless(bytes: &[u8], begin_at: usize, code: usize) {
    let _alone = alone();
    let pages = Pages::new(PAGE);
    let begin = pages.put_last(bytes) + begin_at;
    for extent in [Extent::List, Extent::Entry] {
        assert!(register(begin, extent));
        for pc in [code, code + 1, code + 12, code + 17, code + 18, usize::MAX, 0] {
            step_at(pc);
        }
        deregister(begin);
    }
    assert_eq!(step_at(code + 12), Step::End(End::Complete), "rbp is 0, and nothing is known");
}

/// Where no module is.
const NOWHERE: usize = 0x10_0000;

#[test]
fn hostile_sections() {
    let (sound, entry) = section(NOWHERE, USUAL);
    check_harmless(&sound, 0, NOWHERE); // without an end
    check_harmless(&sound, entry, NOWHERE);
    for cut in 0..sound.len() {
        check_harmless(&sound[..cut], 0, NOWHERE);
    }
    check_harmless(&END_MARK, 0, NOWHERE);
    for at in [0, entry] {
        for length in [1u32, 3, 0x7fff_ffff, 0xffff_fff0, u32::MAX] {
            let mut bytes = sound.clone();
            bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
            check_harmless(&bytes, 0, NOWHERE);
        }
        let mut bytes = sound.clone();
        bytes.splice(at..at + 4, [&[0xff; 4][..], &[0xff; 7], &[0x7f]].concat());
        check_harmless(&bytes, 0, NOWHERE);
    }
    for common in [1u32, 4, 0x7fff_ffff, u32::MAX] {
        let mut bytes = sound.clone();
        bytes[entry + 4..entry + 8].copy_from_slice(&common.to_le_bytes());
        check_harmless(&bytes, 0, NOWHERE);
    }
    for begin in [0, 1, 8, usize::MAX, usize::MAX - 8, 1 << 63] {
        assert!(register(begin, Extent::List));
        deregister(begin);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sections_with_broken_bytes(
        breaks in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = terminated(section(NOWHERE, BY_RBX).0);
        for (at, byte) in breaks {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        check_harmless(&bytes, 0, NOWHERE);
    }
}

/// The library of stacks is built by others; here it only shows that usual code is still walked.
#[test]
fn usual_code_above_code_of_a_compiler() {
    let _alone = alone();
    let (_code_pages, code) = load(USUAL);
    let pages = Pages::new(PAGE);
    let begin = pages.put_last(&terminated(section(code, USUAL).0));
    // SAFETY: a section that stays until it is deregistered.
    unsafe { __register_frame(begin as *const u8) };
    assert!(register(begin, Extent::List));
    static CODE: Mutex<usize> = Mutex::new(0);
    *CODE.lock().unwrap() = code;
    extern "C" fn through(_sp: usize, _bp: usize, _pc: usize) {
        let code = *CODE.lock().unwrap();
        check_exact(code);
    }
    hook!(through_hook => through);
    Stacks::build("stacks.c", "registered", &["-O2"]).call(c"recurse", through_hook, 30);
    deregister(begin);
    // SAFETY: registered above.
    unsafe { __deregister_frame(begin as *const u8) };
}
