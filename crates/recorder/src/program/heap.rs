//! The heap that would be the program's without us.
#![allow(unsafe_code)]

use core::ffi::CStr;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};

use heapscribe_alloc::system::SystemHeap;
use heapscribe_nolibc::loader::{Ahead, Maker, Module};
use heapscribe_nolibc::once::Once;
use heapscribe_wire::live::{GRANULE_SHIFT_GLIBC, GRANULE_SHIFT_OTHER};

use super::loader::loader;
use super::plain::plain;
use crate::state::{hook_flags, words};

/// What only the runtimes of sanitizers define.
const SANITIZERS: [&[u8]; 4] = [b"__asan_init", b"__hwasan_init", b"__msan_init", b"__tsan_init"];

/// What they ask other modules for, and define nothing else by which they can be known when gcc links them into a
/// program (`-static-libasan`).
const OF_A_LINKED_SANITIZER: &[u8] = b"__sanitizer_symbolize_demangle";

/// The heap that would be the program's without us, and what kind it is.
#[derive(Debug)]
pub struct Heap {
    /// Its functions.
    pub system: SystemHeap,
    /// It is glibc's own, whose blocks start at least 32 bytes apart.
    pub is_glibc: bool,
    /// What the program calls instead of us.
    pub ahead: Ahead,
    /// It has C++'s operators new and delete, which call none of its other functions that we see.
    pub has_operators: bool,
    /// It is a sanitizer's, which looks at every access to memory by libc's functions, also at ours to the program's
    /// stacks: its calls are not recorded.
    is_sanitizers: bool,
    /// It is not the program's, which contains another one.
    is_passed_over: bool,
    /// Its process is one that we understand; those of others are not recorded.
    is_understood: bool,
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
    /// Calls the heap, and measures how long that took if it is wanted. While the call lasts, calls from the
    /// heap's own module are its own.
    #[inline(always)]
    pub fn forward<T>(&self, call: impl FnOnce(&SystemHeap) -> T) -> (T, Option<u64>) {
        let call = || call(&self.system);
        if !self.may_nest {
            return hook_flags::timed(call);
        }
        let words = words::words();
        let before = words.forwards.replace(true);
        let result = hook_flags::timed(call);
        words.forwards.set(before);
        result
    }

    /// [`Heap::forward`] for a call that is made between two halves and may not return: the first. Gives the time for
    /// the second.
    pub fn begin_forward(&self) -> u64 {
        words::words().forwards.set(self.may_nest);
        hook_flags::now()
    }

    /// The second half: how long the call took, if that is wanted.
    pub fn end_forward(&self, begun: u64) -> Option<u64> {
        let now = hook_flags::now();
        // False also when it was true before: a call that threw has left it so.
        words::words().forwards.set(false);
        (begun != 0).then(|| now.saturating_sub(begun))
    }

    /// Whether this address is one of its own functions: an operator that it defines.
    pub fn has_operator(&self, operator: *const ()) -> bool {
        self.has_operators && self.text[0].contains(&(operator as usize))
    }

    /// Whether this is an address of the heap that the program has instead of libc's: what that maps is its blocks'.
    pub fn is_own_code(&self, pc: usize) -> bool {
        !self.is_glibc && (self.text[0].contains(&pc) || self.calls_itself(pc))
    }

    /// Whether a hook was called by the heap itself, serving another hook's call, and not by the program.
    #[inline(always)]
    pub fn calls_itself(&self, caller_pc: usize) -> bool {
        let is_its = || self.nests_anywhere || self.text.iter().any(|text| text.contains(&caller_pc));
        self.may_nest && words::words().forwards.get() && is_its()
    }
}

/// The program records its blocks itself, see `global`.
static IS_OWN: AtomicBool = AtomicBool::new(false);

/// Notes that the program records its blocks itself, whichever heap they are of.
pub(crate) fn set_own_heap() {
    IS_OWN.store(true, Ordering::Relaxed);
}

/// How far apart blocks start, as a power of two; `None` when there is no heap, or none that may be recorded.
pub(crate) fn granule_shift() -> Option<u32> {
    if IS_OWN.load(Ordering::Relaxed) {
        return Some(GRANULE_SHIFT_OTHER);
    }
    let heap = heap().filter(|heap| heap.is_understood && !heap.is_sanitizers)?;
    Some(if heap.is_glibc { GRANULE_SHIFT_GLIBC } else { GRANULE_SHIFT_OTHER })
}

