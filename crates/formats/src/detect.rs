//! Tells formats apart by their first bytes. A format that is added here is a folder beside this file and one
//! line of the table below; what becomes of a file of that format is an arm of `Input::into_trace` in `convert`.

use crate::{gotrace, heaplog, heaptext, heaptrack, memtrace, native, pprof, valgrind};

/// A format of traces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Our own, see [`native`].
    Native,
    /// OCaml's memtrace, see [`memtrace`].
    Memtrace,
    /// That of Go's execution tracer, see [`gotrace`].
    Go,
    /// A log of heaphook's, see [`heaplog`].
    Heaplog,
    /// A data file of heaptrack's, see [`heaptrack`].
    Heaptrack,
    /// pprof's, see [`pprof`].
    Pprof,
    /// Text of gperftools and jemalloc, see [`heaptext`].
    HeapText,
    /// A file of DHAT's, see [`valgrind`].
    Dhat,
    /// A file of massif's, see [`valgrind`].
    Massif,
    /// None that is known here.
    Unknown,
}

/// Bytes from the start of a file that [`detect`] needs at most; of a shorter file, all of it.
pub const DETECT_BYTES: usize = 256;

/// Whether the first bytes of a file are those of a format.
type IsBegin = fn(&[u8]) -> bool;

/// How the first bytes of each format are recognized. No two formats accept the same bytes.
const FORMATS: [(Format, IsBegin); 9] = [
    (Format::Native, native::is_begin),
    (Format::Memtrace, memtrace::is_begin),
    (Format::Go, gotrace::is_begin),
    (Format::Heaplog, heaplog::is_begin),
    (Format::Heaptrack, heaptrack::is_begin),
    (Format::Pprof, pprof::is_begin),
    (Format::HeapText, heaptext::is_begin),
    (Format::Dhat, valgrind::is_dhat),
    (Format::Massif, valgrind::is_massif),
];

/// The format of a file that begins with these bytes.
///
/// ```
/// use heapscribe_formats::detect::{Format, detect};
///
/// assert_eq!(detect(b"go 1.19 trace\0\0\0"), Format::Go);
/// assert_eq!(detect(b"malloc 0x55d0 24 0\n"), Format::Heaplog);
/// assert_eq!(detect(b"{}"), Format::Unknown);
/// ```
pub fn detect(first: &[u8]) -> Format {
    let recognizes = |(_, is_begin): &&(Format, IsBegin)| is_begin(first);
    FORMATS.iter().find(recognizes).map_or(Format::Unknown, |(format, _)| *format)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::header::MAGIC;

    const BEGINS: [(&[u8], Format); 18] = [
        (&MAGIC, Format::Native),
        (b"\xc1\x1f\xfc\xc1", Format::Memtrace),
        (b"go 1.19 trace\0\0\0", Format::Go),
        (b"alloc, 72704, 1, 0x000055", Format::Heaplog),
        (b"malloc 0x55d0 24 0", Format::Heaplog),
        (b"v 10400 3\nx d /usr/bin/true\n", Format::Heaptrack),
        (b"\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04", Format::Pprof),
        (b"\x32\x00\x32\x0dalloc_objects", Format::Pprof),
        (b"\x5a\x04\x08\x01\x10\x02\x60\x01\x0a", Format::Pprof),
        (b"\x0a\x04\x08\x01\x18\x02\x0a\x04", Format::Unknown),
        (b"heap profile: 1: 2 [3: 4] @ heap_v2/5\n", Format::HeapText),
        (b"desc: --time-unit=B\ncmd: ./p\n", Format::Massif),
        (b"{\"dhatFileVersion\":2\n,\"mode\":\"heap\"", Format::Dhat),
        (b"heap_v2/524288\n  t*: 1: 2 [0: 0]\n", Format::HeapText),
        (b"v 1.2\n", Format::Unknown),
        (b"\x89HSCR\r\n", Format::Unknown),
        (b"{\"traceEvents\":[", Format::Unknown),
        (&[], Format::Unknown),
    ];

    #[test]
    fn each_format_is_recognized_by_its_first_bytes() {
        for (first, format) in BEGINS {
            assert_eq!(detect(first), format, "{first:?}");
        }
    }

    #[test]
    fn no_two_formats_accept_the_same_bytes() {
        for (first, format) in BEGINS {
            let accepting = FORMATS.iter().filter(|(_, is_begin)| is_begin(first)).count();
            assert_eq!(accepting, usize::from(format != Format::Unknown), "{first:?}");
        }
    }
}
