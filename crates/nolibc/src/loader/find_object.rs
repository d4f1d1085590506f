//! glibc's `_dl_find_object` (2.35): the module around an address, without a lock.
#![allow(unsafe_code)]

use core::mem::MaybeUninit;

use super::module_text::ModuleText;

/// glibc's `struct dl_find_object` on x86_64.
#[repr(C)]
struct DlFindObject {
    flags: u64,
    start: usize,
    end: usize,
    link_map: usize,
    eh_frame: usize,
    reserved: [u64; 7],
}

const _: () = assert!(size_of::<DlFindObject>() == 96);

/// glibc's `_dl_find_object`: lock-free, safe in signal handlers.
#[derive(Clone, Copy, Debug)]
pub(super) struct FindObject(unsafe extern "C" fn(usize, *mut DlFindObject) -> i32);

impl FindObject {
    /// # Safety
    /// * glibc: `address` is that of its `_dl_find_object`.
    pub(super) unsafe fn from_address(address: *const ()) -> FindObject {
        // SAFETY: glibc: the function has this type.
        FindObject(unsafe {
            core::mem::transmute::<*const (), unsafe extern "C" fn(usize, *mut DlFindObject) -> i32>(address)
        })
    }

    pub(super) fn call(self, pc: usize) -> Option<ModuleText> {
        let mut object = MaybeUninit::<DlFindObject>::zeroed();
        // SAFETY: any address may be asked for; the structure is of the size that the function fills.
        let status = unsafe { (self.0)(pc, object.as_mut_ptr()) };
        if status != 0 {
            return None;
        }
        // SAFETY: all zero is a value of it already.
        let DlFindObject { start, end, link_map, eh_frame, .. } = unsafe { object.assume_init() };
        Some(ModuleText { start, end, eh_frame_hdr: eh_frame, link_map })
    }
}
