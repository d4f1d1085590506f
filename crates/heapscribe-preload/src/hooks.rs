//! The hooks, one table: the name, its body, how many arguments it has. A body forwards to the heap
//! behind us and tells the recorder what came of it; a block is taken out of the live table before it
//! really goes, and put in after it has really come.
#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};

use heapscribe_alloc::system::SystemHeap;
use heapscribe_record::capture::Registers;
use heapscribe_record::{Call, enter, program};

use crate::stub::stub;

type Pointer = *mut c_void;

macro_rules! hooks {
    ($($name:ident => $body:ident / $n:tt;)*) => { $( stub!($name, $body, $n); )* };
}

hooks! {
    malloc => on_malloc / 1;
    calloc => on_calloc / 2;
    realloc => on_realloc / 2;
    reallocarray => on_reallocarray / 3;
    free => on_free / 1;
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
fn heap() -> Option<&'static SystemHeap> {
    program::heap().map(|heap| &heap.system)
}

/// The registers of the hook's caller: its return address is on top of the stack.
///
/// # Safety
/// * `sp` is the stack pointer at the entry of the hook.
#[inline(always)]
unsafe fn caller(sp: *const usize, bp: usize) -> Registers {
    // SAFETY: the call pushed the return address there.
    Registers { pc: unsafe { *sp }, sp: sp as usize + 8, bp }
}

/// Tells the recorder of a block that was handed out, or that the call failed.
///
/// # Safety
/// * `sp` as for [`caller`]; `p` is what the heap just gave, for this call.
#[inline(always)]
unsafe fn handed_out(
    call: Call,
    p: Pointer,
    size: usize,
    align: usize,
    sp: *const usize,
    bp: usize,
) -> Pointer {
    // SAFETY: the caller's contract.
    unsafe {
        let registers = caller(sp, bp);
        if let Some(entered) = enter(&registers) {
            entered.handed_out(call, p as usize, size, align, registers);
        }
    }
    p
}

unsafe extern "C" fn on_malloc(size: usize, sp: *const usize, bp: usize) -> Pointer {
    let Some(heap) = heap() else { return core::ptr::null_mut() };
    // SAFETY: the program's call, forwarded; the stub's registers.
    unsafe { handed_out(Call::Malloc, (heap.malloc)(size), size, 0, sp, bp) }
}

unsafe extern "C" fn on_calloc(count: usize, size: usize, sp: *const usize, bp: usize) -> Pointer {
    let Some(heap) = heap() else { return core::ptr::null_mut() };
    let total = count.saturating_mul(size);
    // SAFETY: the program's call, forwarded; the stub's registers.
    unsafe { handed_out(Call::Calloc, (heap.calloc)(count, size), total, 0, sp, bp) }
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
            // SAFETY: nothing was handed out; the stub's registers.
            unsafe { handed_out(Call::Reallocarray, core::ptr::null_mut(), usize::MAX, 0, sp, bp) }
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
            return handed_out(call, (heap.realloc)(old, size), size, 0, sp, bp);
        }
        let registers = caller(sp, bp);
        // Taken before, because another thread may be handed the address as soon as realloc has moved.
        let Some(taken) = enter(&registers).map(|entered| entered.take(old as usize)) else {
            return (heap.realloc)(old, size);
        };
        let new = (heap.realloc)(old, size);
        if let Some(entered) = enter(&registers) {
            match (new.is_null(), size) {
                (false, _) => entered.became(call, taken, new as usize, size, registers),
                // glibc's realloc(p, 0) frees and gives NULL; musl's gives a block and is the case above.
                (true, 0) => entered.gone(call, taken),
                (true, _) => entered.stayed(call, taken, size, registers),
            }
        }
        new
    }
}

/// Tells the recorder of a block that goes. Done before it really does, when its address is still ours.
///
/// # Safety
/// * `p` is the program's to give away; `sp` as for [`caller`].
#[inline(always)]
unsafe fn goes(call: Call, p: Pointer, sp: *const usize, bp: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        if let Some(entered) = enter(&caller(sp, bp)) {
            let taken = entered.take(p as usize);
            entered.gone(call, taken);
        }
    }
}

/// # Safety
/// * As for the C library's `free`; `sp` as for [`caller`].
#[inline(always)]
unsafe fn release(call: Call, p: Pointer, sp: *const usize, bp: usize) {
    let Some(heap) = heap() else { return };
    if p.is_null() {
        return;
    }
    // SAFETY: the program's call, forwarded.
    unsafe {
        goes(call, p, sp, bp);
        (heap.free)(p);
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
    let Some(heap) = heap() else { return ENOMEM };
    // SAFETY: the program's call, forwarded: `out` is written only on success, as libc does.
    unsafe {
        let result = (heap.posix_memalign)(out, align, size);
        let p = if result == 0 { *out } else { core::ptr::null_mut() };
        handed_out(Call::PosixMemalign, p, size, align, sp, bp);
        result
    }
}

unsafe extern "C" fn on_aligned_alloc(align: usize, size: usize, sp: *const usize, bp: usize) -> Pointer {
    let Some(heap) = heap() else { return core::ptr::null_mut() };
    // SAFETY: the program's call, forwarded; the stub's registers.
    unsafe { handed_out(Call::AlignedAlloc, (heap.aligned_alloc)(align, size), size, align, sp, bp) }
}

unsafe extern "C" fn on_memalign(align: usize, size: usize, sp: *const usize, bp: usize) -> Pointer {
    let Some(heap) = heap() else { return core::ptr::null_mut() };
    // SAFETY: the program's call, forwarded; the stub's registers.
    unsafe { handed_out(Call::Memalign, (heap.memalign)(align, size), size, align, sp, bp) }
}

unsafe extern "C" fn on_valloc(size: usize, sp: *const usize, bp: usize) -> Pointer {
    let Some(heap) = heap() else { return core::ptr::null_mut() };
    // SAFETY: the program's call, forwarded, to memalign where a heap has no valloc; the stub's registers.
    unsafe {
        let p = match heap.valloc {
            Some(valloc) => valloc(size),
            None => (heap.memalign)(PAGE_BYTES, size),
        };
        handed_out(Call::Valloc, p, size, PAGE_BYTES, sp, bp)
    }
}

/// Whole pages, at least one. musl has no such function: there it is made of memalign, and a size that
/// cannot be rounded up is ENOMEM.
unsafe extern "C" fn on_pvalloc(size: usize, sp: *const usize, bp: usize) -> Pointer {
    let Some(heap) = heap() else { return core::ptr::null_mut() };
    // SAFETY: the program's call, forwarded; the stub's registers.
    unsafe {
        let p = match (heap.pvalloc, size.max(1).checked_next_multiple_of(PAGE_BYTES)) {
            (Some(pvalloc), _) => pvalloc(size),
            (None, Some(whole)) => (heap.memalign)(PAGE_BYTES, whole),
            (None, None) => {
                set_errno(ENOMEM);
                core::ptr::null_mut()
            }
        };
        handed_out(Call::Pvalloc, p, size, PAGE_BYTES, sp, bp)
    }
}

unsafe extern "C" fn on_malloc_usable_size(p: Pointer, _sp: *const usize, _bp: usize) -> usize {
    // SAFETY: the program's call, forwarded.
    heap().map_or(0, |heap| unsafe { (heap.malloc_usable_size)(p) })
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
    heapscribe_record::begin_close();
    // SAFETY: the C library's dlclose, given the program's handle.
    let result = unsafe { core::mem::transmute::<*const (), Dlclose>(next)(handle) };
    heapscribe_record::end_close();
    result
}
