//! Handlers around fork, registered as libc has it: found in the symbol tables, because no one name is there
//! in glibc and in musl both.
#![allow(unsafe_code)]

use core::ffi::c_int;

use crate::loader::Loader;

/// Called around a fork, in the thread that forks.
pub type Handler = extern "C" fn();
/// `__register_atfork` of glibc; the last argument is the library that the handlers belong to.
type RegisterAtfork =
    unsafe extern "C" fn(Option<Handler>, Option<Handler>, Option<Handler>, *const ()) -> c_int;
/// `pthread_atfork` of POSIX.
pub type PthreadAtfork = unsafe extern "C" fn(Option<Handler>, Option<Handler>, Option<Handler>) -> c_int;

/// What is called when. Of several that register, the first's `prepare` runs last, the others first.
#[derive(Clone, Copy, Default, Debug)]
pub struct Handlers {
    /// Before the fork.
    pub prepare: Option<Handler>,
    /// After it, in the parent.
    pub parent: Option<Handler>,
    /// After it, in the child.
    pub child: Option<Handler>,
}

impl Handlers {
    /// Registers them for ever, for this process and its children, which inherit them. `given` is the function
    /// of a static program, which is found by no symbol table. `false` when libc has no such function, or
    /// no memory: it may allocate.
    pub fn register(self, loader: &Loader, given: Option<PthreadAtfork>) -> bool {
        let Handlers { prepare, parent, child } = self;
        // glibc has pthread_atfork only as a static stub around this.
        if let Some(f) = loader.find_anywhere(b"__register_atfork") {
            // SAFETY: glibc's function of this name has this type; without a handle the handlers stay.
            return unsafe {
                let register = core::mem::transmute::<*const (), RegisterAtfork>(f);
                register(prepare, parent, child, core::ptr::null()) == 0
            };
        }
        // SAFETY: POSIX's type of the function.
        let found = loader
            .find_anywhere(b"pthread_atfork")
            .map(|f| unsafe { core::mem::transmute::<*const (), PthreadAtfork>(f) });
        // SAFETY: POSIX's type of the function, or the static program's own.
        found.or(given).is_some_and(|register| unsafe { register(prepare, parent, child) == 0 })
    }
}
