//! The C side of the walk tests: a library of stacks, and a hook that is entered as the recorder's are.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use heapscribe_nolibc::loader::{Loader, ModuleText};
use heapscribe_recorder::unwind::pc_cache::ENTRIES;
use heapscribe_recorder::unwind::{Context, PcCache, Unwinder};

pub(crate) type Hook = unsafe extern "C" fn();

unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The library, compiled once for each way of compiling.
pub(crate) struct Stacks(*mut c_void);

// SAFETY: a handle of `dlopen` belongs to no thread.
unsafe impl Send for Stacks {}

impl Stacks {
    /// Compiles `source` with `options` and loads it; `label` names the file. Calls between its functions
    /// are bound when they are made.
    pub(crate) fn build(source: &str, label: &str, options: &[&str]) -> Stacks {
        let path =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{label}-{}.so", std::process::id()));
        let source = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stacks")).join(source);
        let common = ["-shared", "-fPIC", "-pthread", "-Wall", "-Wl,-z,lazy", "-o"];
        let status = Command::new("cc").args(options).args(common).arg(&path).arg(source).status().unwrap();
        assert!(status.success());
        let name = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: a C string; RTLD_LAZY.
        let handle = unsafe { dlopen(name.as_ptr(), 1) };
        assert!(!handle.is_null());
        std::fs::remove_file(path).unwrap();
        Stacks(handle)
    }

    /// The address of a function.
    fn symbol(&self, name: &CStr) -> *mut c_void {
        // SAFETY: a handle of `dlopen` and a C string.
        let address = unsafe { dlsym(self.0, name.as_ptr()) };
        assert!(!address.is_null(), "{name:?}");
        address
    }

    /// Calls a `void name(Hook hook, int n)`; those without `n` ignore it.
    pub(crate) fn call(&self, name: &CStr, hook: Hook, n: c_int) {
        // SAFETY: all functions of the library have this type, or do not look at the second argument.
        let function: unsafe extern "C" fn(Hook, c_int) = unsafe { std::mem::transmute(self.symbol(name)) };
        // SAFETY: the hook is one of this file's kind.
        unsafe { function(hook, n) };
    }
}

/// The loader of this process.
pub(crate) fn loader() -> &'static Loader {
    static LOADER: OnceLock<Loader> = OnceLock::new();
    LOADER.get_or_init(|| Loader::discover().unwrap())
}

/// An unwinder with a cache that lives as long as the process.
pub(crate) fn unwinder() -> Unwinder<'static> {
    static MEMORY: [AtomicU64; ENTRIES] = [const { AtomicU64::new(0) }; ENTRIES];
    Unwinder { loader: loader(), cache: Some(PcCache::new(&MEMORY)), known: None }
}

/// Counts what is new.
#[derive(Default)]
pub(crate) struct Counting {
    pub(crate) new_code: usize,
    /// What it says of each module.
    pub(crate) is_known: bool,
}

impl Context for Counting {
    fn on_new_code(&mut self, text: &ModuleText) -> bool {
        assert!(text.start < text.end);
        self.new_code += 1;
        self.is_known
    }
}

/// Defines a hook that tail-calls `$handler(sp, bp, pc)` as the recorder's hooks do.
macro_rules! hook {
    ($name:ident => $handler:ident) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "lea rdi, [rsp + 8]", "mov rsi, rbp", "mov rdx, [rsp]", "jmp {handler}",
                handler = sym $handler,
            )
        }
    };
}
pub(crate) use hook;
