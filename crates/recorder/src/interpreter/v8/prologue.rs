//! Whether a call in the program's own text was made by a builtin function of V8's with a frame of JavaScript, or by C++.
//!
//! C++ that handles V8's objects may have any of them where frames of JavaScript have a context and a function, and what was
//! one a moment ago may be no memory any more: node 23 crashed in a thread that marks. So its frames are told apart by how
//! they begin, which is found backwards from the call:
//!
//! ```text
//!   push rbp;  mov rbp, rsp;  push rsi (context);  push rdi (function);  push rax (arguments)
//! ```
//! Registers for arguments are not the callee's to save, so that compilers of C++ have no reason to push these.

use crate::interpreter::read::{Kernel, Read};

/// `push rbp; mov rbp, rsp`, and what follows in a frame of JavaScript.
const FRAME: [u8; 4] = [0x55, 0x48, 0x89, 0xe5];
const PUSHES: [u8; 3] = [0x56, 0x57, 0x50];
const WHOLE: usize = FRAME.len() + PUSHES.len();

/// Bytes that are looked through at once, and how often: builtin functions are shorter.
const CHUNK_BYTES: usize = 1024;
const CHUNKS: usize = 64;

/// Whether the function that returns to `pc` has made a frame of JavaScript.
pub(super) fn makes_frame(kernel: Kernel, pc: usize) -> bool {
    if !cfg!(target_arch = "x86_64") {
        return false;
    }
    // What begins in one chunk ends in the next one.
    let mut bytes = [0; CHUNK_BYTES + WHOLE];
    for chunk in 1..=CHUNKS {
        let at = pc.wrapping_sub(WHOLE).wrapping_sub(chunk * CHUNK_BYTES);
        if !kernel.bytes(at, &mut bytes) {
            return false;
        }
        let begins = bytes.windows(WHOLE).rposition(|window| window.starts_with(&FRAME));
        if let Some(begin) = begins {
            return bytes.get(begin + FRAME.len()..).is_some_and(|rest| rest.starts_with(&PUSHES));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code of a function that begins this many bytes before its call.
    fn check(begin: &[u8], distance: usize, expected: bool) {
        const BEFORE: usize = 70_000;
        let mut code = vec![0x90; BEFORE];
        // A function further back has a frame of JavaScript.
        code[100..100 + WHOLE].copy_from_slice(&[&FRAME[..], &PUSHES].concat());
        code[200..204].copy_from_slice(&FRAME);
        let pc = code.as_ptr() as usize + BEFORE;
        code[BEFORE - distance..][..begin.len()].copy_from_slice(begin);
        let kernel = Kernel { pid: std::process::id() };
        assert_eq!(makes_frame(kernel, pc), expected, "{begin:x?} {distance}");
    }

    #[test]
    fn frames_are_told_apart_by_how_they_begin() {
        let javascript = [&FRAME[..], &PUSHES].concat();
        for distance in [7, 8, 1000, 1023, 1024, 1025, 1028, 1031, 1032, 40_000] {
            check(&javascript, distance, true);
        }
        // Of C++, and of V8's functions that have the type of their frame in place of a context.
        for begin in
            [&[0x55, 0x48, 0x89, 0xe5, 0x41, 0x57, 0x41][..], &[0x55, 0x48, 0x89, 0xe5, 0x6a, 0x22, 0x48]]
        {
            check(begin, 300, false);
        }
    }

    #[test]
    fn what_has_no_beginning_makes_no_frame() {
        let code = [0x90; 16];
        let kernel = Kernel { pid: std::process::id() };
        check(&[], 1, false);
        assert!(!makes_frame(kernel, 4096));
        assert!(!makes_frame(kernel, code.len()));
    }
}
