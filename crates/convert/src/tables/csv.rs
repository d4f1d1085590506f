//! Tables as text with commas (RFC 4180): a line of names, then a line for each row. What is nested is JSON; a value
//! that is not known is empty.

use std::io::{self, Write};

use heapscribe_units::timestamp;
use serde_json::{Map, Value};

use super::batch::{Batch, Column, Leaf, Nested, NestedKind, TableWriter, Values};

/// A file on its way.
pub(super) struct CsvWriter<W> {
    out: W,
    has_names: bool,
}

impl<W: Write> CsvWriter<W> {
    /// Begins one.
    pub(super) fn new(out: W) -> CsvWriter<W> {
        CsvWriter { out, has_names: false }
    }

    fn line(&mut self, cells: &[String]) -> io::Result<()> {
        writeln!(self.out, "{}\r", cells.join(","))
    }
}

impl<W: Write> TableWriter for CsvWriter<W> {
    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        if !self.has_names {
            self.has_names = true;
            let name = |column: &Column| match column {
                Column::Flat(leaf) => leaf.name.to_owned(),
                Column::Nested(nested) => nested.name.to_owned(),
            };
            self.line(&batch.columns.iter().map(name).collect::<Vec<_>>())?;
        }
        let mut entries = vec![0; batch.columns.len()];
        for row in 0..batch.rows {
            let mut cells = Vec::with_capacity(batch.columns.len());
            for (column, entry) in batch.columns.iter().zip(&mut entries) {
                cells.push(match column {
                    Column::Flat(leaf) => cell(leaf, row),
                    Column::Nested(nested) => {
                        let begin = *entry;
                        *entry += nested.lengths[row] as usize;
                        quoted(&json(nested, begin..*entry))
                    }
                });
            }
            self.line(&cells)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn cell(leaf: &Leaf, entry: usize) -> String {
    if !leaf.is_known(entry) {
        return String::new();
    }
    match &leaf.values {
        Values::I32(values) => values[entry].to_string(),
        Values::I64(values) => values[entry].to_string(),
        Values::TimeUs(values) => timestamp(u64::try_from(values[entry]).unwrap_or(0)),
        Values::F64(values) => values[entry].to_string(),
        Values::Text(texts) => quoted(&String::from_utf8_lossy(texts.get(entry))),
    }
}

/// In quotes where a reader needs them; an empty text has them, so that it is not one that is not known.
fn quoted(text: &str) -> String {
    if !text.is_empty() && !text.contains(['"', ',', '\n', '\r']) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn json(nested: &Nested, entries: std::ops::Range<usize>) -> String {
    let value = |leaf: &Leaf, entry: usize| match &leaf.values {
        _ if !leaf.is_known(entry) => Value::Null,
        Values::I32(values) => values[entry].into(),
        Values::I64(values) | Values::TimeUs(values) => values[entry].into(),
        Values::F64(values) => values[entry].into(),
        Values::Text(texts) => String::from_utf8_lossy(texts.get(entry)).into(),
    };
    let text = |leaf: &Leaf, entry| String::from_utf8_lossy(texts_of(leaf, entry)).into_owned();
    let of: Value = match nested.kind {
        NestedKind::Map => {
            let pair = |entry| (text(&nested.fields[0], entry), value(&nested.fields[1], entry));
            entries.map(pair).collect::<Map<_, _>>().into()
        }
        NestedKind::Records => {
            let record = |entry| -> Value {
                let fields = nested.fields.iter();
                fields.map(|leaf| (leaf.name.to_owned(), value(leaf, entry))).collect::<Map<_, _>>().into()
            };
            entries.map(record).collect::<Vec<_>>().into()
        }
    };
    of.to_string()
}

fn texts_of(leaf: &Leaf, entry: usize) -> &[u8] {
    match &leaf.values {
        Values::Text(texts) => texts.get(entry),
        _ => &[],
    }
}
