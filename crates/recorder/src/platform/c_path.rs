//! A path that is put together, on the stack: where it is needed there may be no session, and so no memory of ours.

use core::ffi::CStr;

use super::session_path::PATH_BYTES_MAX;

/// A path of at most [`PATH_BYTES_MAX`] bytes.
#[derive(Debug)]
pub(crate) struct CPath {
    bytes: [u8; PATH_BYTES_MAX],
    len: usize,
}

impl CPath {
    /// These parts, one after the other. `None` when they are too long.
    pub(crate) fn of(parts: &[&[u8]]) -> Option<CPath> {
        let mut path = CPath { bytes: [0; PATH_BYTES_MAX], len: 0 };
        parts.iter().try_for_each(|part| path.push(part))?;
        Some(path)
    }

    /// Appends a part.
    pub(crate) fn push(&mut self, part: &[u8]) -> Option<()> {
        let end = self.len + part.len();
        // The last byte stays the NUL.
        let place = self.bytes.get_mut(self.len..end).filter(|_| end < PATH_BYTES_MAX)?;
        place.copy_from_slice(part);
        self.len = end;
        Some(())
    }

    /// Appends a number in decimal.
    pub(crate) fn push_number(&mut self, number: u64) -> Option<()> {
        let digits = number.checked_ilog10().unwrap_or(0);
        (0..=digits).rev().try_for_each(|digit| self.push(&[b'0' + (number / 10u64.pow(digit) % 10) as u8]))
    }

    /// The path for the kernel, up to its first NUL.
    pub(crate) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_numbers_are_joined_as_far_as_there_is_room() {
        let check = |number: u64, expected: &str| {
            let mut path = CPath::of(&[b"/a", b"/b."]).unwrap();
            path.push_number(number).unwrap();
            assert_eq!(path.as_c_str().to_str(), Ok(expected));
        };
        check(0, "/a/b.0");
        check(10, "/a/b.10");
        check(u64::MAX, "/a/b.18446744073709551615");
        assert!(CPath::of(&[&[b'x'; PATH_BYTES_MAX - 1]]).is_some());
        assert!(CPath::of(&[&[b'x'; PATH_BYTES_MAX]]).is_none());
    }
}
