//! Writes sections one after the other, and their directory.

use std::io::{self, Write};

use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

use super::columns::encode;
use super::section::{Entry, Kind};
use super::{MAGIC, SECTION_BYTES_MAX, VERSION};

/// Fast, and half of the size already.
const LEVEL: i32 = 1;

/// A file in the making.
pub(crate) struct SectionWriter<W> {
    out: W,
    offset: u64,
    compressor: Compressor<'static>,
    directory: Vec<Entry>,
}

impl<W: Write> SectionWriter<W> {
    /// Writes the header.
    pub(crate) fn new(mut out: W) -> io::Result<Self> {
        let mut compressor = Compressor::new(LEVEL)?;
        compressor.set_parameter(CParameter::ChecksumFlag(true))?;
        out.write_all(&MAGIC)?;
        Ok(SectionWriter { out, offset: MAGIC.len() as u64, compressor, directory: Vec::new() })
    }

    /// Writes a section of rows; none if there are no rows.
    pub(crate) fn section<const N: usize>(
        &mut self,
        kind: Kind,
        number: u32,
        rows: &[[u64; N]],
    ) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let (offset, raw_bytes, stored_bytes) = self.frame(&encode(rows))?;
        self.directory.push(Entry { kind, number, offset, stored_bytes, raw_bytes });
        Ok(())
    }

    fn frame(&mut self, raw: &[u8]) -> io::Result<(u64, u64, u64)> {
        if raw.len() as u64 > SECTION_BYTES_MAX {
            return Err(io::Error::other("a part of the index is larger than its readers take"));
        }
        let stored = self.compressor.compress(raw)?;
        self.out.write_all(&stored)?;
        let offset = self.offset;
        self.offset += stored.len() as u64;
        Ok((offset, raw.len() as u64, stored.len() as u64))
    }

    /// Writes the directory: how many bytes the file has.
    pub(crate) fn finish(mut self) -> io::Result<(W, u64)> {
        let row = |entry: &Entry| {
            [entry.kind as u64, u64::from(entry.number), entry.offset, entry.stored_bytes, entry.raw_bytes]
        };
        let rows: Vec<_> = self.directory.iter().map(row).collect();
        let (offset, raw_bytes, stored_bytes) = self.frame(&encode(&rows))?;
        for n in [offset, stored_bytes, raw_bytes, VERSION] {
            self.out.write_all(&n.to_le_bytes())?;
        }
        self.out.write_all(&MAGIC)?;
        self.out.flush()?;
        Ok((self.out, self.offset + super::FOOTER_BYTES))
    }
}
