//! The interpreter's lock, and whose state a thread runs: a thread that has the lock reads its frames by loads, since nobody
//! else ends the interpreter meanwhile. One that has let go of it runs no Python until it has it again, so that its frames
//! stay as they are until it lets go of it the next time ([`lock_release`](super::lock_release)).
#![allow(unsafe_code)]

use heapscribe_nolibc::loader::Loader;

use super::layout::{
    LOCK_BEFORE_HOLDER, LOCK_CONDITION, LOCK_HOLDER, LOCK_IS_TAKEN, RuntimeFields, THREAD_INTERPRETER,
};
use super::lock_release::{self, Signal};
use super::read::{Kernel, Read};

/// Where it is, and where a thread has its state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock {
    /// The word that names the thread which has it.
    holder: usize,
    /// The word that says whether it is taken; 0: the holder is none when it is not.
    is_taken: usize,
    /// The lock itself; 0 where it is not as expected.
    own: usize,
    /// The word that has the main interpreter; up to 3.11 the newest one is in the word before it.
    main: usize,
    /// The interpreter whose it is; 0: it is that of all.
    interpreter: usize,
    /// In a thread's state: the thread.
    thread: usize,
    /// A thread's value of the key that its state is kept under, from the thread pointer on.
    pub(super) slot: usize,
}

impl Lock {
    pub(super) const NONE: Lock =
        Lock { holder: 0, is_taken: 0, own: 0, main: 0, interpreter: 0, thread: 0, slot: 0 };

    /// Looks for it. `None` where it is not made yet.
    pub(super) fn find(kernel: Kernel, runtime: usize, fields: RuntimeFields) -> Option<Lock> {
        let RuntimeFields { thread, .. } = fields;
        let main = runtime.wrapping_add(fields.main);
        if fields.lock == 0 {
            let holder = runtime.wrapping_add(fields.holder);
            let own = holder.wrapping_sub(LOCK_BEFORE_HOLDER);
            return Some(Lock { holder, own, main, thread, ..Lock::NONE });
        }
        let word = |address: usize| kernel.word(address).filter(|word| *word != 0);
        let interpreter = word(main)?;
        let own = word(interpreter.wrapping_add(fields.lock))?;
        let (holder, is_taken) = (own.wrapping_add(LOCK_HOLDER), own.wrapping_add(LOCK_IS_TAKEN));
        Some(Lock { holder, is_taken, own, main, interpreter, thread, slot: 0 })
    }

    /// Up to 3.11 a thread has the first of its states under the key, whichever interpreter it runs. While it has the lock
    /// that they share, its state is known to be the holder.
    #[cold]
    pub(super) fn state_of_holder(&self, kernel: Kernel, thread_pointer: usize) -> Option<usize> {
        let state = kernel.word(self.holder).filter(|state| *state != 0)?;
        let is_ours = kernel.word(state.wrapping_add(self.thread)) == Some(thread_pointer);
        let is_taken = self.is_taken == 0 || kernel.half(self.is_taken) == Some(1);
        (is_ours && is_taken).then_some(state)
    }

    /// Looks whether the lock is where it should be, on a thread that has it and this state.
    pub(super) fn check(&mut self, kernel: Kernel, state: usize) {
        let has_words = kernel.word(self.own.wrapping_add(LOCK_HOLDER)) == Some(state)
            && kernel.half(self.own.wrapping_add(LOCK_IS_TAKEN)) == Some(1);
        if !has_words || !self.is_of(kernel, state) {
            self.own = 0;
        }
    }

    /// The state of the calling thread; 0: it has none. `None` when it is not known which of several interpreters it runs.
    #[inline(always)]
    pub(crate) fn thread_state(&self, thread_pointer: usize, kernel: Kernel) -> Option<usize> {
        // SAFETY: one of the words for keys in the thread's own control block, by the check.
        let state = unsafe { (thread_pointer.wrapping_add(self.slot) as *const usize).read_volatile() };
        if self.is_taken != 0 || state == 0 || !self.is_of_several() {
            return Some(state);
        }
        self.state_of_holder(kernel, thread_pointer)
    }

    /// Whether there are other interpreters than the main one, up to 3.11.
    #[inline(always)]
    fn is_of_several(&self) -> bool {
        // SAFETY: words of the interpreter's own state, in a module that stays.
        unsafe {
            let main = (self.main as *const usize).read_volatile();
            main != (self.main.wrapping_sub(8) as *const usize).read_volatile()
        }
    }

    /// Whether this state's thread has it.
    #[inline(always)]
    pub(crate) fn is_held_by(&self, state: usize) -> bool {
        // SAFETY: words of the interpreter's own state, in a module that stays.
        unsafe {
            (self.holder as *const usize).read_volatile() == state
                && (self.is_taken == 0 || (self.is_taken as *const u32).read_volatile() == 1)
        }
    }

    /// Whether this state's thread has taken it last and not let go of it, though it runs nothing: up to 3.11 it may have
    /// no current state meanwhile.
    fn is_kept_by(&self, state: usize) -> bool {
        let (holder, is_taken) = (self.own.wrapping_add(LOCK_HOLDER), self.own.wrapping_add(LOCK_IS_TAKEN));
        // SAFETY: words of the interpreter's own state, in a module that stays.
        unsafe {
            (holder as *const usize).read_volatile() == state && (is_taken as *const u32).read_volatile() != 0
        }
    }

    /// Whether this is the lock that the thread of this state takes: a subinterpreter may have one of its own, from 3.12 on.
    pub(crate) fn is_of(&self, read: impl Read, state: usize) -> bool {
        let interpreter = || read.word(state.wrapping_add(THREAD_INTERPRETER));
        self.interpreter == 0 || interpreter() == Some(self.interpreter)
    }

    /// Whether a thread that has this state and not the lock runs no Python before it has let go of the lock once more, which
    /// is counted.
    pub(crate) fn are_releases_counted(&self, state: usize) -> bool {
        lock_release::are_watched() && self.own != 0 && !self.is_kept_by(state)
    }

    /// Has releases counted by what is called in place of the function by which they are told to other threads, once that
    /// is possible.
    #[inline(always)]
    pub(crate) fn watch_releases(&self, signal: Signal, loader: Option<&Loader>) {
        if self.own != 0
            && lock_release::may_be_watched()
            && let Some(loader) = loader
        {
            lock_release::watch(self.main, self.own.wrapping_add(LOCK_CONDITION), (signal, loader));
        }
    }
}
