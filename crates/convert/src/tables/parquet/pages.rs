//! The pages of one column of a row group: a dictionary where values repeat, and levels of nesting before the values.
//!
//! ```text
//!   chunk   [dictionary page] data page...                  each a header and compressed bytes
//!   page    [rep levels] [def levels] values                levels with their length before them
//!   values  width, places in the dictionary   or   plain    a text has its length before it
//! ```

use std::cmp::Ordering;
use std::collections::HashMap;
use std::io;
use std::ops::Range;

use super::super::batch::{Leaf, Nested, Values};
use super::hybrid::{encode, width_of};
use super::thrift::Struct;

/// Rows of a page: what a reader unpacks at once.
const PAGE_ROWS: usize = 16 << 10;
/// zstd's default.
const ZSTD_LEVEL: i32 = 3;
/// Longer texts are left out of the statistics, where nobody looks for them.
const STATISTIC_BYTES_MAX: usize = 64;

pub(super) const PLAIN: i32 = 0;
pub(super) const RLE: i32 = 3;
pub(super) const RLE_DICTIONARY: i32 = 8;
pub(super) const DATA_PAGE: i32 = 0;
pub(super) const DICTIONARY_PAGE: i32 = 2;

/// The bytes of a column in a row group, and what its header says.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    pub(super) has_dictionary: bool,
    /// Where the first data page begins in `bytes`.
    pub(super) data_offset: usize,
    /// Bytes before compression, with headers.
    pub(super) plain_bytes: usize,
    /// Values, with those that are not known and rows without entries.
    pub(super) entries: usize,
    unknown: usize,
    least: Vec<u8>,
    most: Vec<u8>,
}

/// The entries of some rows: how deep each is, and which have values.
#[derive(Default)]
struct Levels {
    repeated: Vec<u32>,
    defined: Vec<u32>,
    present: Vec<usize>,
}

/// Writes a column: one of its own, or a field of a nested one.
pub(super) fn chunk(rows: usize, leaf: &Leaf, nested: Option<&Nested>) -> io::Result<Chunk> {
    let starts = nested.map(starts);
    let whole = levels(0..rows, leaf, nested, starts.as_deref());
    let mut chunk = Chunk { entries: whole.defined.len(), ..Chunk::default() };
    chunk.unknown = whole.defined.len() - whole.present.len();
    chunk.set_statistics(&leaf.values, &whole.present);
    let dictionary = Dictionary::of(&leaf.values, &whole.present);
    if let Some(dictionary) = &dictionary {
        chunk.has_dictionary = true;
        let head = Struct::default().i32(1, dictionary.distinct as i32).i32(2, PLAIN);
        chunk.page(DICTIONARY_PAGE, 7, head, &dictionary.plain)?;
    }
    chunk.data_offset = chunk.bytes.len();
    let mut values = 0;
    for from in (0..rows).step_by(PAGE_ROWS) {
        let page = levels(from..rows.min(from + PAGE_ROWS), leaf, nested, starts.as_deref());
        let encoding = if dictionary.is_some() { RLE_DICTIONARY } else { PLAIN };
        let head =
            Struct::default().i32(1, page.defined.len() as i32).i32(2, encoding).i32(3, RLE).i32(4, RLE);
        let mut body = Vec::new();
        if nested.is_some() {
            put_levels(&page.repeated, 1, &mut body);
        }
        let most = max_defined(leaf, nested);
        if most > 0 {
            put_levels(&page.defined, most, &mut body);
        }
        match &dictionary {
            Some(dictionary) => {
                let width = width_of(dictionary.distinct.saturating_sub(1));
                body.push(width as u8);
                encode(&dictionary.places[values..values + page.present.len()], width, &mut body);
            }
            None => page.present.iter().for_each(|entry| put_plain(&leaf.values, *entry, &mut body)),
        }
        values += page.present.len();
        chunk.page(DATA_PAGE, 5, head, &body)?;
    }
    Ok(chunk)
}

/// The first entry of each row.
fn starts(nested: &Nested) -> Vec<usize> {
    let mut end = 0;
    let begin = |length: &u32| {
        end += *length as usize;
        end - *length as usize
    };
    nested.lengths.iter().map(begin).collect()
}

