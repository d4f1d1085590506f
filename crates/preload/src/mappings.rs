//! The calls by which a program maps memory of its own, past the heap: `mmap` and its like, and the break. Where they are
//! not recorded (`record --track-mmap`) each is a jump to the C library's function, from the second call on. Whether they
//! are is in the environment, so that a program that only maps is not made a session for nothing.
//!
//! The heap's own mappings are not seen: glibc's malloc calls by names that nobody interposes, and calls from the code of
//! another heap only pass. Nor are the recorder's, which are system calls, nor those that a program makes itself by
//! `syscall`.
#![allow(unsafe_code)]

use core::arch::naked_asm;
use core::ffi::{CStr, c_int};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use heapscribe_nolibc::environment;
use heapscribe_nolibc::sys::{self, ProgramCall};
use heapscribe_recorder::unwind::Registers;
use heapscribe_recorder::{
    MappingChange, MappingFlags, MappingKind, enter, hook_flags, mapping_ticks, program, settle_flags,
};

use crate::call::caller;
use crate::hooks::{ENOMEM, set_errno};

/// The functions.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
enum Function {
    Mmap,
    Mmap64,
    Munmap,
    Mremap,
    Mprotect,
    Brk,
    Sbrk,
}

const COUNT: usize = 7;
const NAMES: [&[u8]; COUNT] = [b"mmap", b"mmap64", b"munmap", b"mremap", b"mprotect", b"brk", b"sbrk"];
/// What a call gives that has failed.
const FAILED: usize = usize::MAX;
const PAGE_BYTES: usize = 4096;
/// Room for entries of the environment, on the stack of the program's call: ours is short, and longer ones are passed over.
const ENTRY_BYTES_MAX: usize = 1024;

/// Those that the program would have called; null until they are found.
static NEXT: [AtomicPtr<()>; COUNT] = [const { AtomicPtr::new(ptr::null_mut()) }; COUNT];
/// Where the exported names jump to, where nothing is recorded; null while that is not known, or when it is.
static TARGETS: [AtomicPtr<()>; COUNT] = [const { AtomicPtr::new(ptr::null_mut()) }; COUNT];

type Next = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> usize;

/// Exports a function: a jump, or a call of its body with the caller's stack and frame pointer behind six arguments.
macro_rules! mapping_hooks {
    ($($name:ident => $function:ident $body:path;)*) => {
        $(
            /// The function of this name of the C library.
            ///
            /// # Safety
            /// * The call is one that a program may make of that function.
            #[unsafe(naked)]
            #[cfg_attr(not(test), unsafe(no_mangle))]
            pub unsafe extern "C" fn $name() {
                naked_asm!(".cfi_startproc", "endbr64", "mov rax, qword ptr [rip + {targets} + 8 * {index}]",
                    "test rax, rax", "jz 2f", "jmp rax", "2:", "mov rax, rsp", "sub rsp, 8", "push rbp", "push rax",
                    ".cfi_adjust_cfa_offset 24", "call {body}", "add rsp, 24", ".cfi_adjust_cfa_offset -24", "ret",
                    ".cfi_endproc", targets = sym TARGETS, index = const Function::$function as usize, body = sym $body)
            }
        )*
    };
}

mapping_hooks! {
    mmap => Mmap on_mmap;
    mmap64 => Mmap64 on_mmap;
    munmap => Munmap on_munmap;
    mremap => Mremap on_mremap;
    mprotect => Mprotect on_mprotect;
    brk => Brk on_brk;
    sbrk => Sbrk on_sbrk;
}

fn find(function: usize) -> *mut () {
    let place = &NEXT[function];
    let known = place.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    let name = NAMES[function];
    let next = program::loader().and_then(|loader| loader.find_next(name, find as *const ()));
    let next = next.unwrap_or(ptr::null()).cast_mut();
    place.store(next, Ordering::Relaxed);
    next
}

