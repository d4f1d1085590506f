//! Paths from a leaf to the first cached frame that a thread has walked before: a function that is called again from
//! the same depth is there most of the time, and then its new frames are compared with the stack, word by word,
//! instead of walked.
//!
//! Only paths whose every step was by the stack pointer are cached, so that they depend on nothing but the
//! return addresses in between, and only to frames out from which the frame pointer is not used.
//!
//! ```text
//!   key      leaf's pc and sp, and the return addresses of its caller and of that one's
//!   place    sets of 4 paths; in a full one a newer path replaces any
//!   holds    where it joined the cached stack: index, slot, hash of the path
//!            bits 0-47 return address, 48-63 words from sp to its slot, for each frame in between
//!   gives    the hash of the stack, and its number if it has one
//! ```
//! By the leaf alone all callers of `operator new`, `xmalloc` or `sqlite3MemMalloc` at one depth shared a place, and each
//! evicted the one before it.
#![allow(unsafe_code)]

use core::sync::atomic::{Ordering, compiler_fence};

use heapscribe_wire::ids::StackId;

use super::cached::{CachedStack, NOT_USED};
use super::frame::Registers;
use super::new_frame::NewFrame;
use super::path_hash::PathHash;
use super::pc_cache::PcCache;
use super::rule::Kind;
use super::step::word;

/// Frames of a path, without its leaf.
pub(crate) const FRAMES_MAX: usize = 16;
const SETS: usize = 128;
const PATHS: usize = 4;
const PC_BITS: u32 = 48;

/// The paths of a thread.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct CachedPaths {
    /// The keys of the paths, apart from these: a look-up reads one line of the processor's cache to know which of a set
    /// it can be, where each path that it looked at was another line.
    keys: [[u64; PATHS]; SETS],
    sets: [[CachedPath; PATHS]; SETS],
    /// Which path of a full set is replaced next.
    turn: usize,
    /// Whether any path was cached since all were forgotten.
    is_used: bool,
}

/// A path.
#[repr(C, align(64))]
#[derive(Debug)]
struct CachedPath {
    pc: usize,
    sp: usize,
    /// What was loaded when it was walked; 0: there is no path here.
    epoch: u64,
    joined_slot: usize,
    joined_hash: PathHash,
    hash: PathHash,
    joined: u32,
    id: StackId,
    len: u32,
    reserved: u32,
    frames: [u64; FRAMES_MAX],
}

const _: () = assert!(size_of::<CachedPath>() == 192);

/// What a path gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PathMatch {
    /// The hash of the stack.
    pub hash: PathHash,
    /// Its number, if it is known.
    pub id: StackId,
    /// The index of the cached frame that it joins: those up to it are active, and no other.
    pub joined: usize,
}

/// What a path is sought by: its first return addresses and its stack pointer, mixed. Others may have the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PathKey(u64);

impl PathKey {
    #[inline(always)]
    const fn set(self) -> usize {
        (self.0 >> (u64::BITS - SETS.ilog2())) as usize % SETS
    }
}

/// The caller of a plain frame: its stack pointer and return address.
///
/// # Safety
/// - The stack is readable from `sp` to `end`.
#[inline(always)]
unsafe fn caller(rules: &PcCache, pc: usize, sp: usize, end: usize) -> Option<(usize, usize)> {
    let rule = rules.get(pc).filter(|rule| matches!(rule.kind(), Kind::Stack))?;
    let cfa = sp.wrapping_add(rule.offset() as usize);
    let is_frame = cfa > sp && cfa <= end && (cfa | sp).is_multiple_of(8);
    // SAFETY: the word below the CFA lies between `sp` and `end`.
    is_frame.then(|| (cfa, unsafe { word(cfa.wrapping_sub(8)) }))
}

