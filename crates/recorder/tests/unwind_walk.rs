//! Walks of live stacks, compared frame by frame with those of gcc's unwinder.
#![allow(unsafe_code)]

#[path = "stacks/reference.rs"]
mod reference;
mod stacks;

use std::ffi::{CStr, c_int};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, OnceLock};

use heapscribe_recorder::unwind::pc_cache::ENTRIES;
use heapscribe_recorder::unwind::{End, Frame, PcCache, Registers, Rule, StackRange, Unwinder, Walk};
use reference::{Seen, reference};
use stacks::{Counting, Stacks, hook, loader, unwinder};

#[derive(Debug)]
struct Report {
    walk: Walk,
    guesses: bool,
    frames: Vec<Seen>,
    warm: (Walk, usize),
    bypassed: Vec<Seen>,
    listed: Vec<Seen>,
    /// While a module is closed: with what was cached for modules that are known, and for others.
    closing: [Vec<Seen>; 2],
    reference: Vec<Seen>,
}

static REPORT: Mutex<Option<Report>> = Mutex::new(None);

/// What came of a walk: its end, the frames, new code, whether any of it is a guess.
fn walk(unwinder: &Unwinder<'_>, start: Registers, limit: usize) -> (Walk, Vec<Seen>, usize, bool) {
    walk_with(&mut Counting::default(), unwinder, start, limit)
}

fn walk_with(
    context: &mut Counting,
    unwinder: &Unwinder<'_>,
    start: Registers,
    limit: usize,
) -> (Walk, Vec<Seen>, usize, bool) {
    let stack = StackRange::around(start.sp).unwrap();
    let mut out = vec![Frame::default(); limit];
    // SAFETY: registers of a hook's caller, and the kernel's bounds.
    let walk = unsafe { unwinder.walk(context, start, stack, &mut out) };
    out.truncate(walk.frames);
    let guesses = out.iter().any(|frame| frame.guesses());
    (walk, out.iter().map(|f| (f.address() as usize, f.is_exact())).collect(), context.new_code, guesses)
}

extern "C" fn report(sp: usize, bp: usize, pc: usize) {
    let start = Registers { pc, sp, bp };
    // Of its own, as other tests' walks would take places in it between the two.
    static MEMORY: [AtomicU64; ENTRIES] = [const { AtomicU64::new(0) }; ENTRIES];
    let own = Unwinder { cache: Some(PcCache::new(&MEMORY)), ..unwinder() };
    let (cold, frames, _, guesses) = walk(&own, start, 4096);
    let (warm, _, new_code, _) = walk(&own, start, 4096);
    let (_, bypassed, ..) = walk(&Unwinder { cache: None, ..unwinder() }, start, 4096);
    let old = loader().without_find_object();
    let (_, listed, ..) = walk(&Unwinder { loader: &old, cache: None, known: None }, start, 4096);
    // A rule that can be told: the leaf has no caller.
    own.cache.as_ref().unwrap().put(pc, Rule::END);
    let closing = [true, false].map(|is_known| {
        let unwinder = Unwinder { cache: None, known: own.cache, ..unwinder() };
        walk_with(&mut Counting { is_known, ..Counting::default() }, &unwinder, start, 4096).1
    });
    own.cache.as_ref().unwrap().forget(pc..=pc);
    let reference = reference(pc);
    *REPORT.lock().unwrap() = Some(Report {
        walk: cold,
        guesses,
        frames,
        warm: (warm, new_code),
        bypassed,
        listed,
        closing,
        reference,
    });
}

hook!(report_hook => report);

/// Runs a function of the library in each way of compiling it, and checks what the hook saw.
fn check(name: &CStr, n: c_int, at_least: usize) {
    check_end(name, n, at_least, End::Complete);
}

fn check_end(name: &CStr, n: c_int, at_least: usize, end: End) {
    static LIBRARIES: OnceLock<Mutex<Vec<Stacks>>> = OnceLock::new();
    let libraries = LIBRARIES.get_or_init(|| {
        let build = |label, options: &[&str]| Stacks::build("stacks.c", label, options);
        Mutex::new(vec![
            build("o2", &["-O2"]),
            build("o0", &["-O0"]),
            build("fp", &["-O2", "-fno-omit-frame-pointer"]),
        ])
    });
    for library in libraries.lock().unwrap_or_else(|e| e.into_inner()).iter() {
        library.call(name, report_hook, n);
        let report = REPORT.lock().unwrap().take().expect("the hook was called");
        println!("{name:?}: {} frames, {:?}", report.frames.len(), report.walk);
        assert_eq!(report.frames, report.reference, "{name:?}");
        assert_eq!(report.walk.end, end);
        assert!(!report.guesses);
        assert!(report.frames.len() >= at_least);
        assert_eq!(report.warm.0, report.walk);
        assert_eq!(report.warm.1, looked_up_again(&report.frames));
        assert_eq!(report.bypassed, report.frames, "without the cache");
        assert_eq!(report.listed, report.frames, "without _dl_find_object");
        assert_eq!(
            report.closing[0],
            report.frames[..1],
            "rules of known modules are used while one is closed"
        );
        assert_eq!(report.closing[1], report.frames, "and of others not");
    }
}

