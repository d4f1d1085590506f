//! The first 16 bytes of a file: which Go wrote it.

use std::fmt;

use super::error::Fault;

/// Bytes of the header: `go 1.NN trace` and zeros.
pub const HEADER_BYTES: usize = 16;
/// What every header begins with.
pub const MAGIC: [u8; 5] = *b"go 1.";

/// Which Go the format is that of; programs built with a later one may still write it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Version {
    /// NN of 1.NN.
    pub minor: u32,
}

/// How records are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Go 1.11 to 1.21: a row of records; names, stacks and the clock come at the end.
    One,
    /// Go 1.22 and later: batches that tell their length, in generations that stand for themselves.
    Two,
}

impl Version {
    /// The first that is read.
    pub const FIRST: Version = Version { minor: 11 };
    /// The first in layout two.
    pub const BATCHED: Version = Version { minor: 22 };
    /// The last that is known.
    pub const LAST: Version = Version { minor: 23 };
    /// The one that is written.
    pub const WRITTEN: Version = Version { minor: 19 };

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

    /// The header.
    pub fn encode(self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        let text = format!("{self} trace");
        for (at, byte) in header.iter_mut().zip(text.bytes()) {
            *at = byte;
        }
        header
    }

    /// How its records are laid out.
    pub fn layout(self) -> Layout {
        if self < Version::BATCHED { Layout::One } else { Layout::Two }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "go 1.{}", self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_texts_of_sixteen_bytes() {
        let decode = |text: &[u8]| Version::decode(text);
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