/// Whether `record` was asked for mappings. It asks the environment that libc has; the one that the program was started
/// with only where that names no recording: libc has not started, or the program has cleared it.
#[cold]
fn is_asked() -> bool {
    const TRACKS: &CStr = c"HEAPSCRIBE_TRACK_MMAP";
    const SESSION: &CStr = c"HEAPSCRIBE_SESSION";
    if environment::is_privileged() {
        return false;
    }
    let mut room = [0; ENTRY_BYTES_MAX];
    let value = environment::known(TRACKS).or_else(|| match environment::known(SESSION) {
        Some(_) => None,
        None => environment::initial(TRACKS, &mut room),
    });
    value == Some(b"1")
}

/// Has all names jump to the C library from now on: nothing is recorded.
#[cold]
fn pass_all() {
    for (function, target) in TARGETS.iter().enumerate() {
        target.store(find(function), Ordering::Relaxed);
    }
}

/// Makes the call. A process whose C library is not found makes it by the system call; it has no break then.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function.
unsafe fn call(function: Function, a: [usize; 6]) -> usize {
    let next = find(function as usize);
    if !next.is_null() {
        // SAFETY: the C library's function of this name, or one that took its place, given the program's arguments.
        return unsafe { core::mem::transmute::<*mut (), Next>(next)(a[0], a[1], a[2], a[3], a[4], a[5]) };
    }
    let system_call = match function {
        Function::Mmap | Function::Mmap64 => Some(ProgramCall::Mmap),
        Function::Munmap => Some(ProgramCall::Munmap),
        Function::Mremap => Some(ProgramCall::Mremap),
        Function::Mprotect => Some(ProgramCall::Mprotect),
        Function::Brk | Function::Sbrk => None,
    };
    // SAFETY: the program's call, with its arguments.
    let make = |which| unsafe { sys::for_program(which, a) };
    let result = system_call.map_or(Err(sys::Errno(ENOMEM)), make);
    result.unwrap_or_else(|error| {
        set_errno(error.0);
        FAILED
    })
}

/// A call that is recorded: who makes it, and when it began.
struct Tracked {
    registers: Registers,
    begin_ticks: u64,
}

impl Tracked {
    /// Before the call: whether it is recorded. Where no call is, the next ones need not ask.
    ///
    /// # Safety
    /// * `sp` is the stack pointer at the entry of the hook.
    unsafe fn begin(sp: *const usize, bp: usize) -> Option<Tracked> {
        // SAFETY: `sp` is the stack pointer at the entry.
        let registers = unsafe { caller(sp, bp) };
        if hook_flags::are_unsettled() {
            if !is_asked() {
                pass_all();
                return None;
            }
            settle_flags(&registers);
        }
        if !hook_flags::are_mappings_tracked() {
            if !hook_flags::are_unsettled() {
                pass_all();
            }
            return None;
        }
        if program::heap()?.is_own_code(registers.pc) {
            return None;
        }
        Some(Tracked { registers, begin_ticks: mapping_ticks() })
    }

    /// After the call.
    fn record(&self, change: &MappingChange) {
        if let Some(entered) = enter(&self.registers) {
            // SAFETY: the registers are those of the hook's caller, which is active.
            unsafe { entered.record_mapping(change, self.begin_ticks, self.registers) };
        }
    }
}

/// The whole pages of a range that begins at a page.
const fn pages(bytes: usize) -> usize {
    bytes.saturating_add(PAGE_BYTES - 1) & !(PAGE_BYTES - 1)
}

/// The flags of memory with these rights and `mmap`'s flags.
fn flags(rights: usize, map: usize) -> MappingFlags {
    const MAP_PRIVATE: usize = 2;
    const MAP_TYPE: usize = 0xf;
    const MAP_ANONYMOUS: usize = 0x20;
    let is_own = map & MAP_ANONYMOUS != 0 && map & MAP_TYPE == MAP_PRIVATE;
    MappingFlags::default()
        .with(MappingFlags::ACCESSIBLE, rights & 7 != 0)
        .with(MappingFlags::ANONYMOUS, is_own)
}

/// Whether a function that gives an int has succeeded.
const fn is_done(result: usize) -> bool {
    result as c_int == 0
}

