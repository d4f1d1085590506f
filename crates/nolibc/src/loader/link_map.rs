//! What the loader keeps for debuggers, as it lies in memory: `r_debug` and `link_map`, the same on glibc and musl.

use core::ffi::c_char;

use super::symbol::Dynamic;

/// `struct r_debug`, as far as it is used.
#[repr(C)]
pub(super) struct Rendezvous {
    version: i32,
    pub(super) first: *const LinkMap,
    break_address: usize,
    pub(super) state: i32,
}

impl Rendezvous {
    /// Of a list without members, which does not change.
    pub(super) const EMPTY: Rendezvous =
        Rendezvous { version: 1, first: core::ptr::null(), break_address: 0, state: 0 };
}

/// The public part of `struct link_map`.
#[repr(C)]
pub(super) struct LinkMap {
    pub(super) bias: usize,
    pub(super) name: *const c_char,
    pub(super) dynamic: *const Dynamic,
    pub(super) next: *const LinkMap,
    pub(super) previous: *const LinkMap,
}

impl LinkMap {
    /// Of no module.
    pub(super) const EMPTY: LinkMap = LinkMap {
        bias: 0,
        name: core::ptr::null(),
        dynamic: core::ptr::null(),
        next: core::ptr::null(),
        previous: core::ptr::null(),
    };
}
