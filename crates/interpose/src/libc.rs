//! Which libc the program has, for what programs on it rely on. Its functions cannot be tried for that: those of musl call
//! `malloc` by name, which is ours.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_char};

use heapscribe_alloc::front::Libc;
use heapscribe_nolibc::loader::Loader;

/// By what is loaded.
pub(crate) fn of_program(loader: &Loader) -> Libc {
    type LibcVersion = unsafe extern "C" fn() -> *const c_char;
    match loader.find_anywhere(b"gnu_get_libc_version") {
        // SAFETY: glibc's function of this name has this type, and gives a C string that stays.
        Some(version) => unsafe {
            let version = core::mem::transmute::<*const (), LibcVersion>(version)();
            of_glibc(CStr::from_ptr(version).to_bytes())
        },
        None => Libc::Musl,
    }
}

/// By glibc's version, such as `2.36`.
fn of_glibc(version: &[u8]) -> Libc {
    const FIRST_NEW: u32 = 38;
    let minor = version.strip_prefix(b"2.").unwrap_or_default();
    let digits = minor.iter().take_while(|digit| digit.is_ascii_digit());
    let minor =
        digits.fold(0u32, |sum, digit| sum.saturating_mul(10).saturating_add(u32::from(digit - b'0')));
    if (1..FIRST_NEW).contains(&minor) { Libc::OldGlibc } else { Libc::Glibc }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_glibc() {
        for (version, expected) in [
            ("2.17", Libc::OldGlibc),
            ("2.36", Libc::OldGlibc),
            ("2.37.9000", Libc::OldGlibc),
            ("2.38", Libc::Glibc),
            ("2.41", Libc::Glibc),
            ("3.1", Libc::Glibc),
        ] {
            assert_eq!(of_glibc(version.as_bytes()), expected, "{version}");
        }
    }
}
