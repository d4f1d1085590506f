//! Compressed data files: heaptrack writes `.zst`, or `.gz` where it was built without zstd.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use heapscribe_formats::Source as _;

use crate::file_source::FileSource;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The file from its beginning, decompressed if it is compressed.
///
/// # Errors
/// Those of the medium.
pub fn unpacked(file: &File) -> io::Result<Box<dyn BufRead>> {
    let mut first = [0; 4];
    let source = FileSource::of(file.try_clone()?)?;
    let n = source.read_at(0, &mut first)?;
    let whole = FromStart { source, offset: 0 };
    Ok(if first[..n].starts_with(GZIP) {
        Box::new(BufReader::new(flate2::read::MultiGzDecoder::new(whole)))
    } else if first[..n].starts_with(ZSTD) {
        Box::new(BufReader::new(zstd::stream::read::Decoder::new(whole)?))
    } else {
        Box::new(BufReader::new(whole))
    })
}

/// The first bytes of what is in a compressed file; none of one that is not compressed, or cannot be read.
pub fn first_bytes(file: &File, packed: &[u8], at: &mut [u8]) -> usize {
    if !packed.starts_with(GZIP) && !packed.starts_with(ZSTD) {
        return 0;
    }
    let Ok(mut contents) = unpacked(file) else { return 0 };
    let mut n = 0;
    while let Ok(more @ 1..) = contents.read(&mut at[n..]) {
        n += more;
    }
    n
}

/// A file from its beginning, whatever else reads it.
struct FromStart {
    source: FileSource,
    offset: u64,
}

impl Read for FromStart {
    fn read(&mut self, at: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read_at(self.offset, at)?;
        self.offset += n as u64;
        Ok(n)
    }
}
