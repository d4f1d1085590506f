//! The header of a file, its first 16 bytes: read and checked against the versions that are known.

use super::error::Fault;
use super::version::{HEADER_BYTES, MAGIC, Version};

/// Whether bytes begin as a trace does, of a version that is known or not.
pub fn is_begin(first: &[u8]) -> bool {
    first.starts_with(&MAGIC)
}

/// Reads a header.
pub(crate) fn decode(header: &[u8]) -> Result<Version, Fault> {
    if header.len() < HEADER_BYTES {
        return Err(Fault::NotATrace);
    }
    let rest = header.strip_prefix(&MAGIC).ok_or(Fault::NotATrace)?;
    let digits = rest.iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
    let minor = rest[..digits].iter().fold(0, |n, digit| n * 10 + u32::from(digit - b'0'));
    let version = Version { minor };
    if digits == 0 || header[..HEADER_BYTES] != version.encode() {
        return Err(Fault::NotATrace);
    }
    if (Version::FIRST..=Version::LAST).contains(&version) {
        Ok(version)
    } else {
        Err(Fault::Version(version))
    }
}

#[cfg(test)]
mod tests {
    use super::super::version::Layout;
    use super::*;

    #[test]
    fn headers_are_texts_of_sixteen_bytes() {
        assert_eq!(decode(b"go 1.19 trace\0\0\0"), Ok(Version { minor: 19 }));
        assert_eq!(decode(b"go 1.23 trace\0\0\0").map(Version::layout), Ok(Layout::Two));
        assert_eq!(decode(b"go 1.21 trace\0\0\0").map(Version::layout), Ok(Layout::One));
        assert_eq!(decode(b"go 1.99 trace\0\0\0"), Err(Fault::Version(Version { minor: 99 })));
        assert_eq!(decode(b"go 1.5 trace\0\0\0\0"), Err(Fault::Version(Version { minor: 5 })));
        for none in [
            &b"go 1.19 trace\0\0"[..],
            b"go 1.19 trace\0\0x",
            b"go 1. trace\0\0\0\0\0",
            b"go 2.19 trace\0\0\0",
        ] {
            assert_eq!(decode(none), Err(Fault::NotATrace));
        }
        assert_eq!(&Version::WRITTEN.encode(), b"go 1.19 trace\0\0\0");
    }
}
