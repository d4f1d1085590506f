//! The environment, from the first call that a program makes: before libc's own start it is in `/proc` only.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char, c_ulong};

use crate::sys::{File, Open};

unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
    safe fn getauxval(kind: c_ulong) -> c_ulong;
}

/// Whether the program runs with more privileges than its caller (setuid), whose environment it must not trust.
pub fn is_privileged() -> bool {
    const AT_SECURE: c_ulong = 23;
    getauxval(AT_SECURE) != 0
}

/// An address in the stack that the kernel made for the first thread: of the random bytes that it left there.
pub fn initial_stack() -> Option<usize> {
    const AT_RANDOM: c_ulong = 25;
    Some(getauxval(AT_RANDOM) as usize).filter(|address| *address != 0)
}

/// The value that libc has of a variable: `None` when it is not set, or libc has not started.
pub fn known(name: &CStr) -> Option<&'static [u8]> {
    // SAFETY: getenv takes a C string, and gives one or null. A program that changes the variable at this
    // moment would have to do so before its first allocation.
    unsafe {
        let value = getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_bytes())
    }
}

/// The part of `room` that holds what the variable was when the program was started; `None` when it was not
/// set, or its entry is longer than `room`.
pub fn initial<'a>(name: &CStr, room: &'a mut [u8]) -> Option<&'a [u8]> {
    let file = File::open(c"/proc/self/environ", Open::Read).ok()?;
    let value = find(name.to_bytes(), room, |into| file.read_full(into).ok())?;
    room.get(value)
}

/// The same of bytes that come in pieces.
fn find(
    name: &[u8],
    room: &mut [u8],
    mut read: impl FnMut(&mut [u8]) -> Option<usize>,
) -> Option<core::ops::Range<usize>> {
    let mut filled = 0;
    loop {
        let n = read(room.get_mut(filled..)?).filter(|&n| n > 0)?;
        let bytes = room.get(..filled + n)?;
        let mut begin = 0;
        for entry in bytes.split(|&b| b == 0) {
            let is_whole = begin + entry.len() < bytes.len();
            let value = entry.strip_prefix(name).and_then(|rest| rest.strip_prefix(b"="));
            if let Some(value) = value.filter(|_| is_whole) {
                return Some(begin + entry.len() - value.len()..begin + entry.len());
            }
            begin += entry.len() + 1;
        }
        // What stands behind the last NUL goes on in the next piece.
        let tail = bytes.iter().rposition(|&b| b == 0).map_or(0, |at| at + 1);
        let rest = bytes.len() - tail;
        if rest == room.len() {
            skip_entry(room, &mut read)?;
            filled = 0;
        } else {
            room.copy_within(tail..tail + rest, 0);
            filled = rest;
        }
    }
}

/// An entry that is longer than the room is none of ours; what stands behind it may be.
fn skip_entry(room: &mut [u8], read: &mut impl FnMut(&mut [u8]) -> Option<usize>) -> Option<()> {
    loop {
        let mut byte = [0];
        read(&mut byte).filter(|&n| n > 0)?;
        if byte == [0] {
            room.fill(0);
            return Some(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found of `name` when `bytes` come in pieces of at most `piece`, with room for 16.
    fn check(name: &str, bytes: &[u8], expected: Option<&str>) {
        for piece in 1..=bytes.len().max(1) {
            let (mut room, mut at) = ([0; 16], 0);
            let found = find(name.as_bytes(), &mut room, |into| {
                let n = into.len().min(piece).min(bytes.len() - at);
                into[..n].copy_from_slice(&bytes[at..at + n]);
                at += n;
                Some(n)
            });
            let found = found.map(|range| String::from_utf8_lossy(&room[range]).into_owned());
            assert_eq!(found.as_deref(), expected, "{name} in pieces of {piece}");
        }
    }

    #[test]
    fn a_variable_is_found_wherever_pieces_end() {
        check("A", b"A=1\0B=2\0", Some("1"));
        check("B", b"A=1\0B=2\0", Some("2"));
        check("B", b"AB=1\0B=\0", Some(""));
        check("C", b"A=1\0B=2\0", None);
        check("A", b"", None);
        check("B", b"A=1234567890123456789012345\0B=2\0", Some("2"));
        check("A", b"A=1234567890123456789012345\0B=2\0", None);
        check("LONG", b"X=1\0Y=2\0LONG=abcdef\0Z=3\0", Some("abcdef"));
    }
}
