//! The few words of the auxiliary vector that lead to the loader: the kernel's own copy, because the one
//! on the stack is the program's to overwrite. Where that copy is of another program, libc's: under proot, which
//! loads programs itself, `/proc/self/auxv` describes proot's loader.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicU8, Ordering};

use crate::sys::{File, Open};

unsafe extern "C" {
    safe fn getauxval(kind: u64) -> u64;
}

/// Where the kernel put the program and its interpreter.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Auxv {
    /// AT_PHDR: the program headers of what was executed (the loader's own, when it was run by name).
    pub(super) headers: usize,
    /// AT_PHNUM.
    pub(super) header_count: usize,
    /// AT_ENTRY: where the program begins.
    pub(super) entry: usize,
    /// AT_BASE: where the interpreter was loaded; 0 when there is none.
    pub(super) interpreter: usize,
    /// AT_SYSINFO_EHDR: the vDSO; 0 when there is none.
    pub(super) vdso: usize,
}

/// Whose copy is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Source {
    /// The kernel's; libc's where there is none: no /proc, no descriptor left, a sandbox.
    Kernel,
    /// That on the stack, by libc.
    Libc,
}

static SOURCE: AtomicU8 = AtomicU8::new(Source::Kernel as u8);

const AT_PHDR: u64 = 3;
const AT_PHNUM: u64 = 5;
const AT_BASE: u64 = 7;
const AT_ENTRY: u64 = 9;
const AT_SYSINFO_EHDR: u64 = 33;

impl Auxv {
    /// From now on this copy is read.
    pub(super) fn choose(source: Source) {
        SOURCE.store(source as u8, Ordering::Relaxed);
    }

    /// Reads the copy that was chosen.
    pub(super) fn read() -> Option<Auxv> {
        let is_kernels = SOURCE.load(Ordering::Relaxed) == Source::Kernel as u8;
        let auxv = if is_kernels { Auxv::of_kernel() } else { None };
        Some(auxv.unwrap_or_else(Auxv::of_libc)).filter(|auxv| auxv.headers != 0)
    }

    fn of_libc() -> Auxv {
        let value = |key: u64| getauxval(key) as usize;
        let (headers, header_count) = (value(AT_PHDR), value(AT_PHNUM));
        let (interpreter, vdso) = (value(AT_BASE), value(AT_SYSINFO_EHDR));
        Auxv { headers, header_count, interpreter, entry: value(AT_ENTRY), vdso }
    }

    /// Reads `/proc/self/auxv`.
    fn of_kernel() -> Option<Auxv> {
        let mut bytes = [0u8; 1024]; // some 20 entries of 16 bytes are in use
        let file = File::open(c"/proc/self/auxv", Open::Read).ok()?;
        let length = file.read_full(&mut bytes).ok()?;
        let mut auxv = Auxv::default();
        for entry in bytes.get(..length)?.chunks_exact(16) {
            let (key, value) = entry.split_first_chunk::<8>()?;
            let value = u64::from_ne_bytes(value.try_into().ok()?) as usize;
            match u64::from_ne_bytes(*key) {
                AT_PHDR => auxv.headers = value,
                AT_PHNUM => auxv.header_count = value,
                AT_BASE => auxv.interpreter = value,
                AT_ENTRY => auxv.entry = value,
                AT_SYSINFO_EHDR => auxv.vdso = value,
                _ => {}
            }
        }
        Some(auxv)
    }
}