fn levels(rows: Range<usize>, leaf: &Leaf, nested: Option<&Nested>, starts: Option<&[usize]>) -> Levels {
    let mut levels = Levels::default();
    let most = max_defined(leaf, nested);
    let entry = |number: usize, repeated: u32, levels: &mut Levels| {
        let is_known = leaf.is_known(number);
        levels.repeated.push(repeated);
        levels.defined.push(most - u32::from(!is_known));
        levels.present.extend(is_known.then_some(number));
    };
    let Some((nested, starts)) = nested.zip(starts) else {
        rows.for_each(|row| entry(row, 0, &mut levels));
        return levels;
    };
    for row in rows {
        for n in 0..nested.lengths[row] as usize {
            entry(starts[row] + n, u32::from(n > 0), &mut levels);
        }
        if nested.lengths[row] == 0 {
            levels.repeated.push(0);
            levels.defined.push(0);
        }
    }
    levels
}

/// The level of an entry that is there with its value.
fn max_defined(leaf: &Leaf, nested: Option<&Nested>) -> u32 {
    u32::from(nested.is_some()) + u32::from(leaf.known.is_some())
}

fn put_levels(levels: &[u32], most: u32, out: &mut Vec<u8>) {
    let mut encoded = Vec::new();
    encode(levels, width_of(most), &mut encoded);
    out.extend_from_slice(&(encoded.len() as u32).to_le_bytes());
    out.extend(encoded);
}

fn put_plain(values: &Values, entry: usize, out: &mut Vec<u8>) {
    if let Values::Text(texts) = values {
        out.extend_from_slice(&(texts.get(entry).len() as u32).to_le_bytes());
    }
    put_bare(values, entry, out);
}

/// A value without its length, as statistics have it.
fn put_bare(values: &Values, entry: usize, out: &mut Vec<u8>) {
    match values {
        Values::I32(values) => out.extend_from_slice(&values[entry].to_le_bytes()),
        Values::I64(values) | Values::TimeUs(values) => out.extend_from_slice(&values[entry].to_le_bytes()),
        Values::F64(values) => out.extend_from_slice(&values[entry].to_le_bytes()),
        Values::Text(texts) => out.extend_from_slice(texts.get(entry)),
    }
}

fn order(values: &Values, a: usize, b: usize) -> Ordering {
    match values {
        Values::I32(values) => values[a].cmp(&values[b]),
        Values::I64(values) | Values::TimeUs(values) => values[a].cmp(&values[b]),
        Values::F64(values) => values[a].total_cmp(&values[b]),
        Values::Text(texts) => texts.get(a).cmp(texts.get(b)),
    }
}

/// Different values, and the place of each entry's among them.
struct Dictionary {
    plain: Vec<u8>,
    distinct: u32,
    places: Vec<u32>,
}

impl Dictionary {
    /// None where it would not pay.
    fn of(values: &Values, present: &[usize]) -> Option<Dictionary> {
        let mut numbers: HashMap<Vec<u8>, u32> = HashMap::new();
        let (mut plain, mut places, mut value) = (Vec::new(), Vec::with_capacity(present.len()), Vec::new());
        for entry in present {
            value.clear();
            put_plain(values, *entry, &mut value);
            let next = numbers.len() as u32;
            let number = match numbers.get(&value) {
                Some(known) => *known,
                None => {
                    plain.extend_from_slice(&value);
                    *numbers.entry(value.clone()).or_insert(next)
                }
            };
            places.push(number);
            if numbers.len() * 2 > present.len() + 1 {
                return None;
            }
        }
        Some(Dictionary { plain, distinct: numbers.len() as u32, places })
    }
}

impl Chunk {
    fn page(&mut self, kind: i32, field: i16, head: Struct, body: &[u8]) -> io::Result<()> {
        let packed = zstd::bulk::compress(body, ZSTD_LEVEL)?;
        let header = Struct::default()
            .i32(1, kind)
            .i32(2, body.len() as i32)
            .i32(3, packed.len() as i32)
            .of(field, head)
            .finish();
        self.plain_bytes += header.len() + body.len();
        self.bytes.extend(header);
        self.bytes.extend(packed);
        Ok(())
    }

    fn set_statistics(&mut self, values: &Values, present: &[usize]) {
        let least = present.iter().min_by(|a, b| order(values, **a, **b));
        let most = present.iter().max_by(|a, b| order(values, **a, **b));
        least.into_iter().for_each(|entry| put_bare(values, *entry, &mut self.least));
        most.into_iter().for_each(|entry| put_bare(values, *entry, &mut self.most));
    }

    /// What readers skip row groups by.
    pub(super) fn statistics(&self) -> Struct {
        let statistics = Struct::default().i64(3, self.unknown as i64);
        let is_short = self.least.len().max(self.most.len()) <= STATISTIC_BYTES_MAX;
        if !is_short || self.unknown == self.entries {
            return statistics;
        }
        statistics.bytes(5, &self.most).bytes(6, &self.least)
    }
}
