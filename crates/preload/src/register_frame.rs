//! The hooks of libgcc's table of unwinding information, which JIT compilers fill in: the recorder walks
//! through their code by it, too. Each call is forwarded to the unwinder that the program would have called;
//! where there is none, nothing is done.
//!
//! libgcc's `__register_frame` calls its `__register_frame_info` by name, so that one call of the program's
//! may be seen twice. The recorder takes the second registration of a section for the first.
#![allow(unsafe_code)]

use core::ffi::c_void;

use heapscribe_nolibc::loader::Loader;
use heapscribe_recorder::unwind::cfi::Extent;
use heapscribe_recorder::{deregister_frames, program, register_frames};

type Pointer = *mut c_void;

/// The function of this name that the program would have called.
///
/// Looked up at each call: the unwinder may be loaded later than we are.
fn next(name: &[u8]) -> Option<*const ()> {
    program::loader()?.find_next(name, next as *const ())
}

/// What an unwinder takes `begin` for: LLVM's libunwind for one function's entry, all others for a list.
fn extent(loader: &Loader, unwinder: *const ()) -> Extent {
    let own = loader.find_text(unwinder as usize).map(|text| text.link_map);
    let mut modules = loader.modules().filter(|module| Some(module.link_map()) == own);
    match modules.any(|module| module.find_symbol(b"__unw_add_dynamic_fde").is_some()) {
        true => Extent::Entry,
        false => Extent::List,
    }
}

/// Registers a section with the recorder.
///
/// # Safety
/// * `begin` is what the program gives to libgcc's `__register_frame`: its entries stay until they are
///   deregistered.
unsafe fn register(begin: Pointer, unwinder: *const ()) {
    if let Some(loader) = program::loader() {
        // SAFETY: the entries at `begin` stay until they are deregistered.
        unsafe { register_frames(begin as usize, extent(loader, unwinder)) };
    }
}

/// libgcc's function of this name.
///
/// # Safety
/// * The arguments are those of a call that the program may make of libgcc's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __register_frame(begin: Pointer) {
    type Register = unsafe extern "C" fn(Pointer);
    let Some(next) = next(b"__register_frame") else { return };
    // SAFETY: the unwinder's function of this name, given the program's arguments.
    unsafe {
        register(begin, next);
        core::mem::transmute::<*const (), Register>(next)(begin);
    }
}

/// libgcc's function of this name.
///
/// # Safety
/// * The arguments are those of a call that the program may make of libgcc's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __register_frame_info(begin: Pointer, object: Pointer) {
    type Register = unsafe extern "C" fn(Pointer, Pointer);
    let Some(next) = next(b"__register_frame_info") else { return };
    // SAFETY: the unwinder's function of this name, given the program's arguments.
    unsafe {
        register(begin, next);
        core::mem::transmute::<*const (), Register>(next)(begin, object);
    }
}

/// libgcc's function of this name.
///
/// # Safety
/// * The arguments are those of a call that the program may make of libgcc's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __deregister_frame(begin: Pointer) {
    type Deregister = unsafe extern "C" fn(Pointer);
    deregister_frames(begin as usize);
    let Some(next) = next(b"__deregister_frame") else { return };
    // SAFETY: the unwinder's function of this name, given the program's argument.
    unsafe { core::mem::transmute::<*const (), Deregister>(next)(begin) }
}

/// libgcc's function of this name: gives back the object that the section was registered with.
///
/// # Safety
/// * The arguments are those of a call that the program may make of libgcc's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __deregister_frame_info(begin: Pointer) -> Pointer {
    type Deregister = unsafe extern "C" fn(Pointer) -> Pointer;
    deregister_frames(begin as usize);
    let Some(next) = next(b"__deregister_frame_info") else { return core::ptr::null_mut() };
    // SAFETY: the unwinder's function of this name, given the program's argument.
    unsafe { core::mem::transmute::<*const (), Deregister>(next)(begin) }
}
