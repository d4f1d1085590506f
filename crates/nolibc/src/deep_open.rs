//! `dlopen` with RTLD_DEEPBIND, hooked so that the calls of what it opens pass us, too ([`Loader::rebind`]). Any other
//! `dlopen` is jumped to: whom it searches for depends on the module that its return address lies in.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

pub use crate::export_dlopen;
pub use crate::loader::Function;
use crate::loader::Loader;

/// C's `dlopen`.
pub type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;

const DEEPBIND: c_int = 8;

/// libc's `dlopen`, once it was found: until glibc 2.34 it is in a library that may come later than we do.
static NEXT: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// The function that ours, whose address is given, hides.
pub fn next(loader: Option<&Loader>, own: *const ()) -> Option<Dlopen> {
    let mut next = NEXT.load(Ordering::Relaxed).cast_const();
    if next.is_null() {
        next = loader?.find_next(b"dlopen", own)?;
        NEXT.store(next.cast_mut(), Ordering::Relaxed);
    }
    // SAFETY: the C library's function of this name has this type.
    Some(unsafe { core::mem::transmute::<*const (), Dlopen>(next) })
}

/// Where a call of `dlopen` goes on: `deep` for modules whose calls are to pass us, else libc's.
///
/// # Safety
/// * File: null, or a C string, as the program passed it.
pub unsafe fn target(
    loader: Option<&Loader>,
    call: (*const c_char, c_int, usize),
    own: *const (),
    deep: Dlopen,
) -> Dlopen {
    let (file, flags, caller) = call;
    let Some(next) = next(loader, own) else { return fail };
    let (Some(loader), false, true) = (loader, file.is_null(), flags & DEEPBIND != 0) else { return next };
    // SAFETY: file.
    let file = unsafe { CStr::from_ptr(file) }.to_bytes();
    if depends_on_caller(loader, file, caller) { next } else { deep }
}

/// Whether libc looks for this file where the module of the caller says.
fn depends_on_caller(loader: &Loader, file: &[u8], caller: usize) -> bool {
    file.contains(&b'$') || !file.contains(&b'/') && loader.has_search_path(caller).unwrap_or(true)
}

/// # Safety
/// * None: it is unsafe only because of its type.
unsafe extern "C" fn fail(_file: *const c_char, _flags: c_int) -> *mut c_void {
    core::ptr::null_mut()
}

/// Opens a module as libc does, and has its calls pass these functions.
///
/// # Safety
/// * Same: the call is one that the program may make, and the functions are as for [`Loader::rebind`].
pub unsafe fn open(
    loader: Option<&Loader>,
    (file, flags): (*const c_char, c_int),
    own: *const (),
    functions: &[Function],
) -> *mut c_void {
    let Some(next) = next(loader, own) else { return core::ptr::null_mut() };
    // SAFETY: same: the program's call, forwarded; the functions, passed on.
    unsafe {
        let module = next(file, flags);
        if !module.is_null()
            && let Some(loader) = loader
        {
            loader.rebind(functions);
        }
        module
    }
}

/// Exports `dlopen`. `$target` is a function that gets the program's arguments and the address that its call returns
/// to, and gives the function to jump to.
#[macro_export]
macro_rules! export_dlopen {
    ($target:path) => {
        /// The C library's function of this name.
        ///
        /// # Safety
        /// * Same: as for that function.
        #[unsafe(naked)]
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn dlopen(
            _file: *const ::core::ffi::c_char,
            _flags: ::core::ffi::c_int,
        ) -> *mut ::core::ffi::c_void {
            ::core::arch::naked_asm!(
                ".cfi_startproc",
                "endbr64",
                "push rdi",
                ".cfi_adjust_cfa_offset 8",
                "push rsi",
                ".cfi_adjust_cfa_offset 8",
                "mov rdx, qword ptr [rsp + 16]",
                "sub rsp, 8",
                ".cfi_adjust_cfa_offset 8",
                "call {target}",
                "add rsp, 8",
                ".cfi_adjust_cfa_offset -8",
                "pop rsi",
                ".cfi_adjust_cfa_offset -8",
                "pop rdi",
                ".cfi_adjust_cfa_offset -8",
                "jmp rax",
                ".cfi_endproc",
                target = sym $target,
            )
        }
    };
}
