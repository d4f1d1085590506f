//! The hooks, one table: the name, its body, how many arguments it has. A body forwards to the heap
//! behind us and tells the recorder what came of it; a block is taken out of the live table before it
//! really goes, and put in after it has really come.
#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};

use heapscribe_alloc::system::SystemHeap;
use heapscribe_recorder::capture::Registers;
use heapscribe_recorder::program::{self, Heap};
use heapscribe_recorder::{Call, Entered, Taken, enter, enter_again, ways};

use crate::stub::{filter, gap, gate, stub};
use crate::watched;

pub(crate) type Pointer = *mut c_void;

macro_rules! hooks {
    ($($name:ident => $body:ident / $n:tt $(, $turn:expr)?;)*) => {
        $( stub!($name, $body, $n $(, $turn)?); )*
    };
}

hooks! {
    malloc => on_malloc / 1, concat!(gate!(), "\n mov r11, rdi\n", gap!(), "\n jmp qword ptr [rip + {next}]");
    calloc => on_calloc / 2, concat!(gate!(), "\n mov rax, rdi\n mul rsi\n jo 2f\n mov r11, rax\n", gap!(),
        "\n jmp qword ptr [rip + {next} + 8]");
    realloc => on_realloc / 2, concat!(gate!(), "\n", filter!(), "\n mov r11, rsi\n", gap!(),
        "\n jmp qword ptr [rip + {next} + 16]");
    reallocarray => on_reallocarray / 3;
    free => on_free / 1, concat!(gate!(), "\n", filter!(), "\n jmp qword ptr [rip + {next} + 24]");
    cfree => on_cfree / 1;
    free_sized => on_free_sized / 2;
    free_aligned_sized => on_free_aligned_sized / 3;
    posix_memalign => on_posix_memalign / 3;
    aligned_alloc => on_aligned_alloc / 2;
    memalign => on_memalign / 2;
    valloc => on_valloc / 1;
    pvalloc => on_pvalloc / 1;
    malloc_usable_size => on_malloc_usable_size / 1;
    dlclose => on_dlclose / 1;
}

const PAGE_BYTES: usize = 4096;
const ENOMEM: c_int = 12;

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
}

fn set_errno(value: c_int) {
    // SAFETY: libc gives the address of the calling thread's errno.
    unsafe { *__errno_location() = value };
}

/// The heap behind us. A process without one cannot have come this far; should it, the call fails.
#[inline(always)]
fn heap() -> Option<&'static Heap> {
    program::heap()
}

/// The registers of the hook's caller: its return address is on top of the stack.
///
/// # Safety
/// * `sp` is the stack pointer at the entry of the hook.
#[inline(always)]
pub(crate) unsafe fn caller(sp: *const usize, bp: usize) -> Registers {
    // SAFETY: the call pushed the return address there.
    Registers { pc: unsafe { *sp }, sp: sp as usize + 8, bp }
}

/// What is asked for: by which function, how large, how aligned (0 for no wish).
#[derive(Clone, Copy)]
pub(crate) struct Wish {
    pub(crate) call: Call,
    pub(crate) size: usize,
    pub(crate) align: usize,
}

/// Asks the heap for a block, and tells the recorder of it, or that the call failed.
///
/// # Safety
/// * `sp` as for [`caller`]; `ask` forwards the program's call.
#[inline(always)]
unsafe fn hand_out(
    wish: Wish,
    sp: *const usize,
    bp: usize,
    ask: impl FnOnce(&SystemHeap) -> Pointer,
) -> Pointer {
    let Some(heap) = heap() else { return core::ptr::null_mut() };
    // SAFETY: the caller's contract.
    let registers = unsafe { caller(sp, bp) };
    if !ways::are_plain() {
        // SAFETY: the caller's contract.
        return unsafe { watched::hand_out(heap, wish, registers, ask) };
    }
    let p = ask(&heap.system);
    if let Some(entered) = enter(&registers) {
        // SAFETY: the heap has just handed the block out, for this call.
        unsafe { entered.handed_out::<false>(wish.call, p as usize, wish.size, wish.align, registers) };
    }
    p
}

