//! A heap under a program: its start, in the first call that the program makes, and the program's own heap before it.
//!
//! ```text
//!   new -> ready            the heap serves
//!    |---> thread exits     it serves, and its `thread_exit` is called in threads that end
//!    \---> fallback         it could not start, or is not wanted here: the program's own serves, as it is or behind
//!                           other functions
//! ```
#![allow(unsafe_code)]

use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicU32, Ordering};

use heapscribe_alloc::front::Libc;
use heapscribe_alloc::heap::Heap;
use heapscribe_alloc::stats::Stats;
use heapscribe_alloc::system::SystemHeap;
use heapscribe_nolibc::at_fork;
use heapscribe_nolibc::clock;
use heapscribe_nolibc::loader::{Ahead, Loader};
use heapscribe_nolibc::once::Once;
use heapscribe_nolibc::own_stack::OwnStack;
use heapscribe_nolibc::sys;

use crate::call_counter;
use crate::libc;
use crate::line::Line;
use crate::program_filter;
use crate::statistics_file::StatisticsFile;
use crate::thread_exit::{self, ExitKey, ThreadExit};

const NEW: u32 = 0;
const READY: u32 = 1;
const THREAD_EXITS: u32 = 2;
const FALLBACK: u32 = 3;

/// A request of so many bytes publishes statistics at once: few of these are most of a heap, and to use so many takes
/// longer than to publish. (A program that allocates 64 blocks of 1 MiB and then computes was seen with an empty pool.)
pub const LARGE_BYTES: usize = 64 << 10;

/// What a start is done on: it takes more than a coroutine's stack may have.
static STARTERS_STACK: OwnStack = OwnStack::new();

