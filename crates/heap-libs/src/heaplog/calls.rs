//! The functions in place of the program's heap: each call is forwarded, and its line written. The line of a free is
//! written before the block is freed, so that no other thread's line of a block at its address can be the first
//! (heaphook wrote them the other way round).
#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};

use heapscribe_alloc::system::SystemHeap;
use heapscribe_nolibc::clock::monotonic_ns;
use heapscribe_nolibc::once::Once;

use super::line::{AllocRequest, Function, Resize, Style, alloc, free as free_line, usable_size};
use super::log::{self, Log};
use super::nested_calls;

type Pointer = *mut c_void;

/// The program's own heap.
static HEAP: Once<SystemHeap> = Once::new();

/// The functions that log.
pub(super) static LOGGED: SystemHeap = SystemHeap {
    malloc,
    free,
    calloc,
    realloc,
    posix_memalign,
    aligned_alloc,
    memalign,
    valloc: Some(valloc),
    pvalloc: Some(pvalloc),
    malloc_usable_size,
};

pub(super) fn set_heap(heap: SystemHeap) {
    HEAP.set(heap);
}

/// A call that is logged: when it began, where lines have its time.
#[derive(Clone, Copy)]
struct Call {
    log: &'static Log,
    style: Style,
    began_ns: u64,
}

impl Call {
    /// `None` when there is no log, or the call is the heap's own.
    #[inline(always)]
    fn begin() -> Option<Call> {
        if nested_calls::is_inside() {
            return None;
        }
        let log = log::current()?;
        let style = log.style();
        Some(Call { log, style, began_ns: if style == Style::Csv { monotonic_ns() } else { 0 } })
    }

    #[inline(always)]
    fn ns(&self) -> u64 {
        if self.style == Style::Csv { monotonic_ns().saturating_sub(self.began_ns) } else { 0 }
    }
}

/// Calls the heap. There is one: without it these functions are not called.
#[inline(always)]
fn forward<T: Default>(call: impl FnOnce(&SystemHeap) -> T) -> T {
    HEAP.get().map_or_else(T::default, |heap| nested_calls::inside(|| call(heap)))
}

/// A pointer that is null when there is no heap.
struct Block(Pointer);

impl Default for Block {
    fn default() -> Self {
        Block(core::ptr::null_mut())
    }
}

#[inline(always)]
fn log_alloc(asked: AllocRequest, function: impl FnOnce(&SystemHeap) -> Pointer) -> Pointer {
    let call = Call::begin();
    let Block(block) = forward(|heap| Block(function(heap)));
    if let Some(call) = call {
        call.log.line(&alloc(call.style, asked, block as usize, call.ns()));
    }
    block
}

fn asked(function: Function, size: usize, align: usize) -> AllocRequest {
    AllocRequest { function, size, align }
}

/// # Safety
/// * Program: the arguments are a program's for this function of the C library.
unsafe extern "C" fn malloc(size: usize) -> Pointer {
    // SAFETY: program.
    log_alloc(asked(Function::Malloc, size, 1), |heap| unsafe { (heap.malloc)(size) })
}

/// # Safety
/// * Program: the arguments are a program's for this function of the C library.
unsafe extern "C" fn calloc(count: usize, size: usize) -> Pointer {
    let asked = asked(Function::Calloc, count.saturating_mul(size), 1);
    // SAFETY: program.
    log_alloc(asked, |heap| unsafe { (heap.calloc)(count, size) })
}

/// # Safety
/// * Program: the arguments are a program's for this function of the C library.
unsafe extern "C" fn aligned_alloc(align: usize, size: usize) -> Pointer {
    let asked = asked(Function::AlignedAlloc, size, align);
    // SAFETY: program.
    log_alloc(asked, |heap| unsafe { (heap.aligned_alloc)(align, size) })
}

/// # Safety
/// * Program: the arguments are a program's for this function of the C library.
unsafe extern "C" fn memalign(align: usize, size: usize) -> Pointer {
    let asked = asked(Function::Memalign, size, align);
    // SAFETY: program.
    log_alloc(asked, |heap| unsafe { (heap.memalign)(align, size) })
}

