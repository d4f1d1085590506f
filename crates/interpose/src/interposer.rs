//! The start of a heap that nobody calls before the program does, and what the program had before it.
//!
//! ```text
//!   new -> ready      the heap serves
//!    |---> watching   it serves, and is told of threads that end
//!    \---> passing    it could not be had, or is not wanted here: the program's own serves, as it is or behind
//!                     other functions
//! ```
#![allow(unsafe_code)]

use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicU32, Ordering};

use heapscribe_alloc::heap::Heap;
use heapscribe_alloc::stats::Stats;
use heapscribe_alloc::system::SystemHeap;
use heapscribe_nolibc::at_fork;
use heapscribe_nolibc::clock;
use heapscribe_nolibc::loader::Loader;
use heapscribe_nolibc::once::Once;
use heapscribe_nolibc::sys;

use crate::calls;
use crate::line::Line;
use crate::only;
use crate::thread::{self, Ends, Watch};
use crate::told::Told;

const NEW: u32 = 0;
const READY: u32 = 1;
const WATCHING: u32 = 2;
const PASSING: u32 = 3;

/// A request of so many bytes is told of at once: few of these are most of a heap, and to use so many takes longer
/// than to tell. (A program that allocates 64 blocks of 1 MiB and then computes was seen with an empty pool.)
pub const LARGE_BYTES: usize = 64 << 10;

/// What came of a start.
#[derive(Clone, Copy, Debug)]
pub enum Start {
    /// The heap serves from now on.
    Ready,
    /// The program's own heap goes on serving.
    Pass,
    /// It does behind these functions, which are called in its place.
    Around(&'static SystemHeap),
}

/// What libc is to call around forks, and when a thread ends.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each calls the function of its name of the heap")]
pub struct Handlers {
    pub fork_prepare: at_fork::Handler,
    pub fork_parent: at_fork::Handler,
    pub fork_child: at_fork::Handler,
    pub thread_exit: Ends,
}

/// A heap under a program, and all that is known of the program's own.
#[derive(Debug)]
pub struct Shell<H: 'static> {
    heap: H,
    start: fn(&'static H) -> Start,
    handlers: Handlers,
    state: AtomicU32,
    /// The thread that starts the heap, while it does.
    starter: AtomicU32,
    before: Once<SystemHeap>,
    /// What serves in the heap's place.
    instead: Once<SystemHeap>,
    loader: Once<Loader>,
    watch: Once<Watch>,
    told: Told,
    /// 1 from the program's end on.
    leaving: AtomicU32,
}

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
}

/// Where the calling thread's errno is.
#[inline(always)]
pub fn errno() -> *mut c_int {
    // SAFETY: libc gives the address of the calling thread's errno.
    unsafe { __errno_location() }
}