macro_rules! body {
    ($(#[$doc:meta])* $name:ident($function:expr, $a:ident, $result:ident, $tracked:ident) $record:block) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// * The arguments are those of a call that the program may make of the function.
        /// * `sp` is the stack pointer at the entry of the hook.
        unsafe extern "C" fn $name(
            a0: usize, a1: usize, a2: usize, a3: usize, a4: usize, a5: usize, sp: *const usize, bp: usize,
        ) -> usize {
            let $a = [a0, a1, a2, a3, a4, a5];
            // SAFETY: `sp` is the stack pointer at the entry.
            let tracked = unsafe { Tracked::begin(sp, bp) };
            // SAFETY: the program's call, forwarded.
            let $result = unsafe { call($function, $a) };
            if let Some($tracked) = tracked $record
            $result
        }
    };
}

body! {
    /// The body of `mmap` and `mmap64`, which are one function where sizes have 64 bits.
    on_mmap(Function::Mmap, a, result, tracked) {
        if result != FAILED {
            let (range, flags) = ((result, pages(a[1])), flags(a[2], a[3]));
            tracked.record(&MappingChange { kind: MappingKind::Map, flags, range, old: (0, 0) });
        }
    }
}

body! {
    /// The body of `munmap`.
    on_munmap(Function::Munmap, a, result, tracked) {
        if is_done(result) {
            let (range, flags) = ((a[0], pages(a[1])), MappingFlags::default());
            tracked.record(&MappingChange { kind: MappingKind::Unmap, flags, range, old: (0, 0) });
        }
    }
}

body! {
    /// The body of `mremap`.
    on_mremap(Function::Mremap, a, result, tracked) {
        const MREMAP_DONTUNMAP: usize = 4;
        if result != FAILED {
            let keeps_old = a[1] == 0 || a[3] & MREMAP_DONTUNMAP != 0;
            let flags = MappingFlags::default().with(MappingFlags::KEEPS_OLD, keeps_old);
            let (range, old) = ((result, pages(a[2])), (a[0], pages(a[1])));
            tracked.record(&MappingChange { kind: MappingKind::Move, flags, range, old });
        }
    }
}

body! {
    /// The body of `mprotect`.
    on_mprotect(Function::Mprotect, a, result, tracked) {
        if is_done(result) {
            let (range, flags) = ((a[0], pages(a[1])), flags(a[2], 0));
            tracked.record(&MappingChange { kind: MappingKind::Protect, flags, range, old: (0, 0) });
        }
    }
}

body! {
    /// The body of `sbrk`, which gives the break as it was.
    on_sbrk(Function::Sbrk, a, result, tracked) {
        if result != FAILED {
            record_break(&tracked, result);
        }
    }
}

/// The body of `brk`. The break before is the C library's own.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function.
/// * `sp` is the stack pointer at the entry of the hook.
unsafe extern "C" fn on_brk(
    to: usize,
    _a1: usize,
    _a2: usize,
    _a3: usize,
    _a4: usize,
    _a5: usize,
    sp: *const usize,
    bp: usize,
) -> usize {
    // SAFETY: `sp` is the stack pointer at the entry.
    let tracked = unsafe { Tracked::begin(sp, bp) };
    // SAFETY: it only asks.
    let before = tracked.as_ref().map_or(0, |_| unsafe { call(Function::Sbrk, [0; 6]) });
    // SAFETY: the program's call, forwarded.
    let result = unsafe { call(Function::Brk, [to, 0, 0, 0, 0, 0]) };
    if let Some(tracked) = tracked.filter(|_| is_done(result) && before != FAILED) {
        record_break(&tracked, before);
    }
    result
}

/// Records what has become of the break: glibc calls it a success when the kernel leaves it where it was.
fn record_break(tracked: &Tracked, before: usize) {
    // SAFETY: it only asks.
    let after = unsafe { call(Function::Sbrk, [0; 6]) };
    let flags = flags(1, 0).with(MappingFlags::ANONYMOUS, true).with(MappingFlags::BREAK, true);
    let (kind, range) = match after.checked_sub(before) {
        Some(0) => return,
        Some(more) => (MappingKind::Map, (before, more)),
        None => (MappingKind::Unmap, (after, before - after)),
    };
    tracked.record(&MappingChange { kind, flags, range, old: (0, 0) });
}
