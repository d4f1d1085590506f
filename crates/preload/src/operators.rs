//! C++'s operators new and delete, where the heap behind us has its own: tcmalloc, jemalloc, mimalloc, tbbmalloc and
//! others export them beside `malloc`, which a program that calls them then never calls. All others, such as
//! libstdc++'s, call `malloc` by name, and are recorded there.
//!
//! ```text
//!   exported name -> its target:  resolve      until its first call
//!                                 recorded     when the heap behind us defines the operator
//!                                 the next definition, or malloc and free when there is none
//! ```
//! When the heap has no operators, the names are hidden as soon as the process starts: a library that is loaded
//! later has to find its own runtime's, which may be unloaded again.
//!
//! An operator new may throw. The exception passes through the stub, which has unwinding information, and through
//! no frame of Rust. Such a call is not recorded.
#![allow(unsafe_code, non_snake_case)]

use core::arch::naked_asm;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use heapscribe_recorder::{Call, program};

use crate::call::{AllocRequest, Pointer, caller};
use crate::forward::heap;
use crate::hooks;
use crate::slow_hooks;

/// How many operators there are.
const COUNT: usize = 20;

/// One of them: its name, the stub by which it is recorded, and what does the same when nobody defines it.
struct Operator {
    name: &'static str,
    recorded: *const (),
    substitute: *const (),
}

// SAFETY: addresses of functions, which stay.
unsafe impl Sync for Operator {}

/// The operators of the heap behind us, where they are recorded.
static NEXT: [AtomicPtr<()>; COUNT] = [const { AtomicPtr::new(ptr::null_mut()) }; COUNT];

/// The stub of an operator new: the call between two halves of its record, with the arguments kept on the stack.
macro_rules! new {
    ($index:literal, $align:literal) => {
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn recorded() {
            naked_asm!(".cfi_startproc", "endbr64", "sub rsp, 40", ".cfi_adjust_cfa_offset 40",
                "mov [rsp], rdi", "mov [rsp + 8], rsi", "mov [rsp + 16], rdx",
                "lea rdi, [rsp + 40]", "mov rsi, rbp", "call {begin}", "mov [rsp + 24], rax",
                "mov rdi, [rsp]", "mov rsi, [rsp + 8]", "mov rdx, [rsp + 16]",
                "call qword ptr [rip + {next} + 8 * {index}]",
                "mov rdi, rax", "mov rsi, [rsp]", concat!("mov rdx, ", $align), "mov rcx, [rsp + 24]",
                "add rsp, 40", ".cfi_adjust_cfa_offset -40", "mov r8, rsp", "mov r9, rbp", "jmp {end}",
                ".cfi_endproc",
                begin = sym begin_new, next = sym NEXT, index = const $index, end = sym end_new)
        }
    };
}

/// The stub of an operator delete: its body does all.
macro_rules! delete {
    ($index:literal) => {
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn recorded() {
            naked_asm!(".cfi_startproc", "endbr64", "mov rcx, rsp", "mov r8, rbp", "mov r9d, {index}", "jmp {body}",
                ".cfi_endproc", index = const $index, body = sym on_delete)
        }
    };
}

macro_rules! operators {
    ($($index:literal $name:ident $kind:ident!($($align:literal)?) $substitute:path;)*) => {
        $(
            mod $name {
                use super::*;

                $kind!($index $(, $align)?);

                /// Finds the target, and jumps to it with the arguments as they were.
                #[unsafe(naked)]
                pub(super) unsafe extern "C" fn resolve() {
                    naked_asm!(".cfi_startproc", "endbr64", "push rdi", "push rsi", "push rdx",
                        ".cfi_adjust_cfa_offset 24", "mov edi, {index}", "call {find}",
                        "pop rdx", "pop rsi", "pop rdi", ".cfi_adjust_cfa_offset -24", "jmp rax", ".cfi_endproc",
                        index = const $index, find = sym find_target)
                }
            }

            /// The operator of this name of the C++ runtime.
            ///
            /// # Safety
            /// * The call is one that a program may make of that function.
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name() {
                naked_asm!("endbr64", "jmp qword ptr [rip + {targets} + 8 * {index}]",
                    targets = sym TARGETS, index = const $index)
            }
        )*

        /// Where the exported names jump to.
        static TARGETS: [AtomicPtr<()>; COUNT] = [$(AtomicPtr::new($name::resolve as *mut ())),*];

        static OPERATORS: [Operator; COUNT] = [$(Operator {
            name: stringify!($name),
            recorded: $name::recorded as *const (),
            substitute: $substitute as *const (),
        }),*];
    };
}

