//! What is known of the program as a whole and outlives a fork: its heap, its loader, the unwinding rules
//! found so far. Set once, early, by whichever hook comes first; read without a lock ever after.
#![allow(unsafe_code)]

use core::ffi::CStr;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use heapscribe_alloc::system::SystemHeap;
use heapscribe_nolibc::once::Once;
use heapscribe_wire::head::Drop;
use heapscribe_wire::live::{GRANULE_SHIFT_GLIBC, GRANULE_SHIFT_OTHER};

use crate::capture::cfi::Extent;
use crate::capture::{PcCache, pc_cache, registered};
use crate::loader::{Loader, Maker};
use crate::{memory, modules, session, tls, ways};

/// The heap that would be the program's without us, and what kind it is.
#[derive(Debug)]
pub struct Heap {
    /// Its functions.
    pub system: SystemHeap,
    /// It is glibc's own, whose blocks start at least 32 bytes apart.
    pub is_glibc: bool,
    /// Its functions may call each other through the hooks: musl's calloc calls malloc.
    pub may_nest: bool,
    /// Whoever calls while it is at work, calls for it: a heap of somebody else's, with the libraries that it
    /// uses. Of others only their own module does.
    nests_anywhere: bool,
    /// The module that its malloc is in, and our own: musl's memalign jumps to aligned_alloc, which then
    /// returns to us.
    text: [Range<usize>; 2],
}

impl Heap {
    /// Calls the heap, and says how long that took if it is wanted. While the call lasts, calls from the
    /// heap's own module are its own.
    #[inline(always)]
    pub fn forward<T>(&self, call: impl FnOnce(&SystemHeap) -> T) -> (T, Option<u64>) {
        let call = || call(&self.system);
        if !self.may_nest {
            return ways::timed(call);
        }
        let words = tls::words();
        let before = words.forwards.replace(true);
        let result = ways::timed(call);
        words.forwards.set(before);
        result
    }

    /// Whether a hook was called by the heap itself, serving another hook's call, and not by the program.
    #[inline(always)]
    pub fn calls_itself(&self, caller_pc: usize) -> bool {
        let is_its = || self.nests_anywhere || self.text.iter().any(|text| text.contains(&caller_pc));
        self.may_nest && tls::words().forwards.get() && is_its()
    }
}

/// The program hands its blocks to the recorder itself, see `global`.
static IS_OWN: AtomicBool = AtomicBool::new(false);

/// Says that the program tells the recorder of its blocks itself, whichever heap they come from.
pub(crate) fn set_own() {
    IS_OWN.store(true, Ordering::Relaxed);
}

/// How far apart blocks start, as a power of two; `None` when there is no heap.
pub(crate) fn granule_shift() -> Option<u32> {
    let is_glibc = !IS_OWN.load(Ordering::Relaxed) && heap()?.is_glibc;
    Some(if is_glibc { GRANULE_SHIFT_GLIBC } else { GRANULE_SHIFT_OTHER })
}

static HEAP: Once<Heap> = Once::new();
static LOADER: Once<Loader> = Once::new();
static PC_CACHE: AtomicPtr<[AtomicU64; pc_cache::ENTRIES]> = AtomicPtr::new(core::ptr::null_mut());

/// The program's heap. `None` only when a libc lacks a function that every libc has.
#[inline(always)]
pub fn heap() -> Option<&'static Heap> {
    match HEAP.get() {
        Some(heap) => Some(heap),
        None => find_heap(),
    }
}

#[cold]
fn find_heap() -> Option<&'static Heap> {
    let loader = loader()?;
    let own = find_heap as *const ();
    // SAFETY: the symbols of these names are the C library's functions, or those of a heap that took
    // their place and so has their types.
    let system = unsafe { SystemHeap::find(|name: &CStr| loader.find_next(name.to_bytes(), own)) }?;
    let maker = loader.maker(system.malloc as usize)?;
    let malloc = loader.find_text(system.malloc as usize)?;
    let ours = loader.find_text(own as usize)?;
    let text = [malloc.start..malloc.end, ours.start..ours.end];
    // A heap of a shell calls nothing by name, but what the shell was told of: another library's functions.
    let mut modules = loader.modules().filter(|module| module.link_map() == malloc.link_map);
    let nests_anywhere = modules.any(|module| module.find_symbol(b"heapscribe_heap_nests").is_some());
    let may_nest = maker == Maker::Other || nests_anywhere;
    if may_nest {
        ways::set_nesting();
    }
    HEAP.set(Heap { system, is_glibc: maker == Maker::Glibc, may_nest, nests_anywhere, text });
    HEAP.get()
}

/// The way to the program's modules.
pub fn loader() -> Option<&'static Loader> {
    if LOADER.get().is_none() {
        LOADER.set(Loader::discover()?);
    }
    LOADER.get()
}

/// The unwinding rules found so far, for all threads; kept over a fork. `None` when there is no memory.
#[inline(always)]
pub fn pc_cache() -> Option<PcCache> {
    match made_pc_cache() {
        Some(cache) => Some(cache),
        None => make_pc_cache(),
    }
}

/// The same when there is one already.
#[inline(always)]
fn made_pc_cache() -> Option<PcCache> {
    // SAFETY: a published cache stays for the life of the process.
    unsafe { PC_CACHE.load(Ordering::Acquire).as_ref() }.map(PcCache::new)
}

#[cold]
fn make_pc_cache() -> Option<PcCache> {
    let place = memory::pages(size_of::<[AtomicU64; pc_cache::ENTRIES]>())?.cast();
    let null = core::ptr::null_mut();
    // When another thread was faster its cache is used, and this one stays unused, untouched pages.
    let _ = PC_CACHE.compare_exchange(null, place.as_ptr(), Ordering::AcqRel, Ordering::Acquire);
    made_pc_cache()
}

/// The program registers unwinding information for code that it has made. When there is no room for
/// it, that is counted.
///
/// # Safety
/// * As for [`registered::register`].
pub unsafe fn register_frames(begin: usize, extent: Extent) {
    // SAFETY: the caller's contract.
    let has_room = unsafe { registered::register(begin, extent, made_pc_cache()) };
    modules::registered_changed();
    if let (false, Some(session)) = (has_room, session::current()) {
        session.head.drop_one(Drop::RegisteredFrames);
    }
}

/// The program takes such information back.
pub fn deregister_frames(begin: usize) {
    registered::deregister(begin, made_pc_cache());
    modules::registered_changed();
}

/// Which process this is, kept in memory that a forked child inherits: there it names the parent.
#[derive(Debug, Default)]
pub struct Identity {
    /// The process.
    pub pid: AtomicU32,
    /// When its session was made; 0 when there is none.
    pub created_mono_ns: AtomicU64,
}

/// The process that made the last session.
pub static IDENTITY: Identity = Identity { pid: AtomicU32::new(0), created_mono_ns: AtomicU64::new(0) };
