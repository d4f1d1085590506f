//! The checksums of snappy's framing: the one that AOS writes, and the one that the framing is specified with.
//!
//! AOS's is neither CRC-32 nor CRC-32C: it is CRC-32 without the inversion at its end (known as JAMCRC). Both
//! are masked, because a checksum of something that ends with its own checksum would be the same for all.

/// AOS's checksum of a chunk's uncompressed bytes, before masking.
#[must_use]
pub fn jamcrc(bytes: &[u8]) -> u32 {
    !crc32fast::hash(bytes)
}

/// The checksum that snappy's framing is specified with, before masking.
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// As a checksum stands in a chunk.
#[must_use]
pub const fn masked(checksum: u32) -> u32 {
    checksum.rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_values_of_both() {
        assert_eq!(jamcrc(b"123456789"), 0x340b_c6d9);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(masked(0), 0xa282_ead8);
        assert_eq!(masked(0x340b_c6d9), 0x340b_c6d9_u32.rotate_right(15).wrapping_add(0xa282_ead8));
    }
}
