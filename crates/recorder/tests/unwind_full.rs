//! Walks of live stacks that need all registers, compared frame by frame with those of gcc's unwinder.
#![allow(unsafe_code)]

#[path = "stacks/reference.rs"]
mod reference;
mod stacks;

use std::collections::BTreeMap;
use std::ffi::{CStr, c_int};
use std::sync::Mutex;

use heapscribe_recorder::unwind::all_registers::FullFrame;
use heapscribe_recorder::unwind::{End, Frame, Place, Registers, StackRange, Step, Walk, full_walk};
use reference::{Seen, reference};
use stacks::{Counting, Stacks, hook, unwinder};

/// The frames of a walk: where, and whether by a guess.
type Steps = Vec<(Registers, Place)>;

#[derive(Debug)]
struct Report {
    walk: (Walk, Vec<Seen>),
    packed: (Walk, Vec<Seen>),
    /// Each frame reached by its callee's whole row.
    full_steps: (Steps, End),
    packed_steps: (Steps, End),
    reference: Vec<Seen>,
}

static REPORT: Mutex<Option<Report>> = Mutex::new(None);

fn seen(walk: Walk, out: &[Frame]) -> (Walk, Vec<Seen>) {
    assert!(out[..walk.frames].iter().all(|frame| !frame.guesses()), "all these stacks have tables");
    (walk, out[..walk.frames].iter().map(|f| (f.address() as usize, f.is_exact())).collect())
}

/// All frames that a step function leads to.
fn steps(start: (Registers, Place), mut step: impl FnMut(Registers, Place) -> Step) -> (Steps, End) {
    let mut all = vec![start];
    loop {
        let &(here, place) = all.last().unwrap();
        match step(here, place) {
            Step::Caller(..) | Step::Guessed(..) if all.len() == 10_000 => return (all, End::DepthLimit),
            Step::Caller(there, its_place) | Step::Guessed(there, its_place) if there.pc != 0 => {
                all.push((there, its_place));
            }
            Step::Caller(..) | Step::Guessed(..) => return (all, End::Complete),
            Step::End(end) => return (all, end),
        }
    }
}

extern "C" fn report(sp: usize, bp: usize, pc: usize) {
    let start = Registers { pc, sp, bp };
    let stack = StackRange::around(sp).unwrap();
    let (unwinder, mut context) = (unwinder(), Counting::default());
    let mut out = vec![Frame::default(); 4096];
    // SAFETY: registers of a hook's caller, in this call of it, and the kernel's bounds.
    let walk = seen(unsafe { full_walk(&unwinder, &mut context, start, stack, &mut out) }, &out);
    // SAFETY: the same.
    let packed = seen(unsafe { unwinder.walk(&mut context, start, stack, &mut out) }, &out);
    let place = Place { stack, is_exact: false };
    let packed_steps = steps((start, place), |here, place| {
        // SAFETY: the start of a walk, or what a step led to.
        unsafe { unwinder.step(&mut Counting::default(), here, place) }
    });
    // SAFETY: as above.
    let mut frame = unsafe { FullFrame::at_call(&unwinder, start, stack) };
    assert!(frame.registers.get(3).is_some(), "the way out of the test's own frames");
    let full_steps = steps((start, place), |here, place| {
        assert_eq!((frame.registers.three(), frame.place), (here, place));
        // SAFETY: the start of a walk, or what a step led to.
        unsafe { frame.step(&unwinder, &mut context) }
    });
    // gcc's own unwinder dies of a register that it never had.
    let reference = if full_steps.1 == End::Complete { reference(pc) } else { vec![] };
    *REPORT.lock().unwrap() = Some(Report { walk, packed, full_steps, packed_steps, reference });
}

hook!(report_hook => report);

static LIBRARIES: Mutex<BTreeMap<&str, Vec<Stacks>>> = Mutex::new(BTreeMap::new());

/// Calls a function of each build of a library, and gives what the hook saw.
fn call_all(source: &'static str, name: &CStr, n: c_int) -> Vec<Report> {
    let mut libraries = LIBRARIES.lock().unwrap_or_else(|e| e.into_inner());
    let builds = libraries.entry(source).or_insert_with(|| {
        let build =
            |label: &str, options: &[&str]| Stacks::build(source, &format!("full-{source}-{label}"), options);
        vec![build("o2", &["-O2"]), build("o0", &["-O0"])]
    });
    let call = |library: &Stacks| {
        library.call(name, report_hook, n);
        REPORT.lock().unwrap().take().expect("the hook was called")
    };
    builds.iter().map(call).collect()
}

/// A stack with a frame that only the full walk gets beyond.
fn check(name: &CStr, n: c_int, at_least: usize) {
    for report in call_all("odd.c", name, n) {
        println!("{name:?}: {:?}, packed {:?}", report.walk.0, report.packed.0);
        let (walk, frames) = report.walk;
        assert_eq!(frames, report.reference, "{name:?}");
        assert_eq!(walk, Walk { frames: frames.len(), end: End::Complete });
        assert!(frames.len() >= at_least);
        let (packed, packed_frames) = report.packed;
        assert_eq!(packed.end, End::OtherRule, "{name:?}: not a case for the full walk");
        assert_eq!(frames[..packed_frames.len()], packed_frames);
        let (steps, end) = report.full_steps;
        assert_eq!((steps.len(), end), (frames.len(), End::Complete));
        assert_eq!(steps[..packed_frames.len()], report.packed_steps.0);
    }
}