/// How many frames of a stack are looked up again when it is walked again: those that were interrupted. A set of the
/// cache has four places, so the few return addresses of these stacks do not take each other's, wherever modules lie.
fn looked_up_again(frames: &[Seen]) -> usize {
    frames.iter().filter(|&&(_, is_exact)| is_exact).count()
}

#[test]
fn recursion() {
    check(c"recurse", 20, 40);
}

#[test]
fn deep_recursion() {
    check(c"recurse", 1500, 3000);
}

#[test]
fn a_frame_of_megabytes() {
    std::thread::Builder::new()
        .stack_size(16 << 20)
        .spawn(|| check(c"huge_frame", 0, 8))
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn alloca() {
    check(c"variable_frame", 100, 8);
}

#[test]
fn realigned_stack() {
    check(c"realigned_frame", 100, 9);
}

#[test]
fn a_callback_of_qsort() {
    check(c"through_qsort", 0, 4);
}

#[test]
fn in_a_signal_handler() {
    check(c"in_handler", 0, 14);
}

#[test]
fn in_a_signal_handler_on_its_own_stack() {
    check(c"on_other_stack", 0, 14);
}

#[test]
fn interrupted_at_the_first_instruction() {
    check(c"at_first_instruction", 0, 14);
}

#[test]
fn interrupted_at_the_last_instruction() {
    check(c"at_last_instruction", 0, 14);
}

#[test]
fn in_another_thread() {
    check(c"in_thread", 0, 22);
}

#[test]
fn on_the_stack_of_a_fiber() {
    check_end(c"in_fiber", 0, 15, End::NoInfo); // glibc says nothing of what is below a context
}

/// A few frames, no more than there is room for.
#[test]
fn the_depth_is_limited() {
    static SEEN: Mutex<Vec<Walk>> = Mutex::new(Vec::new());
    extern "C" fn limited(sp: usize, bp: usize, pc: usize) {
        for limit in [0, 1, 7] {
            let (walk, ..) = walk(&unwinder(), Registers { pc, sp, bp }, limit);
            SEEN.lock().unwrap().push(walk);
        }
    }
    hook!(limited_hook => limited);
    Stacks::build("stacks.c", "limited", &["-O2"]).call(c"recurse", limited_hook, 10);
    let expected = [0, 1, 7].map(|frames| Walk { frames, end: End::DepthLimit });
    assert_eq!(*SEEN.lock().unwrap(), expected);
}

/// Code without tables, as a JIT makes it: frame pointers are followed, and said to be a guess. One that
/// leads back ends the walk.
#[test]
fn without_tables_a_frame_pointer_is_a_guess() {
    let mut words = [0usize; 4];
    let base = &raw mut words as usize;
    words = [base + 16, 0x1234, base, 0x5678];
    std::hint::black_box(&mut words);
    let stack = StackRange { lo: base, hi: base + size_of_val(&words) };
    let start = Registers { pc: 0x1111, sp: base, bp: base };
    let mut out = [Frame::default(); 8];
    // SAFETY: the stack is the array.
    let walk = unsafe { unwinder().walk(&mut Counting::default(), start, stack, &mut out) };
    assert_eq!(walk, Walk { frames: 3, end: End::NoInfo });
    assert_eq!(out.map(Frame::address)[..3], [0x1111, 0x1234, 0x5678]);
    assert_eq!(out.map(Frame::guesses)[..3], [true, true, false]);
}

/// A walk is complete when a rule says so, or a return address that a rule led to is 0.
#[test]
fn a_guessed_end_is_not_complete() {
    let mut words = [0usize; 2];
    let base = &raw mut words as usize;
    std::hint::black_box(&mut words);
    let stack = StackRange { lo: base, hi: base + size_of_val(&words) };
    let start = Registers { pc: 0x1111, sp: base, bp: base };
    // SAFETY: the stack is the array.
    let walk = unsafe { unwinder().walk(&mut Counting::default(), start, stack, &mut [Frame::default(); 8]) };
    assert_eq!(walk, Walk { frames: 1, end: End::NoInfo });
}