const PAGE_BYTES: usize = 4096;

/// # Safety
/// * Program: the arguments are a program's for this function of the C library.
unsafe extern "C" fn valloc(size: usize) -> Pointer {
    // SAFETY: program.
    log_alloc(asked(Function::Valloc, size, PAGE_BYTES), |heap| unsafe { heap.valloc_or_memalign(size) })
}

/// # Safety
/// * Program: the arguments are a program's for this function of the C library.
unsafe extern "C" fn pvalloc(size: usize) -> Pointer {
    // SAFETY: program.
    log_alloc(asked(Function::Pvalloc, size, PAGE_BYTES), |heap| unsafe { heap.pvalloc_or_memalign(size) })
}

/// # Safety
/// * Program: the arguments are a program's for this function of the C library.
unsafe extern "C" fn posix_memalign(out: *mut Pointer, align: usize, size: usize) -> c_int {
    let mut result = 0;
    log_alloc(asked(Function::PosixMemalign, size, align), |heap| {
        // SAFETY: program; what `out` points to is a block only when that succeeds.
        unsafe {
            result = (heap.posix_memalign)(out, align, size);
            if result == 0 { *out } else { core::ptr::null_mut() }
        }
    });
    result
}

/// # Safety
/// * Program: the arguments are a program's for this function of the C library.
unsafe extern "C" fn free(block: Pointer) {
    let call = Call::begin();
    // heaphook's later form has no line for a block that is none.
    let call = call.filter(|call| call.style == Style::Calls || !block.is_null());
    let line = |call: &Call, ns| free_line(call.style, block as usize, ns);
    let place = call.and_then(|call| call.log.reserve(&line(&call, 0)));
    if let (Some(place), Some(call)) = (&place, &call) {
        place.write(&line(call, 0));
    }
    // SAFETY: program.
    forward(|heap| unsafe { (heap.free)(block) });
    if let (Some(place), Some(call)) = (place, call) {
        if call.style == Style::Csv {
            place.write(&line(&call, call.ns()));
        }
        place.finish();
    }
}

/// The line's place is before that of any other thread's block at the old address, and its text says where the block
/// is now. When another line was reserved behind it meanwhile, that may be the one by which the new address was freed:
/// then there are two lines, for the end of the old block and the begin of the new one.
///
/// # Safety
/// * Program: the arguments are a program's for this function of the C library.
unsafe extern "C" fn realloc(old: Pointer, size: usize) -> Pointer {
    let resized = |heap: &SystemHeap| {
        // SAFETY: program.
        unsafe { (heap.realloc)(old, size) }
    };
    if old.is_null() {
        return log_alloc(asked(Function::Realloc, size, 1), resized);
    }
    let reserved = Call::begin().and_then(|call| {
        let resize = Resize::new(call.style, old as usize, size);
        let text = resize.failed(0);
        let place = call.log.reserve(&text)?;
        place.write(&text);
        Some((call, resize, place))
    });
    let Block(new) = forward(|heap| Block(resized(heap)));
    if let Some((call, resize, place)) = reserved {
        let ns = call.ns();
        match (new.is_null(), size) {
            (true, 0) => place.write(&resize.freed(ns)),
            (true, _) => place.write(&resize.failed(ns)),
            (false, _) if new == old || place.is_last() => place.write(&resize.moved(new as usize, ns)),
            (false, _) => {
                place.write(&resize.freed_only(ns));
                let text = alloc(call.style, asked(Function::Malloc, size, 1), new as usize, ns);
                call.log.line(&text);
            }
        }
        place.finish();
    }
    new
}

/// # Safety
/// * Program: the arguments are a program's for this function of the C library.
unsafe extern "C" fn malloc_usable_size(block: Pointer) -> usize {
    let call = Call::begin();
    // SAFETY: program.
    let size = forward(|heap| unsafe { (heap.malloc_usable_size)(block) });
    if let Some(call) = call {
        call.log.line(&usable_size(call.style, block as usize, size, call.ns()));
    }
    size
}
