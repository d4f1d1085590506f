//! Reads a column of a row group: its pages, levels of nesting and values. What one page says of itself is held against
//! what is there, and against bounds, before anything is made of it.

use std::io::Read;

use super::super::batch::Texts;
use super::Malformed;
use super::fields::Reader;
use super::footer::{ColumnKind, ParquetFile, RowGroup};
use super::hybrid::{decode, width_of};
use super::pages::{DATA_PAGE, DICTIONARY_PAGE, PLAIN, RLE_DICTIONARY};

/// Bytes of a column in a row group when it is unpacked.
const UNPACKED_BYTES_MAX: u64 = 128 << 20;
/// Entries of a column in a row group.
const ENTRIES_MAX: u64 = 1 << 23;
/// A stack's number alone takes 8 bytes, and has this many frames for each of them at most.
const ENTRIES_A_BYTE: u64 = 256;
const ENTRIES_MIN: u64 = 1 << 16;

const DATA_PAGE_2: i64 = 3;
/// What old writers call places in a dictionary.
const PLAIN_DICTIONARY: i64 = 2;
const NO_CODEC: i64 = 0;
const GZIP: i64 = 2;
const ZSTD: i64 = 6;
const I32: i64 = 1;
const I64: i64 = 2;
const BYTES: i64 = 6;
/// The place of a value that is not known.
const UNKNOWN: u32 = u32::MAX;

/// The entries of a column.
#[derive(Debug, Default)]
pub(in crate::tables) struct Entries {
    begins_row: Vec<bool>,
    is_there: Vec<bool>,
    places: Vec<u32>,
    numbers: Vec<i64>,
    texts: Texts,
    /// How many values are the dictionary's, which come first.
    dictionary: u32,
    unpacked_bytes: u64,
}

/// The header of a page.
#[derive(Default)]
struct Page {
    kind: i64,
    plain_bytes: u64,
    packed_bytes: u64,
    entries: u64,
    encoding: i64,
    /// Of pages of format 2, the bytes of their levels, which are not packed.
    levels: (u64, u64),
    is_plain: bool,
}

impl Entries {
    /// How many there are; a row with an empty list counts as one.
    pub(in crate::tables) fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether the entry is the first of its row.
    pub(in crate::tables) fn begins_row(&self, entry: usize) -> bool {
        self.begins_row[entry]
    }

    /// Whether there is an entry, or only a row without any.
    pub(in crate::tables) fn is_there(&self, entry: usize) -> bool {
        self.is_there[entry]
    }

    /// The value of a column of numbers.
    pub(in crate::tables) fn number(&self, entry: usize) -> Option<i64> {
        self.numbers.get(self.places[entry] as usize).copied()
    }

    /// The value of a column of texts.
    pub(in crate::tables) fn text(&self, entry: usize) -> Option<&str> {
        let place = self.places[entry];
        let text = (place != UNKNOWN && !self.texts.is_empty()).then(|| self.texts.get(place as usize))?;
        std::str::from_utf8(text).ok()
    }
}

impl ParquetFile<'_> {
    /// Reads a column of a row group.
    pub(in crate::tables) fn read(&self, group: &RowGroup, column: usize) -> Result<Entries, Malformed> {
        let (kind, place) = (&self.columns[column], &group.chunks[column]);
        let wrong = |what: String| Malformed { what, offset: place.begin };
        let end = place.begin.checked_add(place.length).and_then(|end| usize::try_from(end).ok());
        let bytes = end.and_then(|end| self.bytes.get(usize::try_from(place.begin).ok()?..end));
        let bytes = bytes.ok_or_else(|| wrong("a column lies behind the end of the file".to_owned()))?;
        let most = ENTRIES_MIN.max(self.bytes.len() as u64 * ENTRIES_A_BYTE).min(ENTRIES_MAX);
        if place.entries > most {
            return Err(wrong(format!("a column has {} entries, more than {most}", place.entries)));
        }
        let mut reader = Reader::new(bytes, place.begin);
        let mut entries = Entries::default();
        while (entries.len() as u64) < place.entries {
            let begin = reader.offset();
            let page = page(&mut reader)?;
            let packed = reader.take(page.packed_bytes)?;
            if page.entries > place.entries - entries.len() as u64 {
                return Err(Malformed {
                    what: "a page has more entries than its column".into(),
                    offset: begin,
                });
            }
            // Errors in what was unpacked have the offset of their page.
            let add = entries.add(&page, packed, kind, place.codec);
            add.map_err(|what| Malformed { what, offset: begin })?;
        }
        Ok(entries)
    }
}

