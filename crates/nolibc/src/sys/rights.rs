//! By whose rights this process runs.
#![allow(unsafe_code)]

use super::syscall::{call, number};

/// The user who called this program.
pub fn uid() -> u32 {
    id(number::GETUID)
}

/// The effective user.
pub fn euid() -> u32 {
    id(number::GETEUID)
}

/// The group of the process's caller.
pub fn gid() -> u32 {
    id(number::GETGID)
}

fn id(number: usize) -> u32 {
    // SAFETY: no arguments.
    unsafe { call(number, [0; 6]) }.unwrap_or(u32::MAX as usize) as u32
}

/// Whether the process runs with the rights of another than its caller: then the loader of what it execs trusts no
/// environment.
pub fn has_other_rights() -> bool {
    uid() != euid() || gid() != id(number::GETEGID)
}

/// Whether no program that is exec'd gets rights by its file (setuid).
pub fn gains_no_rights() -> bool {
    const PR_GET_NO_NEW_PRIVS: usize = 39;
    // SAFETY: plain integers.
    let answer = unsafe { call(number::PRCTL, [PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0, 0]) };
    answer == Ok(1)
}
