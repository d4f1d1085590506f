//! Annotations of the program, and what it may ask: the functions that `heapscribe.h` and the crate
//! heapscribe-api call when this library is there. Stubs like the hooks: a block of a pool has a stack like
//! any other, and where nothing is recorded they return in their first instructions.
#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};

use heapscribe_recorder::unwind::Registers;
use heapscribe_recorder::{Counts, Mode, bytes_of, counts, enter};

use crate::call::caller;
use crate::stub::{filter, gap_apart, gate, off, off_without_sections, stub};

stub!(heapscribe_api_mark, on_mark, 1, concat!(gate!(), "\n", off!()));
stub!(heapscribe_api_snapshot, on_snapshot, 1);
stub!(heapscribe_api_section_begin, on_section_begin, 1, concat!(gate!(), "\n", off_without_sections!()));
stub!(heapscribe_api_section_end, on_section_end, 1, concat!(gate!(), "\n", off_without_sections!()));
stub!(heapscribe_api_stats, on_stats, 2);
stub!(
    heapscribe_api_pool_alloc,
    on_pool_alloc,
    2,
    concat!(gate!(), "\n mov r11, rsi\n", gap_apart!(), "\n ret")
);
stub!(heapscribe_api_pool_free, on_pool_free, 1, concat!(gate!(), "\n", filter!(), "\n ret"));
stub!(
    heapscribe_api_pool_realloc,
    on_pool_realloc,
    3,
    concat!(gate!(), "\n", filter!(), "\n mov r11, rdx\n", gap_apart!(), "\n ret")
);

/// What `heapscribe_stats` gives.
mod mode {
    use core::ffi::c_int;

    pub(super) const NOT_RECORDED: c_int = -1;
    pub(super) const OFF: c_int = 0;
    pub(super) const SAMPLED: c_int = 1;
    pub(super) const FULL: c_int = 2;
}

/// The body of `heapscribe_mark`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of `heapscribe.h`.
/// * `sp` is the stack pointer at the entry of the hook.
unsafe extern "C" fn on_mark(name: *const u8, sp: *const usize, bp: usize) {
    // SAFETY: `sp` is the stack pointer at the entry; the name is null or the program's C string.
    let (registers, name): (Registers, _) = unsafe { (caller(sp, bp), bytes_of(name)) };
    if let Some(entered) = enter(&registers) {
        entered.mark(name);
    }
}

/// The body of `heapscribe_snapshot`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of `heapscribe.h`.
/// * `sp` is the stack pointer at the entry of the hook.
unsafe extern "C" fn on_snapshot(name: *const u8, sp: *const usize, bp: usize) {
    // SAFETY: `sp` is the stack pointer at the entry; the name is null or the program's C string.
    let (registers, name) = unsafe { (caller(sp, bp), bytes_of(name)) };
    if let Some(entered) = enter(&registers) {
        entered.snapshot(name);
    }
}

/// The body of `heapscribe_section_begin`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of `heapscribe.h`.
/// * `sp` is the stack pointer at the entry of the hook.
unsafe extern "C" fn on_section_begin(name: *const u8, sp: *const usize, bp: usize) {
    // SAFETY: `sp` is the stack pointer at the entry; the name is null or the program's C string.
    let (registers, name) = unsafe { (caller(sp, bp), bytes_of(name)) };
    if let Some(entered) = enter(&registers) {
        entered.section_begin(name);
    }
}

/// The body of `heapscribe_section_end`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of `heapscribe.h`.
/// * `sp` is the stack pointer at the entry of the hook.
unsafe extern "C" fn on_section_end(name: *const u8, sp: *const usize, bp: usize) {
    // SAFETY: `sp` is the stack pointer at the entry; the name is null or the program's C string.
    let (registers, name) = unsafe { (caller(sp, bp), bytes_of(name)) };
    if let Some(entered) = enter(&registers) {
        entered.section_end(name);
    }
}

/// Only looks: a thread that has no state yet has counted nothing, and is given none.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of `heapscribe.h`.
unsafe extern "C" fn on_stats(
    of_process: *mut Counts,
    of_thread: *mut Counts,
    _sp: *const usize,
    _bp: usize,
) -> c_int {
    let counted = counts();
    let (process, thread) = counted.map(|now| (now.process, now.thread)).unwrap_or_default();
    for (place, counts) in [(of_process, process), (of_thread, thread)] {
        if !place.is_null() {
            // SAFETY: the program's structure, not null, which has the layout of `Counts`.
            unsafe { place.write(counts) };
        }
    }
    match counted.map(|now| now.mode) {
        None => mode::NOT_RECORDED,
        Some(Mode::Off) => mode::OFF,
        Some(Mode::Sampled { .. }) => mode::SAMPLED,
        Some(Mode::Full) => mode::FULL,
    }
}

/// The body of `heapscribe_pool_alloc`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of `heapscribe.h`.
/// * `sp` is the stack pointer at the entry of the hook.
unsafe extern "C" fn on_pool_alloc(p: *const c_void, size: usize, sp: *const usize, bp: usize) {
    // SAFETY: `sp` is the stack pointer at the entry; the program owns the block.
    unsafe {
        let registers = caller(sp, bp);
        if let Some(entered) = enter(&registers) {
            entered.record_pool_alloc(p as usize, size, registers);
        }
    }
}

/// The body of `heapscribe_pool_free`.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of `heapscribe.h`.
/// * `sp` is the stack pointer at the entry of the hook.
unsafe extern "C" fn on_pool_free(p: *const c_void, sp: *const usize, bp: usize) {
    // SAFETY: `sp` is the stack pointer at the entry; the program owns the block.
    unsafe {
        if let Some(entered) = enter(&caller(sp, bp)) {
            entered.record_pool_free(p as usize);
        }
    }
}

/// Two events, in one operation: nobody sees the pool without the block.
///
/// # Safety
/// * The arguments are those of a call that the program may make of the function of `heapscribe.h`.
/// * `sp` is the stack pointer at the entry of the hook.
unsafe extern "C" fn on_pool_realloc(
    old: *const c_void,
    new: *const c_void,
    size: usize,
    sp: *const usize,
    bp: usize,
) {
    // SAFETY: `sp` is the stack pointer at the entry; the program owns both blocks.
    unsafe {
        let registers = caller(sp, bp);
        if let Some(entered) = enter(&registers) {
            entered.record_pool_free(old as usize);
            entered.record_pool_alloc(new as usize, size, registers);
        }
    }
}