unsafe extern "C" fn on_malloc(size: usize, sp: *const usize, bp: usize) -> Pointer {
    let wish = Wish { call: Call::Malloc, size, align: 0 };
    // SAFETY: the program's call, forwarded; the stub's registers.
    unsafe { hand_out(wish, sp, bp, |heap| (heap.malloc)(size)) }
}

unsafe extern "C" fn on_calloc(count: usize, size: usize, sp: *const usize, bp: usize) -> Pointer {
    let wish = Wish { call: Call::Calloc, size: count.saturating_mul(size), align: 0 };
    // SAFETY: the program's call, forwarded; the stub's registers.
    unsafe { hand_out(wish, sp, bp, |heap| (heap.calloc)(count, size)) }
}

unsafe extern "C" fn on_realloc(old: Pointer, size: usize, sp: *const usize, bp: usize) -> Pointer {
    // SAFETY: the program's call, forwarded; the stub's registers.
    unsafe { resize(Call::Realloc, old, size, sp, bp) }
}

/// Overflow is ENOMEM and leaves the old block alone; otherwise it is `realloc`. Done here, because
/// glibc's own calls `realloc` through the PLT and would be seen as two calls.
unsafe extern "C" fn on_reallocarray(
    old: Pointer,
    count: usize,
    size: usize,
    sp: *const usize,
    bp: usize,
) -> Pointer {
    match count.checked_mul(size) {
        // SAFETY: the program's call; the stub's registers.
        Some(total) => unsafe { resize(Call::Reallocarray, old, total, sp, bp) },
        None => {
            set_errno(ENOMEM);
            let wish = Wish { call: Call::Reallocarray, size: usize::MAX, align: 0 };
            // SAFETY: nothing is handed out; the stub's registers.
            unsafe { hand_out(wish, sp, bp, |_| core::ptr::null_mut()) }
        }
    }
}

/// # Safety
/// * As for the C library's `realloc`; `sp` as for [`caller`].
unsafe fn resize(call: Call, old: Pointer, size: usize, sp: *const usize, bp: usize) -> Pointer {
    let Some(heap) = heap() else { return core::ptr::null_mut() };
    // SAFETY: the program's call, forwarded; the block at `old` is the program's to give away.
    unsafe {
        if old.is_null() {
            return hand_out(Wish { call, size, align: 0 }, sp, bp, |heap| (heap.realloc)(old, size));
        }
        let registers = caller(sp, bp);
        if !ways::are_plain() {
            return watched::resize(heap, call, old, size, registers);
        }
        // Taken before, because another thread may be handed the address as soon as realloc has moved.
        let Some(taken) = enter(&registers).map(|entered| entered.take_for_resize(old as usize)) else {
            return (heap.system.realloc)(old, size);
        };
        let new = (heap.system.realloc)(old, size);
        if let Some(entered) = enter_again(&registers) {
            resized(&entered, call, taken, (new, size), registers);
        }
        new
    }
}

/// Tells the recorder what came of a block that was taken for `realloc`.
///
/// # Safety
/// * As for `Entered::became`, of the block that came.
#[inline(always)]
pub(crate) unsafe fn resized(
    entered: &Entered,
    call: Call,
    taken: Taken,
    (new, size): (Pointer, usize),
    registers: Registers,
) {
    // SAFETY: the caller's contract.
    unsafe {
        match (new.is_null(), size) {
            (false, _) => entered.became(call, taken, new as usize, size, registers),
            // glibc's realloc(p, 0) frees and gives NULL; musl's gives a block and is the case above.
            (true, 0) => entered.gone::<false>(call, taken),
            (true, _) => entered.stayed(call, taken, size, registers),
        }
    }
}

/// Tells the recorder of a block that goes, before it really does, when its address is still ours.
///
/// # Safety
/// * As for the C library's `free`; `sp` as for [`caller`].
#[inline(always)]
unsafe fn release(call: Call, p: Pointer, sp: *const usize, bp: usize) {
    let Some(heap) = heap() else { return };
    if p.is_null() {
        return;
    }
    // SAFETY: the program's call, forwarded; the block is the program's to give away.
    unsafe {
        let registers = caller(sp, bp);
        if !ways::are_plain() {
            return watched::release(heap, call, p, registers);
        }
        if let Some(entered) = enter(&registers) {
            entered.goes(call, p as usize);
        }
        (heap.system.free)(p);
    }
}

