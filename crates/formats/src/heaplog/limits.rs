//! Bounds of a log's lines.

/// Bytes of a line without its newline; a longer one is none. The longest that is written has 98.
pub const LINE_BYTES_MAX: usize = 128;
/// Bytes that are read at a time.
pub(crate) const PIECE_BYTES: usize = 256 << 10;
/// Fields of a line at most, its name among them.
pub(crate) const FIELDS_MAX: usize = 5;
/// Digits of a 64-bit number in hexadecimal.
pub(crate) const HEX_DIGITS: usize = 16;

const _: () = {
    const NAME: usize = "malloc_usable_size".len();
    const POINTER: usize = 2 + HEX_DIGITS;
    const NUMBER: usize = 20;
    assert!(NAME + 4 * (2 + NUMBER) < LINE_BYTES_MAX && POINTER < NUMBER);
    assert!(LINE_BYTES_MAX < PIECE_BYTES);
};
