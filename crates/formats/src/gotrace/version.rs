//! Which Go wrote a file, and how its records are laid out.

use std::fmt;

/// Bytes of the header: `go 1.NN trace` and zeros.
pub const HEADER_BYTES: usize = 16;
/// What every header begins with.
pub const MAGIC: [u8; 5] = *b"go 1.";

/// The version of Go that introduced the format; programs built with a later one may still write it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Version {
    /// NN of 1.NN.
    pub minor: u32,
}

/// How records are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Go 1.11 to 1.21: a row of records; names, stacks and the clock are at the end.
    One,
    /// Go 1.22 and later: batches with their length, in generations that are independent of each other.
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