unsafe extern "C" fn on_free(p: Pointer, sp: *const usize, bp: usize) {
    // SAFETY: the program's call; the stub's registers.
    unsafe { release(Call::Free, p, sp, bp) }
}

unsafe extern "C" fn on_cfree(p: Pointer, sp: *const usize, bp: usize) {
    // SAFETY: the program's call; the stub's registers.
    unsafe { release(Call::Cfree, p, sp, bp) }
}

unsafe extern "C" fn on_free_sized(p: Pointer, _size: usize, sp: *const usize, bp: usize) {
    // SAFETY: the program's call; the stub's registers. C23 lets free stand for it.
    unsafe { release(Call::FreeSized, p, sp, bp) }
}

unsafe extern "C" fn on_free_aligned_sized(
    p: Pointer,
    _align: usize,
    _size: usize,
    sp: *const usize,
    bp: usize,
) {
    // SAFETY: the program's call; the stub's registers. C23 lets free stand for it.
    unsafe { release(Call::FreeAlignedSized, p, sp, bp) }
}

unsafe extern "C" fn on_posix_memalign(
    out: *mut Pointer,
    align: usize,
    size: usize,
    sp: *const usize,
    bp: usize,
) -> c_int {
    let mut result = ENOMEM;
    let wish = Wish { call: Call::PosixMemalign, size, align };
    // SAFETY: the program's call, forwarded: `out` is written only on success, as libc does.
    unsafe {
        hand_out(wish, sp, bp, |heap| {
            result = (heap.posix_memalign)(out, align, size);
            if result == 0 { *out } else { core::ptr::null_mut() }
        });
    }
    result
}

unsafe extern "C" fn on_aligned_alloc(align: usize, size: usize, sp: *const usize, bp: usize) -> Pointer {
    let wish = Wish { call: Call::AlignedAlloc, size, align };
    // SAFETY: the program's call, forwarded; the stub's registers.
    unsafe { hand_out(wish, sp, bp, |heap| (heap.aligned_alloc)(align, size)) }
}

unsafe extern "C" fn on_memalign(align: usize, size: usize, sp: *const usize, bp: usize) -> Pointer {
    let wish = Wish { call: Call::Memalign, size, align };
    // SAFETY: the program's call, forwarded; the stub's registers.
    unsafe { hand_out(wish, sp, bp, |heap| (heap.memalign)(align, size)) }
}

unsafe extern "C" fn on_valloc(size: usize, sp: *const usize, bp: usize) -> Pointer {
    let wish = Wish { call: Call::Valloc, size, align: PAGE_BYTES };
    // SAFETY: the program's call, forwarded; the stub's registers.
    unsafe { hand_out(wish, sp, bp, |heap| heap.at_page(size)) }
}

unsafe extern "C" fn on_pvalloc(size: usize, sp: *const usize, bp: usize) -> Pointer {
    let wish = Wish { call: Call::Pvalloc, size, align: PAGE_BYTES };
    // SAFETY: the program's call, forwarded; the stub's registers.
    unsafe { hand_out(wish, sp, bp, |heap| heap.in_pages(size)) }
}

unsafe extern "C" fn on_malloc_usable_size(p: Pointer, _sp: *const usize, _bp: usize) -> usize {
    // SAFETY: the program's call, forwarded.
    heap().map_or(0, |heap| unsafe { (heap.system.malloc_usable_size)(p) })
}

/// Not of the heap, but what makes addresses change their meaning: the recorder is told before and after.
unsafe extern "C" fn on_dlclose(handle: Pointer, _sp: *const usize, _bp: usize) -> c_int {
    type Dlclose = unsafe extern "C" fn(Pointer) -> c_int;
    const FAILED: c_int = -1;
    let own = on_dlclose as *const ();
    // Looked up at each call: until glibc 2.34 it is in a library that may come later than we do.
    let Some(next) = program::loader().and_then(|loader| loader.find_next(b"dlclose", own)) else {
        return FAILED;
    };
    heapscribe_recorder::begin_close();
    // SAFETY: the C library's dlclose, given the program's handle.
    let result = unsafe { core::mem::transmute::<*const (), Dlclose>(next)(handle) };
    heapscribe_recorder::end_close();
    result
}
