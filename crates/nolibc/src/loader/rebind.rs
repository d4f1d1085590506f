//! Calls of modules that do not pass us, made to: a module that was opened with RTLD_DEEPBIND looks for functions in its
//! own libraries first, so that its `free` is libc's where the program's `malloc` is the one that was preloaded.
//!
//! Its slots for the addresses of such functions - of calls, and of pointers in its data - are written anew. Nothing
//! else of its binding changes: to take the flag away would bind all its other symbols in another way, and that is
//! what the program did not want.
//!
//! | a slot that holds | is written |
//! |---|---|
//! | the function that ours forwards to | yes |
//! | an address in its own module, which has no such function: it will be bound by the first call | yes, where only libc and we have the name |
//! | anything else: a heap of the module's own | no |
//!
//! A library that is preloaded itself holds its own functions in such slots. The heap's, behind the recorder, once wrote
//! the recorder's: what php opened from then on was not recorded.
#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};
use core::ops::Range;

use super::elf::{Headers, PT_DYNAMIC, PT_GNU_RELRO};
use super::lookup::Loader;
use super::relocations::Slots;
use crate::sys;

const PAGE_BYTES: usize = 4096;

/// A function that is preloaded.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its name, without NUL.
    pub name: &'static [u8],
    /// Ours.
    pub own: *const (),
    /// What ours forwards to: what the module has been bound to instead.
    pub next: *const (),
    /// It stands for the first function of this name behind ours, which first calls may find.
    pub is_first: bool,
}

/// What the loader passes for each module: `struct dl_phdr_info`, as far as it is used.
#[repr(C)]
struct Info {
    bias: usize,
    name: *const u8,
    headers: *const c_void,
    header_count: u16,
}

type Visit = unsafe extern "C" fn(*mut Info, usize, *mut c_void) -> c_int;
type Iterate = unsafe extern "C" fn(Visit, *mut c_void) -> c_int;

/// What a visit of a module needs.
struct Work<'a> {
    loader: &'a Loader,
    functions: &'a [Function],
    own: usize,
}

impl Loader {
    /// Writes the slots of all modules that are bound past these functions. Called without a lock of ours; while it works no
    /// module is removed, by the loader's own lock.
    ///
    /// # Safety
    /// * Same: each of the functions takes and gives what the one that it forwards to does.
    pub unsafe fn rebind(&self, functions: &[Function]) {
        let Some(iterate) = self.find_anywhere(b"dl_iterate_phdr") else { return };
        let Some(own) = functions.first().and_then(|first| self.find_text(first.own as usize)) else {
            return;
        };
        let mut work = Work { loader: self, functions, own: own.start };
        // SAFETY: the C library's function of this name has this type; the work stays until it returns.
        unsafe { core::mem::transmute::<*const (), Iterate>(iterate)(visit, (&raw mut work).cast()) };
    }
}

/// # Safety
/// * Info: the loader passes it, of a module that stays loaded until this returns.
/// * Work: it is a [`Work`].
unsafe extern "C" fn visit(info: *mut Info, _size: usize, work: *mut c_void) -> c_int {
    const GO_ON: c_int = 0;
    // SAFETY: info; work.
    unsafe {
        let (info, work) = (&*info, &*work.cast::<Work<'_>>());
        let headers = Headers::at_bias(info.headers as usize, usize::from(info.header_count), info.bias);
        let _ = rebind_module(&headers, work);
    }
    GO_ON
}

/// # Safety
/// * Loaded: the headers are those of a module that is loaded.
unsafe fn rebind_module(headers: &Headers<'_>, work: &Work<'_>) -> Option<()> {
    let whole = headers.whole()?;
    let dynamic = headers.ranges(PT_DYNAMIC).next()?.start;
    if whole.start == work.own {
        return None;
    }
    // SAFETY: loaded.
    for slot in unsafe { Slots::of(dynamic, headers.bias) } {
        let address = slot.address;
        let mut functions = work.functions.iter().filter(|function| function.name == slot.name).peekable();
        if functions.peek().is_none() || !headers.has_writable_word(address) {
            continue;
        }
        // SAFETY: loaded: an aligned word of a segment that can be written.
        let value = unsafe { (address as *const usize).read_volatile() };
        let binds_later = !slot.is_defined && whole.contains(&value);
        let is_passed = |function: &&Function| {
            value == function.next as usize || binds_later && binds_past_us(function, work)
        };
        if let Some(function) = functions.find(is_passed) {
            // SAFETY: loaded: as above; the function does what the one does that the slot is for.
            unsafe { write(address, function.own as usize, headers.ranges(PT_GNU_RELRO).next()) };
        }
    }
    Some(())
}

/// Whether the first call of a module by this name would find ours or the function that ours forwards to: no module
/// behind that one has another, and none before us but the recorder. (A heap in the program, or a library's own.)
fn binds_past_us(function: &Function, work: &Work<'_>) -> bool {
    const RECORDER: &[u8] = b"heapscribe_api_mark";
    let Function { name, own, next, is_first } = *function;
    let is_recorder = |before| work.loader.find_in_module_of(RECORDER, before).is_some();
    is_first
        && work.loader.find_after(name, next).is_none()
        && work.loader.find_before(name, own).is_none_or(is_recorder)
}

/// Writes a slot that may be read only since its module was bound.
///
/// # Safety
/// * Slot: an aligned word in a segment of a loaded module that could be written when the module was bound.
/// * Value: it is the address of a function that can be called in the place of that which is there.
pub(super) unsafe fn write(slot: usize, value: usize, read_only: Option<Range<usize>>) {
    // The loader protects whole pages only.
    let is_read_only = |range: &Range<usize>| (range.start..range.end & !(PAGE_BYTES - 1)).contains(&slot);
    let protected = read_only.filter(is_read_only).map(|_| (slot & !(PAGE_BYTES - 1)) as *mut u8);
    // SAFETY: slot; value. The page is whole, the module's, and gets its protection back.
    unsafe {
        if protected.is_some_and(|page| sys::protect_read_write(page, PAGE_BYTES).is_err()) {
            return;
        }
        (slot as *mut usize).write_volatile(value);
        if let Some(page) = protected {
            let _ = sys::protect_read(page, PAGE_BYTES);
        }
    }
}
