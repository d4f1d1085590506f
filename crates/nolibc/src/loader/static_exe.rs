//! A static executable, which no loader has loaded: it and the kernel's vDSO are put into a list like the loader's,
//! so that everything else works as it does in a dynamic program.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

use super::auxv::Auxv;
use super::elf::{Headers, PT_DYNAMIC};
use super::link_map::{LinkMap, Rendezvous};

/// The list, written once.
struct StaticList {
    /// 0 not written, 1 being written, 2 written.
    state: AtomicU32,
    members: UnsafeCell<[LinkMap; 2]>,
    rendezvous: UnsafeCell<Rendezvous>,
}

// SAFETY: written by the one thread that moved the state from 0 to 1, read only after it is 2.
unsafe impl Sync for StaticList {}

static LIST: StaticList = StaticList {
    state: AtomicU32::new(0),
    members: UnsafeCell::new([LinkMap::EMPTY; 2]),
    rendezvous: UnsafeCell::new(Rendezvous::EMPTY),
};

/// The address of the list's head.
pub(super) fn list(auxv: &Auxv) -> Option<usize> {
    if LIST.state.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
        // SAFETY: exclusive: only the thread that moved the state from 0 to 1 is here.
        unsafe { write(auxv) };
        LIST.state.store(2, Ordering::Release);
    }
    while LIST.state.load(Ordering::Acquire) != 2 {
        core::hint::spin_loop(); // another thread writes it, which takes a few instructions
    }
    // SAFETY: state 2: nobody writes any more.
    let has_program = unsafe { !(*LIST.rendezvous.get()).first.is_null() };
    has_program.then_some(LIST.rendezvous.get() as usize)
}

/// # Safety
/// * Exclusive: no other thread reads or writes the list.
unsafe fn write(auxv: &Auxv) {
    let first = LIST.members.get().cast::<LinkMap>();
    // SAFETY: loaded: the kernel says that the program's headers are there.
    let Some(program) = (unsafe { Headers::from_table(auxv.headers, auxv.header_count) }) else { return };
    // SAFETY: readable: the kernel mapped the vDSO there, its ELF header first.
    let vdso = unsafe { Headers::at(auxv.vdso) };
    // SAFETY: exclusive: two members, the second behind the first.
    unsafe {
        let second = first.add(1);
        let next = if vdso.is_some() { second.cast_const() } else { core::ptr::null() };
        first.write(member(&program, c"", next));
        if let Some(vdso) = vdso {
            second.write(member(&vdso, c"linux-vdso.so.1", core::ptr::null()));
        }
        (*LIST.rendezvous.get()).first = first;
    }
}

fn member(headers: &Headers<'_>, name: &'static core::ffi::CStr, next: *const LinkMap) -> LinkMap {
    let dynamic = headers.ranges(PT_DYNAMIC).next().map_or(0, |range| range.start);
    LinkMap { bias: headers.bias, name: name.as_ptr(), dynamic: dynamic as *const _, next, ..LinkMap::EMPTY }
}
