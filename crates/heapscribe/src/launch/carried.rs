//! Files that the program carries inside itself, compressed: the libraries that are preloaded, and an archive to link.
//!
//! They are in gzip's format, which ends with the file's CRC-32 and its size: by these one that was unpacked before is
//! recognized without unpacking it again.

use std::io::{self, Read as _};

use flate2::read::GzDecoder;

/// A file, compressed by `build.rs`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    gzip: &'static [u8],
}

impl Carried {
    /// A file of gzip with one member of less than 4 GiB.
    pub(crate) const fn new(gzip: &'static [u8]) -> Carried {
        Carried { gzip }
    }

    /// A word of the last two.
    fn trailer(self, from_end: usize) -> u32 {
        let word = self.gzip.last_chunk::<8>().and_then(|words| words[8 - from_end..].first_chunk());
        word.map_or(0, |word| u32::from_le_bytes(*word))
    }

    pub(crate) fn crc32(self) -> u32 {
        self.trailer(8)
    }

    pub(crate) fn size_bytes(self) -> usize {
        self.trailer(4) as usize
    }

    /// Whether these bytes are the file.
    pub(crate) fn is(self, bytes: &[u8]) -> bool {
        bytes.len() == self.size_bytes() && crc32fast::hash(bytes) == self.crc32()
    }

    /// The whole file.
    pub(crate) fn unpacked(self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.size_bytes());
        GzDecoder::new(self.gzip).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};

    use super::Carried;

    #[test]
    fn a_file_is_recognized_and_comes_out_as_it_went_in() {
        let file: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        let mut packer = GzEncoder::new(Vec::new(), Compression::best());
        packer.write_all(&file).unwrap();
        let carried = Carried::new(packer.finish().unwrap().leak());
        assert_eq!((carried.size_bytes(), carried.crc32()), (400_000, crc32fast::hash(&file)));
        assert!(carried.unpacked().unwrap() == file && carried.is(&file));
        let mut other = file.clone();
        other[77] ^= 1;
        assert!(!carried.is(&other) && !carried.is(&file[1..]));
    }
}