/// The result of a start.
#[derive(Clone, Copy, Debug)]
pub enum Start {
    /// The heap serves from now on.
    Ready,
    /// The program's own heap goes on serving.
    Pass,
    /// It does behind these functions, which are called in its place and forward to it.
    Around(&'static SystemHeap),
}

/// What libc is to call around forks, and when a thread ends.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each calls the function of its name of the heap")]
pub struct Handlers {
    pub fork_prepare: at_fork::Handler,
    pub fork_parent: at_fork::Handler,
    pub fork_child: at_fork::Handler,
    pub thread_exit: ThreadExit,
}

/// A heap under a program, and all that is known of the program's own.
#[derive(Debug)]
pub struct Interposer<H: 'static> {
    heap: H,
    start: fn(&'static H) -> Start,
    handlers: Handlers,
    state: AtomicU32,
    /// The thread that starts the heap, while it does.
    starter: AtomicU32,
    previous: Once<SystemHeap>,
    /// What serves in the heap's place.
    fallback: Once<SystemHeap>,
    loader: Once<Loader>,
    libc: Once<Libc>,
    ahead: Once<Ahead>,
    exit_key: Once<ExitKey>,
    statistics: StatisticsFile,
    /// 1 from the program's exit on.
    exiting: AtomicU32,
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

impl<H: Heap + 'static> Interposer<H> {
    /// A heap that `start` prepares, in the first call of the program's, and what it is called.
    pub const fn new(
        heap: H,
        start: fn(&'static H) -> Start,
        handlers: Handlers,
        name: &'static str,
    ) -> Interposer<H> {
        Interposer {
            heap,
            start,
            handlers,
            state: AtomicU32::new(NEW),
            starter: AtomicU32::new(0),
            previous: Once::new(),
            fallback: Once::new(),
            loader: Once::new(),
            libc: Once::new(),
            ahead: Once::new(),
            exit_key: Once::new(),
            statistics: StatisticsFile::new(name),
            exiting: AtomicU32::new(0),
        }
    }

    /// The heap.
    #[inline(always)]
    pub fn heap(&self) -> &H {
        &self.heap
    }

    /// The program's own heap; `None` when there is none that is whole.
    pub fn previous(&self) -> Option<&SystemHeap> {
        self.previous.get()
    }

    /// What serves in the heap's place: the program's own; `None` when the heap does.
    #[inline(always)]
    pub fn fallback(&'static self) -> Option<&'static SystemHeap> {
        match self.state.load(Ordering::Acquire) {
            READY => None,
            THREAD_EXITS if thread_exit::is_registered() => None,
            FALLBACK => self.fallback.get(),
            _ => self.start_once(),
        }
    }

    /// The loader's list of the program's modules.
    pub fn loader(&self) -> Option<&Loader> {
        self.loader.get()
    }

    /// The function of this name that the program would have called without us.
    pub fn next(&self, name: &CStr) -> Option<*const ()> {
        self.loader.get()?.find_next(name.to_bytes(), core::ptr::from_ref(self).cast())
    }

    /// What the program calls in place of ours.
    #[inline(always)]
    pub fn ahead(&self) -> Ahead {
        self.ahead.get().copied().unwrap_or_default()
    }

    /// The program's libc.
    pub fn libc(&self) -> Libc {
        self.libc.get().copied().unwrap_or(Libc::Glibc)
    }

    /// What the heap is called and how it is configured, for its statistics: in `start`.
    pub fn describe(&self, name: Line, configuration: Line) {
        self.statistics.describe(name, configuration);
    }

    /// Where the address of the heap's newest pool stands, for those who look for pools from outside: in `start`.
    pub fn describe_pools(&self, address: usize) {
        self.statistics.describe_pools(address);
    }

    /// Counts a call; each 256th of a thread publishes statistics.
    #[inline(always)]
    pub fn count_call(&'static self) {
        if call_counter::count() {
            self.publish_statistics();
        }
    }

    /// The program exits: statistics that are published from now on are the last.
    pub fn at_exit(&'static self) {
        self.exiting.store(1, Ordering::Relaxed);
        self.publish_statistics();
    }

    /// Publishes the heap's statistics, if there is a file for them: now and then, and at once when a request got
    /// nothing or was a large one.
    #[cold]
    #[inline(never)]
    pub fn publish_statistics(&'static self) {
        if !self.statistics.is_wanted() || !matches!(self.state.load(Ordering::Acquire), READY | THREAD_EXITS)
        {
            return;
        }
        let errno = errno();
        // SAFETY: this thread's errno.
        let before = unsafe { errno.read() };
        let stats = self.heap.stats();
        // A heap whose own call was interrupted does not know.
        if stats != Stats::EMPTY {
            self.statistics.publish(false, self.exiting.load(Ordering::Relaxed) != 0, &stats);
        }
        // SAFETY: this thread's errno.
        unsafe { errno.write(before) };
    }

    /// In a forked child, from the fork handler: the next call makes it a file of its own.
    pub fn after_fork_in_child(&self) {
        self.statistics.reset_in_child();
        self.exiting.store(0, Ordering::Relaxed);
        call_counter::make_next_due();
    }

    /// Starts the heap, or waits until another thread has. A start that allocates is served by the previous heap:
    /// waiting for itself it would hang, as heaphook did when a constructor of its own needed memory.
    #[cold]
    #[inline(never)]
    fn start_once(&'static self) -> Option<&'static SystemHeap> {
        if self.state.load(Ordering::Acquire) == THREAD_EXITS {
            self.register_thread();
            return None;
        }
        let errno = errno();
        // SAFETY: this thread's errno.
        let before = unsafe { errno.read() };
        if self.is_starter() {
            return self.previous.get();
        }
        while !matches!(self.state.load(Ordering::Acquire), READY | THREAD_EXITS | FALLBACK) {
            self.start_or_wait();
        }
        // SAFETY: this thread's errno.
        unsafe { errno.write(before) };
        if self.state.load(Ordering::Acquire) == FALLBACK { self.fallback.get() } else { None }
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
                // SAFETY: a library has one interposer, one thread at a time is its starter, and that one's signals are
                // blocked.
                unsafe { STARTERS_STACK.call(|| self.begin()) };
            }
            self.starter.store(0, Ordering::Relaxed);
            drop(blocked);
            if is_new {
                self.register_handlers();
            }
            return;
        }
        drop(blocked);
        const RETRY_NS: u64 = 100_000;
        sys::sleep_ns(RETRY_NS);
        let starter = self.starter.load(Ordering::Relaxed);
        if starter != 0 && !sys::thread_exists(sys::pid(), starter) && self.become_starter(starter) {
            self.fall_back_in_child();
        }
    }

    /// One word is mark and owner, so that a fork never finds the one without the other.
    fn become_starter(&self, before: u32) -> bool {
        self.starter.compare_exchange(before, sys::tid(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// A child that was forked while another thread was starting the heap, which is half made and will stay so: no
    /// block of it was allocated, and the program's own heap serves this process. (In a musl program, whose
    /// threads need no memory to begin, one forked while another made the first call, and waited for ever.)
    fn fall_back_in_child(&'static self) {
        // SAFETY: the thread that was setting them is one of the parent's, and not in this process.
        unsafe {
            self.loader.abandon();
            self.libc.abandon();
            self.ahead.abandon();
            self.previous.abandon();
            self.fallback.abandon();
        }
        self.find_previous();
        if let Some(&previous) = self.previous.get() {
            self.fallback.set(previous);
            self.state.store(FALLBACK, Ordering::Release);
        }
        self.starter.store(0, Ordering::Relaxed);
    }

    fn find_previous(&'static self) {
        if let Some(loader) = Loader::discover() {
            clock::find(&loader);
            self.libc.set(libc::of_program(&loader));
            self.ahead.set(Ahead::find(&loader, core::ptr::from_ref(self).cast()));
            self.loader.set(loader);
        }
        // SAFETY: signatures: the symbols of these names are the C library's functions, or those of a heap that is
        // interposed before it and so has their types.
        if let Some(previous) = unsafe { SystemHeap::find(|name| self.next(name)) } {
            self.previous.set(previous);
        }
    }

    fn begin(&'static self) {
        self.find_previous();
        let start = if program_filter::is_wanted() {
            (self.start)(&self.heap)
        } else {
            self.describe(Line::blank().text(b"system"), Line::blank());
            Start::Pass
        };
        let fallback = match (start, self.previous.get()) {
            (Start::Ready, _) | (_, None) => None,
            (Start::Pass, Some(previous)) => Some(previous),
            (Start::Around(functions), Some(_)) => Some(functions),
        };
        if let Some(&fallback) = fallback {
            self.fallback.set(fallback);
        }
        let stats = if fallback.is_some() { Stats::EMPTY } else { self.heap.stats() };
        self.statistics.begin(fallback.is_some(), &stats);
        self.state.store(if fallback.is_some() { FALLBACK } else { READY }, Ordering::Release);
    }

    /// Registers the handlers of forks and of threads that end. That may allocate, so the heap must be ready. Only
    /// other threads can fork in between, which a program can hardly have that has not allocated.
    fn register_handlers(&'static self) {
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
            && let Some(exit_key) = ExitKey::new(loader, thread_exit)
        {
            self.exit_key.set(exit_key);
            self.state.store(THREAD_EXITS, Ordering::Release);
        }
    }

    fn register_thread(&self) {
        let errno = errno();
        if let Some(exit_key) = self.exit_key.get() {
            // SAFETY: this thread's errno.
            unsafe {
                let before = errno.read();
                exit_key.register_thread();
                errno.write(before);
            }
        }
    }
}