fn page(reader: &mut Reader<'_>) -> Result<Page, Malformed> {
    let mut page = Page::default();
    reader.fields(|reader, field| {
        match field.number {
            1 => page.kind = reader.number()?,
            2 => page.plain_bytes = reader.length()?,
            3 => page.packed_bytes = reader.length()?,
            5 | 7 => reader.fields(|reader, field| {
                match field.number {
                    1 => page.entries = reader.length()?,
                    2 => page.encoding = reader.number()?,
                    _ => return Ok(false),
                }
                Ok(true)
            })?,
            8 => reader.fields(|reader, field| {
                match field.number {
                    1 => page.entries = reader.length()?,
                    4 => page.encoding = reader.number()?,
                    5 => page.levels.1 = reader.length()?,
                    6 => page.levels.0 = reader.length()?,
                    7 => page.is_plain = !field.is_true(),
                    _ => return Ok(false),
                }
                // A yes or no has no bytes.
                Ok(true)
            })?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(page)
}

impl Entries {
    fn add(&mut self, page: &Page, packed: &[u8], kind: &ColumnKind, codec: i64) -> Result<(), String> {
        let entries = page.entries as usize; // below ENTRIES_MAX
        self.unpacked_bytes = self.unpacked_bytes.saturating_add(page.plain_bytes);
        if self.unpacked_bytes > UNPACKED_BYTES_MAX {
            return Err(format!("a column has more than {UNPACKED_BYTES_MAX} bytes when it is unpacked"));
        }
        if page.kind == i64::from(DICTIONARY_PAGE) {
            if !self.places.is_empty() || self.dictionary > 0 {
                return Err("a dictionary comes after the first page".to_owned());
            }
            let body = unpacked(packed, page.plain_bytes, codec)?;
            self.plain(&body, kind.physical, entries)?;
            self.dictionary = entries as u32;
            return Ok(());
        }
        let (repeated, defined, body);
        if page.kind == DATA_PAGE_2 {
            let (first, rest) = split(packed, page.levels.0)?;
            let (second, rest) = split(rest, page.levels.1)?;
            let plain_bytes = page.plain_bytes.saturating_sub(page.levels.0.saturating_add(page.levels.1));
            repeated = levels(first, kind.max_repeated, entries)?;
            defined = levels(second, kind.max_defined, entries)?;
            body = unpacked(rest, plain_bytes, if page.is_plain { NO_CODEC } else { codec })?;
            return self.values(page, &repeated, &defined, &body, kind);
        } else if page.kind == i64::from(DATA_PAGE) {
            body = unpacked(packed, page.plain_bytes, codec)?;
        } else {
            return Ok(()); // an index, which nobody needs
        }
        let (first, rest) = with_length(&body, kind.max_repeated)?;
        let (second, rest) = with_length(rest, kind.max_defined)?;
        repeated = levels(first, kind.max_repeated, entries)?;
        defined = levels(second, kind.max_defined, entries)?;
        self.values(page, &repeated, &defined, rest, kind)
    }

    fn values(
        &mut self,
        page: &Page,
        repeated: &[u32],
        defined: &[u32],
        body: &[u8],
        kind: &ColumnKind,
    ) -> Result<(), String> {
        let known = defined.iter().filter(|level| **level == kind.max_defined).count();
        let places = if page.encoding == i64::from(RLE_DICTIONARY) || page.encoding == PLAIN_DICTIONARY {
            let (width, body) = body.split_first().unwrap_or((&0, &[]));
            let places = decode(body, (*width).into(), known);
            let places = places.map_err(|(what, at)| format!("{what} (byte {at} of the values)"))?;
            if places.iter().any(|place| *place >= self.dictionary) {
                return Err("a value is not in the dictionary".to_owned());
            }
            places
        } else if page.encoding == i64::from(PLAIN) {
            let first = (self.numbers.len() + self.texts.len()) as u32;
            self.plain(body, kind.physical, known)?;
            (first..first + known as u32).collect()
        } else {
            return Err(format!("values are encoded in a way (number {}) that is not read", page.encoding));
        };
        let mut places = places.into_iter();
        for (repeated, defined) in repeated.iter().zip(defined) {
            self.begins_row.push(*repeated == 0);
            self.is_there.push(*defined >= kind.defined_entry);
            let is_known = *defined == kind.max_defined;
            self.places.push(if is_known { places.next().unwrap_or(UNKNOWN) } else { UNKNOWN });
        }
        Ok(())
    }

    /// Reads values one after the other.
    fn plain(&mut self, mut bytes: &[u8], physical: i64, count: usize) -> Result<(), String> {
        let cut = || "the values are cut".to_owned();
        for _ in 0..count {
            match physical {
                I32 => {
                    let (value, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
                    self.numbers.push(i32::from_le_bytes(*value).into());
                    bytes = rest;
                }
                I64 => {
                    let (value, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
                    self.numbers.push(i64::from_le_bytes(*value));
                    bytes = rest;
                }
                BYTES => {
                    let (length, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
                    let (text, rest) = split(rest, u32::from_le_bytes(*length).into())?;
                    self.texts.push(&String::from_utf8_lossy(text));
                    bytes = rest;
                }
                _ => return Err(format!("values are of a type (number {physical}) that is not read")),
            }
        }
        Ok(())
    }
}

fn split(bytes: &[u8], length: u64) -> Result<(&[u8], &[u8]), String> {
    let length = usize::try_from(length).ok();
    length.and_then(|length| bytes.split_at_checked(length)).ok_or_else(|| "a page is cut".to_owned())
}

/// Levels of a page of format 1, with their length before them; there are none in a column that is not nested.
fn with_length(bytes: &[u8], most: u32) -> Result<(&[u8], &[u8]), String> {
    if most == 0 {
        return Ok((&[], bytes));
    }
    let (length, rest) = bytes.split_first_chunk().ok_or("a page is cut")?;
    split(rest, u32::from_le_bytes(*length).into())
}

fn levels(bytes: &[u8], most: u32, entries: usize) -> Result<Vec<u32>, String> {
    if most == 0 {
        return Ok(vec![0; entries]);
    }
    let levels = decode(bytes, width_of(most), entries);
    levels.map_err(|(what, at)| format!("{what} (byte {at} of the levels)"))
}

/// The bytes of a page before they were packed.
fn unpacked(packed: &[u8], plain_bytes: u64, codec: i64) -> Result<Vec<u8>, String> {
    let limit = plain_bytes as usize;
    let mut plain = Vec::new();
    match codec {
        NO_CODEC => plain.extend_from_slice(packed),
        GZIP => drop(
            flate2::read::MultiGzDecoder::new(packed)
                .take(plain_bytes + 1)
                .read_to_end(&mut plain)
                .map_err(|e| format!("a page cannot be unpacked: {e}"))?,
        ),
        ZSTD if limit == 0 => {}
        ZSTD => {
            plain = zstd::bulk::decompress(packed, limit)
                .map_err(|e| format!("a page cannot be unpacked: {e}"))?;
        }
        _ => {
            return Err(format!(
                "it is compressed in a way (number {codec}) that is not read; zstd and gzip are"
            ));
        }
    }
    if plain.len() != limit {
        return Err(format!("a page has {} bytes, not the {limit} of its header", plain.len()));
    }
    Ok(plain)
}