impl<H: Heap + 'static> Shell<H> {
    /// A heap that `start` prepares, in the first call of the program's, and what it is called.
    pub const fn new(
        heap: H,
        start: fn(&'static H) -> Start,
        handlers: Handlers,
        name: &'static str,
    ) -> Shell<H> {
        Shell {
            heap,
            start,
            handlers,
            state: AtomicU32::new(NEW),
            starter: AtomicU32::new(0),
            before: Once::new(),
            instead: Once::new(),
            loader: Once::new(),
            watch: Once::new(),
            told: Told::new(name),
            leaving: AtomicU32::new(0),
        }
    }

    /// The heap.
    #[inline(always)]
    pub fn heap(&self) -> &H {
        &self.heap
    }

    /// The program's own heap; `None` when there is none that is whole.
    pub fn before(&self) -> Option<&SystemHeap> {
        self.before.get()
    }

    /// What serves in the heap's place: the program's own; `None` when the heap does.
    #[inline(always)]
    pub fn passes(&'static self) -> Option<&'static SystemHeap> {
        match self.state.load(Ordering::Acquire) {
            READY => None,
            WATCHING if thread::is_watched() => None,
            PASSING => self.instead.get(),
            _ => self.settle(),
        }
    }

    /// The way to the program's modules.
    pub fn loader(&self) -> Option<&Loader> {
        self.loader.get()
    }

    /// The function of this name that the program would have called without us.
    pub fn next(&self, name: &CStr) -> Option<*const ()> {
        self.loader.get()?.find_next(name.to_bytes(), core::ptr::from_ref(self).cast())
    }

    /// What the heap is called and was told to be, for those who look at the program from outside: in `start`.
    pub fn describe(&self, name: Line, configuration: Line) {
        self.told.describe(name, configuration);
    }

    /// Counts a call; now and then the heap tells how it does.
    #[inline(always)]
    pub fn count(&'static self) {
        if calls::count() {
            self.tell();
        }
    }

    /// The program has come to its end: what is told from now on is the last.
    pub fn leave(&'static self) {
        self.leaving.store(1, Ordering::Relaxed);
        self.tell();
    }

    /// Tells how the heap does, if anybody wants to know: now and then, and at once when a request got nothing or
    /// was a large one.
    #[cold]
    #[inline(never)]
    pub fn tell(&'static self) {
        if !self.told.is_wanted() || !matches!(self.state.load(Ordering::Acquire), READY | WATCHING) {
            return;
        }
        let errno = errno();
        // SAFETY: this thread's errno.
        let before = unsafe { errno.read() };
        let stats = self.heap.stats();
        // A heap whose own call was interrupted can not say.
        if stats != Stats::EMPTY {
            self.told.publish(false, self.leaving.load(Ordering::Relaxed) != 0, &stats);
        }
        // SAFETY: as above.
        unsafe { errno.write(before) };
    }

    /// In a forked child, from the fork handler: the next call makes it a file of its own.
    pub fn has_forked(&self) {
        self.told.forget();
        self.leaving.store(0, Ordering::Relaxed);
        calls::next_counts();
    }

    /// A start that allocates is served by who was there before: waiting for itself it would hang, as heaphook
    /// did when a constructor of its own needed memory.
    #[cold]
    #[inline(never)]
    fn settle(&'static self) -> Option<&'static SystemHeap> {
        if self.state.load(Ordering::Acquire) == WATCHING {
            self.watch_this_thread();
            return None;
        }
        let errno = errno();
        // SAFETY: this thread's errno.
        let before = unsafe { errno.read() };
        if self.is_starter() {
            return self.before.get();
        }
        while !matches!(self.state.load(Ordering::Acquire), READY | WATCHING | PASSING) {
            self.start_or_wait();
        }
        // SAFETY: as above.
        unsafe { errno.write(before) };
        if self.state.load(Ordering::Acquire) == PASSING { self.instead.get() } else { None }
    }

    /// Whether this thread is starting the heap, further down its stack.
    fn is_starter(&self) -> bool {
        self.starter.load(Ordering::Relaxed) == sys::tid() && self.state.load(Ordering::Acquire) == NEW
    }

    fn start_or_wait(&'static self) {
        // Before the mark: a handler of this thread that allocates would wait for itself.
        let blocked = sys::SignalsBlocked::new();
        if self.become_starter(0) {
            let is_new = self.state.load(Ordering::Acquire) == NEW;
            if is_new {
                self.begin();
            }
            self.starter.store(0, Ordering::Relaxed);
            drop(blocked);
            if is_new {
                self.watch();
            }
            return;
        }
        drop(blocked);
        const TRY_AGAIN_NS: u64 = 100_000;
        sys::sleep_ns(TRY_AGAIN_NS);
        let starter = self.starter.load(Ordering::Relaxed);
        if starter != 0 && !sys::thread_exists(sys::pid(), starter) && self.become_starter(starter) {
            self.pass_in_child();
        }
    }

    /// One word is mark and owner, so that a fork never finds the one without the other.
    fn become_starter(&self, before: u32) -> bool {
        self.starter.compare_exchange(before, sys::tid(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// A child that was forked while another thread was starting the heap, which is half made and will stay so: no
    /// block of it was handed out, and the program's own heap serves this process. (In a musl program, whose
    /// threads need no memory to begin, one forked while another made the first call, and waited for ever.)
    fn pass_in_child(&'static self) {
        // SAFETY: the thread that was at it is one of the parent's.
        unsafe {
            self.loader.abandon();
            self.before.abandon();
            self.instead.abandon();
        }
        self.find_before();
        if let Some(&before) = self.before.get() {
            self.instead.set(before);
            self.state.store(PASSING, Ordering::Release);
        }
        self.starter.store(0, Ordering::Relaxed);
    }

    fn find_before(&'static self) {
        if let Some(loader) = Loader::discover() {
            clock::find(&loader);
            self.loader.set(loader);
        }
        // SAFETY: the symbols of these names are the C library's functions, or those of a heap that took
        // their place and so has their types.
        if let Some(before) = unsafe { SystemHeap::find(|name| self.next(name)) } {
            self.before.set(before);
        }
    }

    fn begin(&'static self) {
        self.find_before();
        let start = if only::is_wanted() {
            (self.start)(&self.heap)
        } else {
            self.describe(Line::blank().text(b"system"), Line::blank());
            Start::Pass
        };
        let instead = match (start, self.before.get()) {
            (Start::Ready, _) | (_, None) => None,
            (Start::Pass, Some(before)) => Some(before),
            (Start::Around(functions), Some(_)) => Some(functions),
        };
        if let Some(&instead) = instead {
            self.instead.set(instead);
        }
        let stats = if instead.is_some() { Stats::EMPTY } else { self.heap.stats() };
        self.told.begin(instead.is_some(), &stats);
        self.state.store(if instead.is_some() { PASSING } else { READY }, Ordering::Release);
    }

    /// To register may allocate, so the heap must be there. Nobody forks in between but other threads, which a
    /// program can hardly have that has not allocated.
    fn watch(&'static self) {
        let Some(loader) = self.loader.get().filter(|_| self.state.load(Ordering::Acquire) == READY) else {
            return;
        };
        let Handlers { fork_prepare, fork_parent, fork_child, thread_exit } = self.handlers;
        let handlers = at_fork::Handlers {
            prepare: Some(fork_prepare),
            parent: Some(fork_parent),
            child: Some(fork_child),
        };
        handlers.register(loader, None);
        if self.heap.wants_thread_exit()
            && let Some(watch) = Watch::new(loader, thread_exit)
        {
            self.watch.set(watch);
            self.state.store(WATCHING, Ordering::Release);
        }
    }

    fn watch_this_thread(&self) {
        let errno = errno();
        if let Some(watch) = self.watch.get() {
            // SAFETY: this thread's errno.
            unsafe {
                let before = errno.read();
                watch.this_thread();
                errno.write(before);
            }
        }
    }
}