/// Whether the heap is that of a sanitizer.
pub(crate) fn is_sanitizers() -> bool {
    heap().is_some_and(|heap| heap.is_sanitizers)
}

/// Whether the program calls a heap that it contains, and may never call a hook.
pub(crate) fn is_passed_over() -> bool {
    heap().is_some_and(|heap| heap.is_passed_over)
}

static HEAP: Once<Heap> = Once::new();
static LIBC: Once<Heap> = Once::new();

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
    HEAP.set(behind_us().or_else(not_understood)?);
    HEAP.get()
}

/// That of a process in which we do not find our way.
fn not_understood() -> Option<Heap> {
    Some(Heap { is_understood: false, ..of_glibc(plain()?) })
}

fn of_glibc(system: SystemHeap) -> Heap {
    Heap {
        system,
        is_glibc: true,
        ahead: Ahead::default(),
        has_operators: false,
        is_sanitizers: false,
        is_passed_over: false,
        is_understood: true,
        may_nest: false,
        nests_anywhere: false,
        text: [0..0, 0..0],
    }
}

/// glibc's function of this name, where another heap lies between it and us.
pub fn libc_function(name: &[u8]) -> Option<*const ()> {
    if heap()?.is_glibc {
        return None;
    }
    let loader = loader()?;
    loader.find_in_module_of(name, loader.find_anywhere(b"gnu_get_libc_version")?)
}

/// glibc's heap, where another one lies between it and us: modules that were opened with RTLD_DEEPBIND call it. `None`
/// until [`find_libc_heap`] has found it.
#[inline(always)]
pub fn libc_heap() -> Option<&'static Heap> {
    LIBC.get()
}

/// Finds that heap.
pub fn find_libc_heap() -> Option<&'static Heap> {
    if LIBC.get().is_none() {
        // SAFETY: glibc's functions of these names.
        let system = unsafe { SystemHeap::find(|name: &CStr| libc_function(name.to_bytes())) }?;
        LIBC.set(of_glibc(system));
    }
    LIBC.get()
}

fn behind_us() -> Option<Heap> {
    let loader = loader()?;
    let own = behind_us as *const ();
    // SAFETY: the symbols of these names are the C library's functions, or those of a heap that took
    // their place and so has their types.
    let system = unsafe { SystemHeap::find(|name: &CStr| loader.find_next(name.to_bytes(), own)) }?;
    let maker = loader.maker(system.malloc as usize)?;
    let malloc = loader.find_text(system.malloc as usize)?;
    let ours = loader.find_text(own as usize)?;
    let text = [malloc.start..malloc.end, ours.start..ours.end];
    let module = loader.modules().find(|module| module.link_map() == malloc.link_map);
    let defines = |name: &[u8]| module.is_some_and(|module: Module| module.find_symbol(name).is_some());
    let is_glibc = maker == Maker::Glibc;
    let is_sanitizers = |module: Module| SANITIZERS.iter().any(|name| module.find_symbol(name).is_some());
    let program = loader.modules().next().filter(|program| program.find_symbol(b"malloc").is_some());
    let is_passed_over = program.is_some();
    let is_linked =
        |program: Module| program.asks_for_symbol(OF_A_LINKED_SANITIZER) || is_sanitizers(program);
    let is_sanitizers = !is_glibc && module.is_some_and(is_sanitizers) || program.is_some_and(is_linked);
    // A heap behind an interposed library calls nothing by name, but what it was given: another library's functions.
    let nests_anywhere = defines(b"heapscribe_heap_nests");
    let has_operators = !is_glibc && !is_sanitizers && defines(b"_Znwm");
    let may_nest = !is_sanitizers && (maker == Maker::Other || nests_anywhere || has_operators);
    if may_nest {
        hook_flags::set_nesting();
    }
    let ahead = Ahead::find(loader, own);
    Some(Heap {
        system,
        is_glibc,
        ahead,
        has_operators,
        is_sanitizers,
        is_passed_over,
        is_understood: true,
        may_nest,
        nests_anywhere,
        text,
    })
}
