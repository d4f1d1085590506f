//! The pool heap for a whole program: [`TlsfHeap`], which is [`crate::tlsf`] behind a lock that passes on
//! priority, with pools that are asked of the kernel.
//!
//! *You bring* a [`Config`]. *It guarantees* that the lock is held for a bounded number of steps - never while
//! memory is asked of the kernel, touched, copied or zeroed -, that a request which can never fit gets nothing
//! at once, that a free waits for nobody, and that a forked child has a heap that works. *It refuses* to wait for
//! its own thread: a signal handler that interrupts a call gets no memory.
//!
//! ```text
//!   heap     the calls                          mutex   FUTEX_LOCK_PI, one compare-and-swap when free
//!   growth   how large the next pool is         thread  what a thread keeps: its number, its cache
//!   area     memory of the kernel, as wished    sys     system calls
//!   left     blocks freed while another has the lock
//!   cached   calls that a thread's cache serves; cache: one, caches: all of a heap
//!   mark     what tells a block that is freed and not the pool's again
//! ```

mod area;
mod cache;
mod cached;
mod caches;
mod growth;
mod heap;
mod left;
mod mark;
mod mutex;
mod room;
mod sys;
mod thread;

pub use area::{Area, AreaSource, Wishes, from_kernel};
pub use growth::Config;
pub use heap::TlsfHeap;
pub use mutex::{Held, PiMutex, Reentered};
