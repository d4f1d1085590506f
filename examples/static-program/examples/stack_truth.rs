//! A static program that knows its stacks: its heap asks libgcc who called it, each time.
//!
//! ```text
//! stack_truth FILE
//! ```
//! FILE gets what `stack_truth.cpp` of heapscribe's tests writes: for each call size, number of frames, frames.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::io::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use heapscribe_recorder::global::RecordedHeap;

unsafe extern "C" {
    fn _Unwind_Backtrace(take: extern "C" fn(*mut c_void, *mut c_void) -> i32, walk: *mut c_void) -> i32;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

const WORDS_MAX: usize = 1 << 20;
static NOTES: [AtomicU64; WORDS_MAX] = [const { AtomicU64::new(0) }; WORDS_MAX];
static USED: AtomicUsize = AtomicUsize::new(0);

/// Return addresses, the innermost first.
struct Walk {
    frames: [u64; 256],
    len: usize,
}

extern "C" fn take(context: *mut c_void, walk: *mut c_void) -> i32 {
    const NO_REASON: i32 = 0;
    const END_OF_STACK: i32 = 5;
    // SAFETY: `note` gives its own walk, and libgcc its context.
    let (walk, pc) = unsafe { (&mut *walk.cast::<Walk>(), _Unwind_GetIP(context)) };
    let Some(place) = walk.frames.get_mut(walk.len).filter(|_| pc != 0) else { return END_OF_STACK };
    *place = pc as u64;
    walk.len += 1;
    NO_REASON
}

#[inline(never)]
fn note(size: usize) {
    let mut walk = Walk { frames: [0; 256], len: 0 };
    // SAFETY: the walk lives until it returns.
    unsafe { _Unwind_Backtrace(take, (&raw mut walk).cast()) };
    let frames = &walk.frames[1..walk.len]; // the first is ours
    let at = USED.fetch_add(frames.len() + 2, Ordering::Relaxed);
    let words = [size as u64, frames.len() as u64].into_iter().chain(frames.iter().copied());
    words.zip(&NOTES[at..]).for_each(|(word, place)| place.store(word, Ordering::Relaxed));
}

struct Asks(RecordedHeap<System>);

// SAFETY: every call is the inner heap's.
unsafe impl GlobalAlloc for Asks {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: forwarded.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: forwarded.
        unsafe { self.0.dealloc(block, layout) }
    }
}

#[global_allocator]
static HEAP: Asks = Asks(RecordedHeap::new(System));

trait Shape {
    fn grown(&self, times: u32) -> Vec<Box<dyn Shape>>;
}
struct Corners(usize);
impl Shape for Corners {
    fn grown(&self, times: u32) -> Vec<Box<dyn Shape>> {
        let mut all: Vec<Box<dyn Shape>> = vec![Box::new(Corners(self.0 + 1))];
        if let Some(fewer) = times.checked_sub(1) {
            all.extend(Corners(self.0 % 7).grown(fewer));
        }
        all
    }
}

fn everything() -> usize {
    let shapes = Corners(3).grown(40).len();
    let mut words: Vec<String> = (0..200u32).map(|n| format!("word {}", n * 7919 % 211)).collect();
    words.sort_by_key(|word| word.clone() + "!");
    let counts: BTreeMap<String, usize> =
        words.into_iter().map(|word| (word.to_uppercase(), word.len())).collect();
    let caught = std::panic::catch_unwind(|| {
        let _dropped = vec![String::from("while it unwinds"); 9];
        std::panic::resume_unwind(Box::new(String::from("a payload")));
    });
    shapes + counts.len() + usize::from(caught.is_err())
}

fn main() -> std::io::Result<()> {
    let path = std::env::args_os().nth(1).unwrap_or_default();
    let threads: Vec<_> = (0..4).map(|_| thread::spawn(everything)).collect();
    let sum = everything() + threads.into_iter().filter_map(|thread| thread.join().ok()).sum::<usize>();
    let mut file = std::fs::File::create(path)?;
    let used = USED.load(Ordering::Relaxed);
    for word in &NOTES[..used] {
        file.write_all(&word.load(Ordering::Relaxed).to_ne_bytes())?;
    }
    assert!(sum > 0);
    Ok(())
}
