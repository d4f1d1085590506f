//! The recorder's own memory: private pages that core dumps leave out, emptied in a forked child.
#![allow(unsafe_code)]

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use heapscribe_alloc::arena::Arena;
use heapscribe_nolibc::sys::{self, Advice};

use super::lock::Held;

static ARENA: Arena = Arena::new(pages);

/// New zeroed pages of our own.
pub(crate) fn pages(len_bytes: usize) -> Option<NonNull<u8>> {
    let base = sys::map_private(len_bytes).ok()?;
    // SAFETY: the mapping was just made and is ours; not dumping private bookkeeping loses nothing.
    let _ = unsafe { sys::advise(base, len_bytes, Advice::DontDump) };
    NonNull::new(base)
}

/// Has memory fetched into the cache.
#[inline(always)]
pub(crate) fn prefetch(place: *const u8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint, which does nothing where there is no memory.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
}

/// Zeroed memory for `len_bytes`, aligned to 64, for the life of the process. `None` when the
/// kernel gives none, the arena is sealed, or signals are not held back.
pub(crate) fn alloc(len_bytes: usize, held: &Held<'_>) -> Option<NonNull<u8>> {
    held.holds_signals_back().then_some(())?;
    // SAFETY: a process has one session and so one lock, and it is held: no other thread is in the arena.
    let memory = unsafe { ARENA.alloc(len_bytes) };
    publish();
    memory
}

/// The same while there is no lock yet.
///
/// # Safety
/// * The caller is the only thread that is in the recorder: it is making the session.
pub(crate) unsafe fn alloc_alone(len_bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: the only thread in the recorder is the only one in the arena.
    unsafe { ARENA.alloc(len_bytes) }
}

/// Of what was allocated, what has no pages: given back, or hardly ever written.
static EMPTY_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Bytes of private memory in use: what of the program's resident memory is not its own.
fn in_use_bytes() -> usize {
    ARENA.used_bytes().saturating_sub(EMPTY_BYTES.load(Ordering::Relaxed))
}

/// Where others see how much is in use.
static PUBLISHED: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

/// Zeroed memory as [`alloc`] gives it, for what is used all over: in large pages, where the system has some and it fills
/// them. A look at a table of 8 MiB misses the processor's table of pages, too, and in a virtual machine that is the
/// longer wait.
pub(crate) fn alloc_dense(len_bytes: usize, held: &Held<'_>) -> Option<NonNull<u8>> {
    const LARGE_PAGE_BYTES: usize = 2 << 20;
    let memory = alloc(len_bytes, held)?;
    let begin = (memory.as_ptr() as usize).next_multiple_of(LARGE_PAGE_BYTES);
    let end = (memory.as_ptr() as usize + len_bytes) & !(LARGE_PAGE_BYTES - 1);
    if begin < end {
        // SAFETY: whole pages of ours.
        let _ = unsafe { sys::advise(begin as *mut u8, end - begin, Advice::HugePage) };
    }
    Some(memory)
}

/// Keeps up to date in this word how much is in use. At once: a table that grows was taken for the program's until the
/// next chunk, 8 MiB for 100 ms of an import.
pub(crate) fn publish_in(word: &'static AtomicU64) {
    PUBLISHED.store(ptr::from_ref(word).cast_mut(), Ordering::Relaxed);
    publish();
}

fn publish() {
    let word = PUBLISHED.load(Ordering::Relaxed);
    // SAFETY: null, or a word that lives for ever.
    if let Some(word) = unsafe { word.as_ref() } {
        word.store(in_use_bytes() as u64, Ordering::Relaxed);
    }
}

/// Of what was allocated so many bytes have no pages, or next to none.
pub(crate) fn count_empty(len_bytes: usize) {
    EMPTY_BYTES.fetch_add(len_bytes, Ordering::Relaxed);
}

/// Discards the whole pages among these bytes.
///
/// # Safety
/// * The range is of memory that was allocated here, and of atomic integers that may turn to zero at any time.
pub(crate) unsafe fn discard(begin: usize, end: usize) {
    const PAGE_BYTES: usize = 4096;
    let (begin, end) = (begin.next_multiple_of(PAGE_BYTES), end & !(PAGE_BYTES - 1));
    if begin < end {
        // SAFETY: the caller's: whole pages of ours that may turn to zero. Locked pages cannot be discarded, and stay.
        if unsafe { sys::advise(begin as *mut u8, end - begin, Advice::DontNeed) }.is_ok() {
            count_empty(end - begin);
            publish();
        }
    }
}

/// Nothing more is allocated: for tests that show that the hot path allocates nothing.
pub fn seal() {
    ARENA.seal();
}

/// Empties the memory in a forked child, to be allocated from anew.
///
/// # Safety
/// * The process has just been forked and this is its only thread.
/// * Nothing that was allocated before is used again.
pub(crate) unsafe fn restart_in_child() {
    /// # Safety
    /// * The range is a private mapping of ours, which may be written.
    /// * Its contents are no longer wanted.
    unsafe fn empty(base: NonNull<u8>, len_bytes: usize) {
        // SAFETY: the range is a mapping of ours whose contents are no longer wanted.
        if unsafe { sys::advise(base.as_ptr(), len_bytes, Advice::DontNeed) }.is_err() {
            // SAFETY: the range may be written. Pages that are locked in memory cannot be discarded.
            unsafe { base.as_ptr().write_bytes(0, len_bytes) };
        }
    }
    EMPTY_BYTES.store(0, Ordering::Relaxed);
    // The word is the parent's.
    PUBLISHED.store(ptr::null_mut(), Ordering::Relaxed);
    // SAFETY: this is the only thread, and nothing from before is used again; `empty` zeroes the pages one way
    // or the other.
    unsafe { ARENA.restart(empty) };
}