/// What the path of the leaf at `at` is sought by. `None` when none can be cached: its caller is not found by the stack
/// pointer, or its rule is not known yet.
///
/// # Safety
/// - The stack is readable from `at.sp` to `end`.
#[inline(always)]
pub(crate) unsafe fn key_of(rules: &PcCache, at: Registers, end: usize) -> Option<PathKey> {
    // SAFETY: the stack is readable from `at.sp`, and so from the caller's stack pointer further out, to `end`.
    let (second, third) = unsafe {
        let (cfa, second) = caller(rules, at.pc, at.sp, end)?;
        (second, caller(rules, second, cfa, end).map_or(0, |(_, third)| third))
    };
    let key = at.pc ^ at.sp.rotate_left(17) ^ second.rotate_left(29) ^ third.rotate_left(43);
    Some(PathKey((key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

impl CachedPaths {
    /// Forgets all paths. Pages that were never used stay so: those of a new thread are not even looked at, which made the
    /// kernel map 24 of them in each process.
    pub(crate) fn forget(&mut self) {
        if !core::mem::take(&mut self.is_used) {
            return;
        }
        self.sets.iter_mut().flatten().filter(|path| path.epoch != 0).for_each(|path| path.epoch = 0);
    }

    /// The stack at `at`, when the path from there to the `unchanged` outermost frames of the cached
    /// stack is known and still what it was. `NUMBERED`: only one whose number is known.
    ///
    /// # Safety
    /// - `stack` is the one that `at.sp` is in, or empty, and is readable from there to the outermost slot cached.
    /// - [`CachedStack::unchanged`] gave `unchanged` for this stack pointer.
    #[inline(always)]
    pub(crate) unsafe fn find<const NUMBERED: bool>(
        &self,
        key: PathKey,
        stack: &CachedStack,
        unchanged: usize,
        at: Registers,
        epoch: u64,
    ) -> Option<PathMatch> {
        // SAFETY: the caller's stack is readable as far as `path` reads it, and `unchanged` is of this stack pointer.
        let path = unsafe { self.path::<NUMBERED>(key, stack, unchanged, at, epoch) }?;
        Some(PathMatch { hash: path.hash, id: path.id, joined: path.joined as usize })
    }

    /// The path of it. Inlined it takes 48 bytes more of the stack of each call of the program.
    ///
    /// # Safety
    /// - As of [`CachedPaths::find`].
    #[inline(never)]
    unsafe fn path<const NUMBERED: bool>(
        &self,
        key: PathKey,
        stack: &CachedStack,
        unchanged: usize,
        at: Registers,
        epoch: u64,
    ) -> Option<&CachedPath> {
        // SAFETY: `stack` is readable from `at.sp` to the outermost slot cached, and `unchanged` is what it gives there.
        let is_it = |path: &&CachedPath| unsafe {
            (!NUMBERED || path.id != StackId::UNKNOWN) && path.is_here(stack, unchanged, at, epoch)
        };
        let (keys, paths) = (&self.keys[key.set()], &self.sets[key.set()]);
        // All keys are compared before any path is looked at: which of a set it is nobody foretells, and each comparison
        // that the processor guesses wrong costs as much as a step of a walk.
        let is_key = |n: usize| usize::from(keys[n] == key.0) << n;
        let mut left = is_key(0) | is_key(1) | is_key(2) | is_key(3);
        while left != 0 {
            let path = &paths[left.trailing_zeros() as usize % PATHS];
            if is_it(&path) {
                return Some(path);
            }
            left &= left - 1;
        }
        None
    }

    /// Caches a path that was walked: from `at` by `frames`, all plain, the first of which is the leaf, to the frame that
    /// it has joined.
    pub(crate) fn store(
        &mut self,
        key: PathKey,
        stack: &CachedStack,
        at: Registers,
        frames: &[NewFrame],
        walked: PathMatch,
    ) {
        let PathMatch { hash, id, joined } = walked;
        let (Some(slot), Some(joined_frame)) = (stack.slot(joined), stack.frame(joined)) else { return };
        let is_short = (1..=FRAMES_MAX + 1).contains(&frames.len());
        if joined_frame.bp != NOT_USED || !is_short {
            return;
        }
        let epoch = stack.epoch();
        self.is_used = true;
        let set = &mut self.sets[key.set()];
        let place = set.iter().position(|path| path.epoch != epoch).unwrap_or_else(|| {
            self.turn = self.turn.wrapping_add(1);
            self.turn % PATHS
        });
        let path = &mut set[place];
        // A handler that jumped away in between leaves no path.
        path.epoch = 0;
        compiler_fence(Ordering::SeqCst);
        self.keys[key.set()][place] = key.0;
        (path.pc, path.sp, path.hash, path.id) = (at.pc, at.sp, hash, id);
        (path.joined, path.joined_slot, path.joined_hash) = (joined as u32, slot, joined_frame.hash);
        let callers = frames.get(1..).unwrap_or_default();
        path.len = callers.len() as u32;
        // Whether one is not by the stack pointer, or has too large an address, or is too far out.
        let mut refused = usize::from(!frames.first().is_some_and(NewFrame::is_plain));
        for (place, frame) in path.frames.iter_mut().zip(callers) {
            let words = frame.slot.wrapping_sub(at.sp) / size_of::<usize>();
            refused |= usize::from(!frame.is_plain()) | frame.pc >> PC_BITS | words >> (u64::BITS - PC_BITS);
            *place = frame.pc as u64 | (words as u64) << PC_BITS;
        }
        if refused != 0 {
            return;
        }
        compiler_fence(Ordering::SeqCst);
        path.epoch = epoch;
    }
}

impl CachedPath {
    /// Whether this is the path from `at`, and is still what it was.
    ///
    /// # Safety
    /// - As of [`CachedPaths::find`].
    #[inline(always)]
    unsafe fn is_here(&self, stack: &CachedStack, unchanged: usize, at: Registers, epoch: u64) -> bool {
        let joined = self.joined as usize;
        if self.pc != at.pc || self.sp != at.sp || self.epoch != epoch || joined >= unchanged {
            return false;
        }
        // SAFETY: the slots lie between the leaf, which has this stack pointer, and the frame that it joined.
        let is_same = |frame: &u64| unsafe {
            let slot = at.sp.wrapping_add((frame >> PC_BITS) as usize * size_of::<usize>());
            word(slot) as u64 == frame & ((1 << PC_BITS) - 1)
        };
        let frames = self.frames.get(..self.len as usize).unwrap_or_default();
        stack.is_at(joined, self.joined_slot, self.joined_hash) && frames.iter().all(is_same)
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::AtomicU64;

    use super::super::beyond::Beyond;
    use super::super::pc_cache::ENTRIES;
    use super::super::rule::Rule;
    use super::*;

    static RULES: [AtomicU64; ENTRIES] = [const { AtomicU64::new(0) }; ENTRIES];
    const EPOCH: u64 = 1 << 32;
    const MAIN: usize = 0x1000;
    /// The leaf, what calls it, and what calls that: the same in all paths.
    const WRAPPERS: [usize; 3] = [0x2000, 0x3000, 0x4000];
    const FRAME_WORDS: usize = 4;

    /// A stack of `main`, one caller, the wrappers, and what is cached of it.
    struct Scene {
        words: [usize; 64],
        paths: &'static mut CachedPaths,
    }

    impl Scene {
        fn at(&self) -> Registers {
            Registers { pc: WRAPPERS[0], sp: self.words.as_ptr() as usize + 8, bp: 0 }
        }

        fn end(&self) -> usize {
            self.words.as_ptr_range().end as usize
        }

        /// The frames when this caller is there, the leaf first.
        fn call(&mut self, caller: usize) -> Vec<NewFrame> {
            let frames = WRAPPERS.into_iter().chain([caller, MAIN]);
            let place = |(i, pc): (usize, usize)| {
                let index = i * FRAME_WORDS;
                self.words[index] = pc;
                NewFrame { slot: &raw const self.words[index] as usize, pc, bp: 0, loaded: 0 }
            };
            frames.enumerate().map(place).collect()
        }

        /// A cached stack that has `main` alone.
        fn cached(main: NewFrame) -> CachedStack {
            let mut stack = CachedStack::of_tests(8);
            stack.open(0);
            stack.begin(Beyond::Nothing(None));
            let base = stack.base();
            stack.extend(&[main], base);
            stack.close(EPOCH);
            stack
        }
    }

    #[test]
    fn callers_of_the_same_wrappers_do_not_evict_each_other() {
        let rules = PcCache::new(&RULES);
        let callers: Vec<usize> = (0..PATHS).map(|n| 0x5000 + n).collect();
        for pc in WRAPPERS.into_iter().chain(callers.iter().copied()) {
            rules.put(pc, Rule::stack(8 * FRAME_WORDS as i64, None));
        }
        // SAFETY: zeroes are no paths.
        let paths = Box::leak(unsafe { Box::<CachedPaths>::new_zeroed().assume_init() });
        let mut scene = Scene { words: [0; 64], paths };
        let main = scene.call(0)[4];
        let stack = Scene::cached(main);
        for round in 0..2 {
            for (n, &caller) in callers.iter().enumerate() {
                let frames = scene.call(caller);
                let (at, end) = (scene.at(), scene.end());
                let id = StackId(n as u32 + 1);
                // SAFETY: the stack is an array of the test's.
                unsafe {
                    let key = key_of(&rules, at, end).unwrap();
                    let find = |paths: &CachedPaths, epoch| {
                        paths.find::<true>(key, &stack, 1, at, epoch).map(|found| found.id)
                    };
                    assert_eq!(find(scene.paths, EPOCH), (round == 1).then_some(id), "{n}");
                    assert_eq!(find(scene.paths, EPOCH + 1), None, "another epoch");
                    if round == 0 {
                        let walked = PathMatch { hash: PathHash::default(), id, joined: 0 };
                        scene.paths.store(key, &stack, at, &frames[..4], walked);
                    }
                }
            }
        }
        scene.call(0x6000);
        let (at, end) = (scene.at(), scene.end());
        // SAFETY: the stack is an array of the test's.
        let found = unsafe {
            let key = key_of(&rules, at, end).unwrap();
            scene.paths.find::<true>(key, &stack, 1, at, EPOCH).map(|found| found.id)
        };
        assert_eq!(found, None, "a caller that was not there before");
    }
}