operators! {
    0 _Znwm new!("0") hooks::malloc;
    1 _Znam new!("0") hooks::malloc;
    2 _ZnwmRKSt9nothrow_t new!("0") hooks::malloc;
    3 _ZnamRKSt9nothrow_t new!("0") hooks::malloc;
    4 _ZnwmSt11align_val_t new!("[rsp + 8]") aligned;
    5 _ZnamSt11align_val_t new!("[rsp + 8]") aligned;
    6 _ZnwmSt11align_val_tRKSt9nothrow_t new!("[rsp + 8]") aligned;
    7 _ZnamSt11align_val_tRKSt9nothrow_t new!("[rsp + 8]") aligned;
    8 _ZdlPv delete!() hooks::free;
    9 _ZdaPv delete!() hooks::free;
    10 _ZdlPvm delete!() hooks::free;
    11 _ZdaPvm delete!() hooks::free;
    12 _ZdlPvRKSt9nothrow_t delete!() hooks::free;
    13 _ZdaPvRKSt9nothrow_t delete!() hooks::free;
    14 _ZdlPvSt11align_val_t delete!() hooks::free;
    15 _ZdaPvSt11align_val_t delete!() hooks::free;
    16 _ZdlPvmSt11align_val_t delete!() hooks::free;
    17 _ZdaPvmSt11align_val_t delete!() hooks::free;
    18 _ZdlPvSt11align_val_tRKSt9nothrow_t delete!() hooks::free;
    19 _ZdaPvSt11align_val_tRKSt9nothrow_t delete!() hooks::free;
}

/// An aligned operator new takes the size first.
///
/// # Safety
/// * The call is one that a program may make of an aligned operator new.
#[unsafe(naked)]
unsafe extern "C" fn aligned() {
    naked_asm!("endbr64", "xchg rdi, rsi", "jmp {memalign}", memalign = sym hooks::memalign)
}

/// The target of an operator from now on.
extern "C" fn find_target(index: usize) -> *const () {
    let (Some(operator), Some(target), Some(kept)) =
        (OPERATORS.get(index), TARGETS.get(index), NEXT.get(index))
    else {
        return ptr::null(); // no stub has such a number
    };
    let next = program::loader().and_then(|loader| loader.find_after(operator.name.as_bytes(), own()));
    let found = match next {
        Some(next) if heap::<false>().is_some_and(|heap| heap.has_operator(next)) => {
            kept.store(next.cast_mut(), Ordering::Release);
            operator.recorded
        }
        Some(next) => next,
        None => operator.substitute,
    };
    target.store(found.cast_mut(), Ordering::Release);
    found
}

fn own() -> *const () {
    find_target as *const ()
}

/// The first half of an operator new: what the second one needs to know.
///
/// # Safety
/// * `sp` is the stack pointer at the entry of the hook.
unsafe extern "C" fn begin_new(sp: *const usize, bp: usize) -> u64 {
    // SAFETY: `sp` is the stack pointer at the entry.
    let registers = unsafe { caller(sp, bp) };
    heap::<false>().map_or(0, |heap| slow_hooks::begin(heap, &registers))
}

/// The second half: records the block that the heap has returned, and returns it.
///
/// # Safety
/// * `p` is what the heap has just returned for this request.
/// * `sp` is the stack pointer at the entry of the hook.
unsafe extern "C" fn end_new(
    p: Pointer,
    size: usize,
    align: usize,
    begun: u64,
    sp: *const usize,
    bp: usize,
) -> Pointer {
    let call = if align == 0 { Call::Malloc } else { Call::AlignedAlloc };
    if let Some(heap) = heap::<false>() {
        // SAFETY: `p` was just returned for this request; `sp` is the stack pointer at the entry.
        unsafe { slow_hooks::end(heap, AllocRequest { call, size, align }, p, caller(sp, bp), begun) };
    }
    p
}

/// The body of the operators delete. Those that take less ignore what else is passed on.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the operator at `index`.
/// * `sp` is the stack pointer at the entry of the hook.
unsafe extern "C" fn on_delete(p: Pointer, a: usize, b: usize, sp: *const usize, bp: usize, index: u32) {
    type Delete = unsafe extern "C" fn(Pointer, usize, usize);
    let Some(next) = NEXT.get(index as usize) else { return };
    // SAFETY: an operator is recorded once its address is kept, which is that of a function of this type.
    let next = unsafe { core::mem::transmute::<*mut (), Delete>(next.load(Ordering::Acquire)) };
    // SAFETY: the program's call, forwarded; `sp` is the stack pointer at the entry.
    unsafe {
        match heap::<false>().filter(|_| !p.is_null()) {
            Some(heap) => slow_hooks::free(heap, Call::Free, p, caller(sp, bp), |_| next(p, a, b)),
            None => next(p, a, b),
        }
    }
}

/// Hides the names, unless the heap behind us has operators.
pub(crate) fn hide_unless_recorded() {
    if heap::<false>().is_some_and(|heap| heap.has_operators) {
        return;
    }
    if let Some(loader) = program::loader() {
        // SAFETY: our own module, whose symbols nobody else changes.
        unsafe { loader.hide(own(), OPERATORS.iter().map(|operator| operator.name.as_bytes())) };
    }
}
