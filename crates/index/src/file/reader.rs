//! Reads sections, and trusts none of their lengths.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::io;

use heapscribe_formats::Source;
use zstd::bulk::Decompressor;

use super::columns::Rows;
use super::section::{Entry, Kind};
use super::{FOOTER_BYTES, MAGIC, SECTION_BYTES_MAX, VERSION};

/// Why an index cannot be used. It is made again then.
#[derive(Debug)]
pub enum IndexError {
    /// It cannot be read.
    Io(io::Error),
    /// It is not an index, or one of another version.
    NotOne,
    /// It is damaged at this offset.
    Damaged(u64),
    /// It is of another trace.
    OtherTrace,
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IndexError::Io(error) => write!(f, "the index cannot be read: {error}"),
            IndexError::NotOne => write!(f, "not an index of this version of heapscribe"),
            IndexError::Damaged(offset) => write!(f, "the index is damaged at byte {offset}"),
            IndexError::OtherTrace => write!(f, "the index is of another trace"),
        }
    }
}

impl std::error::Error for IndexError {}

impl From<io::Error> for IndexError {
    fn from(error: io::Error) -> Self {
        IndexError::Io(error)
    }
}

/// The sections of a file.
#[derive(Debug)]
pub(crate) struct SectionReader<S> {
    source: S,
    directory: BTreeMap<(Kind, u32), Vec<Entry>>,
}

thread_local! {
    /// Making one takes longer than unpacking a small section.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

fn decompress(stored: &[u8], raw_bytes: usize) -> io::Result<Vec<u8>> {
    DECOMPRESSOR.with_borrow_mut(|kept| match kept {
        Some(decompressor) => decompressor.decompress(stored, raw_bytes),
        None => kept.insert(Decompressor::new()?).decompress(stored, raw_bytes),
    })
}

impl<S: Source> SectionReader<S> {
    /// Reads the directory.
    pub(crate) fn open(source: S) -> Result<Self, IndexError> {
        let len = source.len();
        let at = len.checked_sub(FOOTER_BYTES).ok_or(IndexError::NotOne)?;
        let footer = bytes(&source, at, FOOTER_BYTES)?;
        let number = |n: usize| u64::from_le_bytes(*footer[n * 8..].first_chunk().unwrap_or(&[0; 8]));
        if bytes(&source, 0, 8)? != MAGIC || footer[32..] != MAGIC || number(3) != VERSION {
            return Err(IndexError::NotOne);
        }
        let (offset, stored_bytes, raw_bytes) = (number(0), number(1), number(2));
        let of_directory = Entry { kind: Kind::Trace, number: 0, offset, stored_bytes, raw_bytes };
        let mut directory = BTreeMap::<_, Vec<Entry>>::new();
        for [kind, number, offset, stored_bytes, raw_bytes] in rows(&source, &of_directory)?.iter() {
            let kind = Kind::of(kind).ok_or(IndexError::Damaged(of_directory.offset))?;
            let number = u32::try_from(number).map_err(|_| IndexError::Damaged(of_directory.offset))?;
            let entry = Entry { kind, number, offset, stored_bytes, raw_bytes };
            directory.entry((kind, number)).or_default().push(entry);
        }
        Ok(SectionReader { source, directory })
    }

    /// The rows of a kind and number; none where there is no section.
    pub(crate) fn rows<const N: usize>(&self, kind: Kind, number: u32) -> Result<Rows<N>, IndexError> {
        self.each(kind, number).next().unwrap_or_else(|| Ok(Rows::none()))
    }

    /// The rows of each section of a kind and number.
    pub(crate) fn each<const N: usize>(
        &self,
        kind: Kind,
        number: u32,
    ) -> impl Iterator<Item = Result<Rows<N>, IndexError>> {
        let entries = self.directory.get(&(kind, number)).into_iter().flatten();
        entries.map(|entry| rows(&self.source, entry))
    }
}

fn rows<S: Source, const N: usize>(source: &S, entry: &Entry) -> Result<Rows<N>, IndexError> {
    let damaged = || IndexError::Damaged(entry.offset);
    if entry.raw_bytes > SECTION_BYTES_MAX || entry.stored_bytes > source.len() {
        return Err(damaged());
    }
    let stored = bytes(source, entry.offset, entry.stored_bytes)?;
    let raw = decompress(&stored, entry.raw_bytes as usize).map_err(|_| damaged())?;
    Rows::decode(raw).map_err(|_| damaged())
}

fn bytes<S: Source>(source: &S, offset: u64, len: u64) -> Result<Vec<u8>, IndexError> {
    let mut at = vec![0; len as usize];
    let mut done = 0;
    while done < at.len() {
        match source.read_at(offset.saturating_add(done as u64), &mut at[done..])? {
            0 => return Err(IndexError::Damaged(offset)),
            n => done += n,
        }
    }
    Ok(at)
}
