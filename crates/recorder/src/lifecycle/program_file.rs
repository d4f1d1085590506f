//! The file of a program that is about to be started: whether the dynamic loader will load our library with it. It
//! does not for a program that is linked statically, that is for another processor, or that gets more rights than
//! its caller has.

use core::ffi::CStr;

use heapscribe_nolibc::sys::{self, Errno, File, Open, Stat};
use heapscribe_wire::unrecorded::UnrecordedReason;

/// Bytes of a file that the kernel looks at.
const HEAD_BYTES: usize = 256;
/// Scripts whose interpreter is a script, at most.
const INTERPRETERS_MAX: u32 = 4;

const FILE_TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const SETUID: u32 = 0o4000;
/// Set-group-ID, which without the group's right to execute means something else.
const SETGID: u32 = 0o2010;

/// What keeps the recorder out of the program in this file.
pub(super) fn obstacle(path: &CStr) -> Option<UnrecordedReason> {
    obstacle_within(path, INTERPRETERS_MAX)
}

/// Whether a program can be started from this file.
pub(super) fn is_program(path: &CStr) -> bool {
    sys::stat_path(path).is_ok_and(|stat| stat.mode & FILE_TYPE == REGULAR && stat.mode & 0o111 != 0)
}

fn obstacle_within(path: &CStr, interpreters: u32) -> Option<UnrecordedReason> {
    let stat = sys::stat_path(path).ok().filter(|stat| stat.mode & FILE_TYPE == REGULAR)?;
    let file = match File::open(path, Open::ReadFollow) {
        Err(Errno::EMFILE) if !sys::exec_frees_descriptors() => return Some(UnrecordedReason::Descriptors),
        file => file.ok(),
    };
    let mut head = [0; HEAD_BYTES];
    let read = file.as_ref().and_then(|file| file.read_at(&mut head, 0).ok()).unwrap_or(0);
    if head.starts_with(b"#!") {
        return obstacle_within(interpreter(&mut head)?, interpreters.checked_sub(1)?);
    }
    if gives_rights(path, &stat) {
        return Some(UnrecordedReason::Privileged);
    }
    of_elf(&file?, head.get(..read)?, path)
}

/// The interpreter of a script, whose first line this is.
fn interpreter(line: &mut [u8; HEAD_BYTES]) -> Option<&CStr> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = 2 + line.get(2..)?.iter().position(|byte| !is_blank(byte))?;
    let is_end = |byte: &u8| is_blank(byte) || matches!(byte, b'\n' | 0);
    let end = start + line.get(start..)?.iter().position(is_end)?;
    line[end] = 0;
    CStr::from_bytes_with_nul(line.get(start..=end)?).ok()
}

/// Whether a program from this file has more rights than its caller, so that the loader trusts no environment.
fn gives_rights(path: &CStr, stat: &Stat) -> bool {
    let is_of_other = stat.mode & SETUID != 0 && stat.uid != sys::uid()
        || stat.mode & SETGID == SETGID && stat.gid != sys::gid();
    let has_capabilities = || sys::euid() != 0 && sys::has_attribute(path, c"security.capability");
    (is_of_other || has_capabilities()) && !sys::gains_no_rights()
}

/// What is in the way by the headers of an ELF file, whose first bytes are `head`.
fn of_elf(file: &File, head: &[u8], path: &CStr) -> Option<UnrecordedReason> {
    const CLASS_64: u8 = 2;
    const X86_64: u16 = 62;
    const INTERPRETER: u32 = 3;
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    if *head.get(4)? != CLASS_64 || u16_at(head, 18)? != X86_64 {
        return Some(UnrecordedReason::Architecture);
    }
    let offset = u64::from(u32_at(head, 32)?);
    let (entry_bytes, entries) = (u64::from(u16_at(head, 54)?), u64::from(u16_at(head, 56)?));
    for entry in 0..entries {
        let mut kind = [0; 4];
        if file.read_at(&mut kind, offset + entry * entry_bytes) != Ok(kind.len()) {
            return None;
        }
        if u32::from_le_bytes(kind) == INTERPRETER {
            return None;
        }
    }
    (!is_loader(path)).then_some(UnrecordedReason::Static)
}

/// Whether this is the dynamic loader itself, which has no interpreter and loads what the program would have loaded.
fn is_loader(path: &CStr) -> bool {
    let name = path.to_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.starts_with(b"ld-") || name.starts_with(b"ld.so")
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_of_a_script_is_its_first_word() {
        let check = |line: &[u8], expected: Option<&CStr>| {
            let mut head = [0; HEAD_BYTES];
            head[..line.len()].copy_from_slice(line);
            assert_eq!(interpreter(&mut head), expected);
        };
        check(b"#!/bin/sh\necho", Some(c"/bin/sh"));
        check(b"#! /usr/bin/env python3\n", Some(c"/usr/bin/env"));
        check(b"#!\t/bin/sh", Some(c"/bin/sh"));
        check(b"#!", Some(c""));
        check(&[b'#'; HEAD_BYTES], None);
    }
}
