//! How long a frame takes. `cargo test --release -p heapscribe-recorder --test unwind_bench -- --ignored --nocapture`
#![allow(unsafe_code)]

mod stacks;

use std::ffi::c_int;
use std::sync::Mutex;

use heapscribe_recorder::unwind::{End, Frame, PcCache, Registers, StackRange, Unwinder, full_walk};
use stacks::{Counting, Stacks, hook, loader, unwinder};

unsafe extern "C" {
    fn clock_gettime(clock: c_int, time: *mut [i64; 2]) -> c_int;
}

/// CPU time of this thread.
fn thread_ns() -> i64 {
    const CLOCK_THREAD_CPUTIME_ID: c_int = 3;
    let mut time = [0; 2];
    // SAFETY: a struct timespec.
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time[0] * 1_000_000_000 + time[1]
}

/// Frames, and the least ns a frame of several runs: warm, without the cache, with the list only.
static RESULT: Mutex<Option<(usize, [f64; 3])>> = Mutex::new(None);

fn measure(unwinder: &Unwinder<'_>, start: Registers, walks: usize) -> (usize, f64) {
    let stack = StackRange::around(start.sp).unwrap();
    let mut out = [Frame::default(); 4096];
    let mut context = Counting::default();
    let mut best = f64::MAX;
    let mut frames = 0;
    for _ in 0..8 {
        let before = thread_ns();
        for _ in 0..walks {
            // SAFETY: registers of a hook's caller, and the kernel's bounds.
            let walk = unsafe { unwinder.walk(&mut context, start, stack, std::hint::black_box(&mut out)) };
            assert_eq!(walk.end, End::Complete);
            frames = walk.frames;
        }
        best = best.min((thread_ns() - before) as f64 / (walks * frames) as f64);
    }
    std::hint::black_box(context.new_code);
    (frames, best)
}

extern "C" fn bench(sp: usize, bp: usize, pc: usize) {
    let start = Registers { pc, sp, bp };
    let cache: Option<PcCache> = unwinder().cache;
    let (frames, warm) = measure(&Unwinder { cache, ..unwinder() }, start, 20_000);
    let (_, cold) = measure(&Unwinder { cache: None, ..unwinder() }, start, 20);
    let old = loader().without_find_object();
    let (_, listed) = measure(&Unwinder { loader: &old, cache: None, known: None }, start, 20);
    *RESULT.lock().unwrap() = Some((frames, [warm, cold, listed]));
}

hook!(bench_hook => bench);

#[test]
#[ignore = "takes seconds, and says something in a release build only"]
fn ns_per_frame() {
    for (label, options) in [("rsp", &["-O2"][..]), ("rbp", &["-O2", "-fno-omit-frame-pointer"])] {
        let library = Stacks::build("stacks.c", label, options);
        for depth in [5, 25, 100, 1000] {
            library.call(c"recurse", bench_hook, depth);
            let (frames, [warm, cold, listed]) = RESULT.lock().unwrap().take().unwrap();
            println!(
                "{label} {frames:4} frames: {warm:.2} ns a frame, {cold:.0} new, {listed:.0} new by the list"
            );
        }
    }
}

extern "C" fn bench_full(sp: usize, bp: usize, pc: usize) {
    const WALKS: usize = 2000;
    let (start, stack) = (Registers { pc, sp, bp }, StackRange::around(sp).unwrap());
    let mut out = [Frame::default(); 4096];
    let (unwinder, mut context) = (unwinder(), Counting::default());
    let (mut best, mut frames) = (f64::MAX, 0);
    for _ in 0..8 {
        let before = thread_ns();
        for _ in 0..WALKS {
            let out = std::hint::black_box(&mut out);
            // SAFETY: registers of a hook's caller, in this call of it, and the kernel's bounds.
            let walk = unsafe { full_walk(&unwinder, &mut context, start, stack, out) };
            assert_eq!(walk.end, End::Complete);
            frames = walk.frames;
        }
        best = best.min((thread_ns() - before) as f64 / WALKS as f64);
    }
    *RESULT.lock().unwrap() = Some((frames, [best; 3]));
}

hook!(bench_full_hook => bench_full);

/// A walk past a frame that has no packed rule: what is inside of it is followed with all registers.
#[test]
#[ignore = "takes seconds, and says something in a release build only"]
fn ns_of_a_full_walk() {
    let library = Stacks::build("odd.c", "bench-full", &["-O2"]);
    for depth in [0, 5, 25, 100] {
        library.call(c"by_rbx", bench_full_hook, depth);
        let (frames, [ns, ..]) = RESULT.lock().unwrap().take().unwrap();
        println!("{frames:4} frames, {} inside: {ns:.0} ns a walk", 2 * depth + 2);
    }
}
