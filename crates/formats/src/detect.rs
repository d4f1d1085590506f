//! Tells formats apart by their first bytes.

use crate::native::header::MAGIC;
use crate::{gotrace, heaplog, memtrace};

/// A format of traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Our own.
    Native,
    /// OCaml's memtrace.
    Memtrace,
    /// That of Go's execution tracer.
    Go,
    /// A log of heaphook's.
    Heaplog,
    /// None that is known here.
    Unknown,
}

/// First bytes of a file that [`detect`] wants to see; fewer are taken.
pub const DETECT_BYTES: usize = 256;

/// Which format a file with these first bytes has.
pub fn detect(first: &[u8]) -> Format {
    if first.starts_with(&MAGIC) {
        Format::Native
    } else if first.starts_with(&memtrace::MAGIC) {
        Format::Memtrace
    } else if first.starts_with(&gotrace::MAGIC) {
        Format::Go
    } else if heaplog::is_begin(first) {
        Format::Heaplog
    } else {
        Format::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_magic_is_ours() {
        assert_eq!(detect(&MAGIC), Format::Native);
        assert_eq!(detect(&MAGIC[..7]), Format::Unknown);
        assert_eq!(detect(b"{\"traceEvents\":["), Format::Unknown);
        assert_eq!(detect(b"\xc1\x1f\xfc\xc1"), Format::Memtrace);
        assert_eq!(detect(b"go 1.19 trace\0\0\0"), Format::Go);
        assert_eq!(detect(b"alloc, 72704, 1, 0x000055"), Format::Heaplog);
        assert_eq!(detect(&[]), Format::Unknown);
    }
}