/// A stack of packed rules alone: all walks agree, in every register that both follow.
fn check_usual(name: &CStr, n: c_int, end: End) {
    for report in call_all("stacks.c", name, n) {
        assert_eq!(report.walk, report.packed, "{name:?}");
        // Below a frame without a table nothing more is where its rbp is 0; a fiber's first is its maker's, who may have
        // none (this test in a release build).
        let bp = report.full_steps.0.last().map(|(outermost, _)| outermost.bp);
        let end = if end == End::NoInfo && bp == Some(0) { End::Complete } else { end };
        assert_eq!(report.walk.0.end, end, "{name:?}");
        assert_eq!(report.full_steps, report.packed_steps);
        assert_eq!(report.full_steps.0.len(), report.walk.1.len());
    }
}

#[test]
fn a_frame_by_rbx() {
    check(c"by_rbx", 20, 20);
    check(c"by_rbx", 0, 5);
}

#[test]
fn a_frame_by_an_expression() {
    check(c"by_expression", 9, 12);
}

#[test]
fn a_return_address_in_a_register() {
    check(c"returning_by_r12", 7, 12);
}

#[test]
fn registers_restored_in_all_ways() {
    check(c"restored_by_offset", 3, 8);
    check(c"restored_by_expression", 3, 8);
    check(c"restored_by_saved_word", 3, 8);
}

#[test]
fn interrupted_where_a_register_holds_the_frame() {
    check(c"at_r9", 0, 14);
}

#[test]
fn in_the_resolver_of_a_lazily_bound_function() {
    check(c"through_resolver", 0, 10);
}

/// What no call keeps is not known behind one: no guess is made.
#[test]
fn a_frame_by_a_register_that_is_lost() {
    for report in call_all("odd.c", c"lost", 5) {
        assert_eq!(report.walk, report.packed);
        assert_eq!(report.walk.0.end, End::OtherRule);
        assert_eq!(report.full_steps, report.packed_steps);
    }
}

#[test]
fn stacks_of_packed_rules() {
    check_usual(c"recurse", 20, End::Complete);
    check_usual(c"recurse", 1500, End::Complete);
    check_usual(c"variable_frame", 100, End::Complete);
    check_usual(c"realigned_frame", 100, End::Complete);
    check_usual(c"through_qsort", 0, End::Complete);
    check_usual(c"in_handler", 0, End::Complete);
    check_usual(c"on_other_stack", 0, End::Complete);
    check_usual(c"at_first_instruction", 0, End::Complete);
    check_usual(c"at_last_instruction", 0, End::Complete);
    check_usual(c"in_thread", 0, End::Complete);
    check_usual(c"in_fiber", 0, End::NoInfo);
}

/// Bytes of stack that a call writes to.
#[inline(never)]
fn depth_of(call: impl FnOnce()) -> usize {
    const PAINTED: usize = 64 << 10;
    const PAINT: usize = 0x5ca1_ab1e_5ca1_ab1e;
    let top: usize;
    // SAFETY: writes below all frames, in a mapped stack of megabytes.
    unsafe {
        std::arch::asm!("mov {top}, rsp", "lea rdi, [rsp - {bytes}]", "rep stosq", top = out(reg) top,
            bytes = const PAINTED, in("rax") PAINT, inout("rcx") PAINTED / 8 => _, out("rdi") _);
    }
    call();
    let touched = (top - PAINTED..top).step_by(8).find(|&address| {
        // SAFETY: as above.
        let word = unsafe { (address as *const usize).read_volatile() };
        word != PAINT
    });
    touched.map_or(0, |address| top - address)
}

/// The walk is inside `malloc`, where a program may have little stack left. Said in a release build:
/// `cargo test --release -p heapscribe-recorder --test unwind_full -- --nocapture little_stack`
#[test]
fn the_walk_needs_little_stack() {
    static DEPTH: Mutex<Option<(usize, End)>> = Mutex::new(None);
    extern "C" fn measure(sp: usize, bp: usize, pc: usize) {
        let (start, stack) = (Registers { pc, sp, bp }, StackRange::around(sp).unwrap());
        let (unwinder, mut context) = (unwinder(), Counting::default());
        let mut out = vec![Frame::default(); 4096];
        let mut end = End::NoInfo;
        let depth = depth_of(|| {
            // SAFETY: registers of a hook's caller, in this call of it, and the kernel's bounds.
            end = unsafe { full_walk(&unwinder, &mut context, start, stack, &mut out) }.end;
        });
        *DEPTH.lock().unwrap() = Some((depth, end));
    }
    hook!(measure_hook => measure);
    let library = Stacks::build("odd.c", "full-depth", &["-O2"]);
    library.call(c"through_resolver", measure_hook, 0);
    let (depth, end) = DEPTH.lock().unwrap().take().unwrap();
    println!("{depth} bytes of stack");
    assert_eq!(end, End::Complete);
    assert!(depth < if cfg!(debug_assertions) { 32 << 10 } else { 4 << 10 }, "{depth} bytes of stack");
}
