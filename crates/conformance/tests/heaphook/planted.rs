//! Heaps with heaphook's bugs, each planted in front of the pool heap, and whether the tests see them: each is
//! run in a process of its own, which has to fail, die or hang.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use heapscribe_alloc::locked::{AreaSource, TlsfHeap, from_kernel};
use heapscribe_alloc::{Heap, Owns, Request};
use heapscribe_conformance::{Traits, suite};

use super::{config, first_calls_at_once, growth_beside_others, shrinks_and_aligns, slow};

/// What is wrong, by the number it has in the table of the module above.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bug {
    None,
    /// 1: what is looked up is written by others meanwhile.
    NoLock,
    /// 2: contents are moved relative to the block that the aligned one lies in.
    Shifted,
    /// 4: a size is cut off.
    CutOff,
    /// 5: a thread that needs a pool keeps the others waiting.
    GrowthUnderLock,
    /// 6: a call while the heap starts gets nothing.
    LateStart,
    /// 7: an alignment of 1.
    Unaligned,
    /// 9: a block that is large enough stays as it is.
    NeverShrinks,
    /// 14: bad_alloc where null is the answer.
    Throws,
    /// 14: the rest of a block is computed with the wrong sign.
    WrongSign,
}

struct Planted {
    heap: TlsfHeap,
    bug: Bug,
    lock: Mutex<()>,
    origins: Mutex<HashMap<usize, NonNull<u8>>>,
    spare: AtomicUsize,
    is_starting: AtomicBool,
    is_ready: AtomicBool,
}

// SAFETY: the pointers are blocks of the heap, which is for all threads.
unsafe impl Sync for Planted {}

impl Planted {
    fn growing(bug: Bug, grow_bytes: usize, source: AreaSource) -> &'static Planted {
        Box::leak(Box::new(Planted {
            heap: TlsfHeap::with_source(config(POOL_BYTES, grow_bytes), source),
            bug,
            lock: Mutex::new(()),
            origins: Mutex::default(),
            spare: AtomicUsize::new(0),
            is_starting: AtomicBool::new(false),
            is_ready: AtomicBool::new(false),
        }))
    }

    fn new(bug: Bug) -> &'static Planted {
        Planted::growing(bug, 0, from_kernel)
    }

    fn origin(&self, block: NonNull<u8>) -> NonNull<u8> {
        self.origins.lock().unwrap().get(&(block.as_ptr() as usize)).copied().unwrap_or(block)
    }

    fn aligned(&self, origin: NonNull<u8>, request: Request) -> Option<NonNull<u8>> {
        let at = (origin.as_ptr() as usize).next_multiple_of(request.align_bytes());
        self.origins.lock().unwrap().insert(at, origin);
        NonNull::new(at as *mut u8)
    }

    fn starts_late(&self) -> bool {
        if self.bug == Bug::LateStart && !self.is_ready.load(Ordering::SeqCst) {
            if self.is_starting.swap(true, Ordering::SeqCst) {
                self.is_ready.store(true, Ordering::SeqCst);
                return true;
            }
            // For as long as it takes until the next one.
            while !self.is_ready.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        }
        false
    }

    /// The last block that was freed, if it will do; another thread may take it, too.
    fn take_spare(&self, request: Request) -> Option<NonNull<u8>> {
        let block = NonNull::new(self.spare.load(Ordering::SeqCst) as *mut u8)?;
        // SAFETY: a block of the heap, which was not freed.
        let is_enough = unsafe { self.heap.usable_size(block) } >= request.size_bytes();
        if !is_enough || !request.is_aligned(block.as_ptr() as usize) {
            return None;
        }
        std::thread::yield_now();
        self.spare.store(0, Ordering::SeqCst);
        Some(block)
    }
}

// SAFETY: it keeps nothing of what a heap promises; only these tests call it.
unsafe impl Heap for Planted {
    fn alloc(&self, request: Request) -> Option<NonNull<u8>> {
        let wider = |more: usize| Request::bytes(request.size_bytes().checked_add(more)?);
        match self.bug {
            Bug::NoLock => self.take_spare(request).or_else(|| self.heap.alloc(request)),
            Bug::Shifted => self.aligned(self.heap.alloc(wider(request.align_bytes())?)?, request),
            Bug::CutOff => self.heap.alloc(Request::new(request.size_bytes() as u32 as usize, 16)?),
            Bug::GrowthUnderLock => {
                let _held = self.lock.lock().unwrap();
                self.heap.alloc(request)
            }
            Bug::LateStart if self.starts_late() => None,
            // SAFETY: 8 bytes more were asked for.
            Bug::Unaligned => self.heap.alloc(wider(8)?).map(|block| unsafe { block.add(8) }),
            Bug::Throws => Some(self.heap.alloc(request).expect("bad_alloc")),
            _ => self.heap.alloc(request),
        }
    }

