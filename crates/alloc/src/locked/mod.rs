//! The pool heap for a whole program: [`TlsfHeap`], which is [`crate::tlsf`] behind a lock that passes on
//! priority, with pools that are asked of the kernel.
//!
//! *You bring* a [`Config`]. *It guarantees* that the lock is held for a bounded number of steps - never while
//! memory is asked of the kernel, touched, copied or zeroed -, that a request which can never fit gets nothing
//! at once, that a free waits for nobody, and that a forked child has a heap that works. *It refuses* to wait for
//! its own thread: a signal handler that interrupts a call gets no memory.
//!
//! ```text
//!   tlsf_heap    the state: TLSF behind its lock       calls            what programs call
//!   growing      a pool is added                       growth           how large the next pool is
//!   area         memory of the kernel                  available_memory how much of that there is
//!   mutex        FUTEX_LOCK_PI, one compare-and-swap   thread_words     a thread's number and cache
//!                when free                             sys              system calls
//!   deferred_free  blocks freed while another thread has the lock
//!   cached_calls   calls that a thread's cache serves; thread_cache: one, cache_registry: all of a heap
//!   freed_mark     what tells a block that is freed and not the pool's again
//! ```

mod area;
mod available_memory;
mod cache_registry;
mod cached_calls;
mod calls;
mod deferred_free;
mod freed_mark;
mod growing;
mod growth;
mod mutex;
mod sys;
mod thread_cache;
mod thread_words;
mod tlsf_heap;

pub use area::{Area, AreaSource, PageOptions, from_kernel, uncounted};
pub use growth::Config;
pub use mutex::{Held, PiMutex, Reentered};
pub use tlsf_heap::TlsfHeap;
