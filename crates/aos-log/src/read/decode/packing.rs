//! How a part is compressed: recognized by its first bytes, whatever the file is called.

use super::{snappy, xz, zstd};

/// How a part is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// Snappy, in the framing of AOS or that of snappy itself.
    Snappy,
    /// xz.
    Xz,
    /// zstd, which AOS does not have.
    Zstd,
}

/// Bytes from the start of a file that [`Packing::of`] needs.
pub const PACKING_BYTES: usize = 10;

impl Packing {
    /// How a file with these first bytes is compressed.
    pub fn of(first: &[u8]) -> Packing {
        if first.starts_with(&snappy::MAGIC) {
            Packing::Snappy
        } else if first.starts_with(&xz::MAGIC) {
            Packing::Xz
        } else if zstd::is_frame(first) {
            Packing::Zstd
        } else {
            Packing::Plain
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Packing::Plain => "plain",
            Packing::Snappy => "snappy",
            Packing::Xz => "xz",
            Packing::Zstd => "zstd",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packings_are_recognized_by_their_first_bytes() {
        assert_eq!(Packing::of(b"\xff\x06\0\0sNaPpY\0"), Packing::Snappy);
        assert_eq!(Packing::of(b"\xfd7zXZ\0\0"), Packing::Xz);
        assert_eq!(Packing::of(b"\x28\xb5\x2f\xfd\0"), Packing::Zstd);
        assert_eq!(Packing::of(b"\x5a\x2a\x4d\x18\0"), Packing::Zstd);
        assert_eq!(Packing::of(b"\xff\x06\0\0sNaPp"), Packing::Plain);
        assert_eq!(Packing::of(b""), Packing::Plain);
    }
}