    unsafe fn free(&self, block: NonNull<u8>) {
        // SAFETY: used, by `Heap::free`, as far as the bug lets that be.
        unsafe {
            match self.bug {
                Bug::NoLock => {
                    let old = self.spare.swap(block.as_ptr() as usize, Ordering::SeqCst);
                    NonNull::new(old as *mut u8).into_iter().for_each(|old| self.heap.free(old));
                }
                Bug::Shifted => self.heap.free(self.origin(block)),
                Bug::Unaligned => self.heap.free(block.sub(8)),
                _ => self.heap.free(block),
            }
        }
    }

    unsafe fn usable_size(&self, block: NonNull<u8>) -> usize {
        // SAFETY: as for `free`.
        unsafe {
            match self.bug {
                Bug::Shifted => {
                    let origin = self.origin(block);
                    self.heap.usable_size(origin) - (block.as_ptr() as usize - origin.as_ptr() as usize)
                }
                Bug::Unaligned => self.heap.usable_size(block.sub(8)) - 8,
                Bug::WrongSign => self.heap.usable_size(block) + 16,
                _ => self.heap.usable_size(block),
            }
        }
    }

    unsafe fn realloc(&self, block: NonNull<u8>, request: Request) -> Option<NonNull<u8>> {
        // SAFETY: as for `free`.
        unsafe {
            let usable = self.usable_size(block);
            match self.bug {
                Bug::Shifted => {
                    let wider = Request::bytes(request.size_bytes().checked_add(request.align_bytes())?)?;
                    self.aligned(self.heap.realloc(self.origin(block), wider)?, request)
                }
                Bug::NeverShrinks if request.size_bytes() <= usable => Some(block),
                Bug::NeverShrinks => self.relocate(block, usable, request),
                _ => match (usable / 2..=usable).contains(&request.size_bytes()) {
                    true if request.is_aligned(block.as_ptr() as usize) => Some(block),
                    _ => self.relocate(block, usable, request),
                },
            }
        }
    }

    fn owns(&self, address: *const u8) -> Owns {
        self.heap.owns(address)
    }
}

const POOL_BYTES: usize = 24 << 20;
const TRAITS: Traits = Traits { capacity_bytes: Some(POOL_BYTES), reuses: true, knows_owner: true };

/// Each bug with the test that has to see it; and that test without it.
macro_rules! planted {
    ($($name:ident: $bug:expr, $check:expr;)*) => {
        $(
            #[test]
            #[ignore = "is to fail; every_planted_bug_is_seen runs it"]
            fn $name() {
                let check: fn(Bug) = $check;
                check($bug);
            }
        )*

        const CHECKS: &[(&str, fn(Bug))] = &[$((stringify!($name), $check)),*];
    };
}

planted! {
    threads_without_a_lock: Bug::NoLock, |bug| suite::four_threads(Planted::new(bug), TRAITS);
    shifted_contents: Bug::Shifted, |bug| suite::realloc_across_alignments(Planted::new(bug), TRAITS);
    cut_off_sizes: Bug::CutOff, |bug| suite::impossible_sizes(Planted::new(bug), TRAITS);
    growth_under_the_lock: Bug::GrowthUnderLock, |bug| {
        growth_beside_others(Planted::growing(bug, POOL_BYTES, slow), POOL_BYTES);
    };
    a_late_start: Bug::LateStart, |bug| first_calls_at_once(Planted::new(bug));
    an_alignment_of_one: Bug::Unaligned, |bug| suite::alignments(Planted::new(bug), TRAITS);
    no_shrinking: Bug::NeverShrinks, |bug| {
        let planted = Planted::new(bug);
        shrinks_and_aligns(planted, || planted.heap.stats().used_bytes);
    };
    no_alignment_in_realloc: Bug::NeverShrinks, |bug| {
        suite::realloc_across_alignments(Planted::new(bug), TRAITS);
    };
    bad_alloc: Bug::Throws, |bug| suite::exhaustion_and_recovery(Planted::new(bug), TRAITS);
    a_wrong_sign: Bug::WrongSign, |bug| suite::usable_size_is_writable(Planted::new(bug), TRAITS);
}

/// A process that has not ended by then hangs, as one with the bug of growth does.
const PATIENCE: Duration = Duration::from_secs(3);

fn fails(test: &str) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("planted::{test}"), "--ignored"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let since = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return !status.success();
        }
        if since.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn every_planted_bug_is_seen() {
    for (name, _) in CHECKS {
        assert!(fails(name), "{name} was not seen");
    }
}

#[test]
fn without_the_bug_the_same_tests_pass() {
    for (_, check) in CHECKS {
        check(Bug::None);
    }
}
