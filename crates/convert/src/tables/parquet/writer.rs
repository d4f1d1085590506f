//! A Parquet file: row groups as they are written, and the footer that describes them.

use std::io::{self, Write};

use super::super::batch::{Batch, Column, Leaf, Nested, NestedKind, TableFacts, TableWriter, Values};
use super::pages::{Chunk, PLAIN, RLE, RLE_DICTIONARY, chunk};
use super::thrift::Struct;

const MAGIC: &[u8] = b"PAR1";
const ZSTD: i32 = 6;

/// How often there is a value.
#[derive(Clone, Copy)]
enum Repetition {
    Required = 0,
    Optional = 1,
    Repeated = 2,
}

/// What old readers look for in place of a logical type.
mod converted {
    pub(super) const UTF8: i32 = 0;
    pub(super) const MAP: i32 = 1;
    pub(super) const LIST: i32 = 3;
    pub(super) const TIMESTAMP_MICROS: i32 = 10;
}

/// A file on its way.
pub(crate) struct ParquetWriter<W> {
    out: W,
    offset: u64,
    facts: TableFacts,
    schema: Vec<Struct>,
    /// Columns of values, those of nested columns, too.
    leaves: usize,
    groups: Vec<Struct>,
    rows: usize,
}

impl<W: Write> ParquetWriter<W> {
    /// Begins one.
    ///
    /// # Errors
    /// Those of the output.
    pub(crate) fn new(mut out: W, facts: TableFacts) -> io::Result<ParquetWriter<W>> {
        out.write_all(MAGIC)?;
        let offset = MAGIC.len() as u64;
        Ok(ParquetWriter { out, offset, facts, schema: Vec::new(), leaves: 0, groups: Vec::new(), rows: 0 })
    }

    /// Writes a column; its header.
    fn column(&mut self, rows: usize, leaf: &Leaf, nested: Option<&Nested>) -> io::Result<(Struct, Chunk)> {
        let written = chunk(rows, leaf, nested)?;
        let path = match nested {
            None => vec![leaf.name],
            Some(Nested { name, kind: NestedKind::Records, .. }) => vec![name, "list", "element", leaf.name],
            Some(Nested { name, kind: NestedKind::Map, .. }) => vec![name, "key_value", leaf.name],
        };
        let values = if written.has_dictionary { RLE_DICTIONARY } else { PLAIN };
        let data_at = self.offset + written.data_offset as u64;
        let mut facts = Struct::default()
            .i32(1, physical(&leaf.values))
            .numbers(2, &[values, RLE])
            .texts(3, &path)
            .i32(4, ZSTD)
            .i64(5, written.entries as i64)
            .i64(6, written.plain_bytes as i64)
            .i64(7, written.bytes.len() as i64)
            .i64(9, data_at as i64);
        if written.has_dictionary {
            facts = facts.i64(11, self.offset as i64);
        }
        let facts = facts.of(12, written.statistics());
        let column = Struct::default().i64(2, self.offset as i64).of(3, facts);
        self.out.write_all(&written.bytes)?;
        self.offset += written.bytes.len() as u64;
        Ok((column, written))
    }
}

impl<W: Write> TableWriter for ParquetWriter<W> {
    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        if self.schema.is_empty() {
            self.schema = schema(self.facts.name, &batch.columns);
            self.leaves = batch.columns.iter().map(|column| leaves(column).0.len()).sum();
        }
        if batch.rows == 0 {
            return Ok(());
        }
        let begin = self.offset;
        let (mut columns, mut plain_bytes) = (Vec::new(), 0);
        for column in &batch.columns {
            let (leaves, nested) = leaves(column);
            for leaf in leaves {
                let (header, written) = self.column(batch.rows, leaf, nested)?;
                columns.push(header);
                plain_bytes += written.plain_bytes;
            }
        }
        let sorted = self.facts.sorted_by.iter();
        let sorted = sorted.map(|at| Struct::default().i32(1, *at as i32).bool(2, false).bool(3, false));
        let group = Struct::default()
            .list(1, columns)
            .i64(2, plain_bytes as i64)
            .i64(3, batch.rows as i64)
            .list(4, sorted)
            .i64(5, begin as i64)
            .i64(6, (self.offset - begin) as i64);
        self.groups.push(group);
        self.rows += batch.rows;
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        let text = |(name, value): &(&str, String)| {
            Struct::default().bytes(1, name.as_bytes()).bytes(2, value.as_bytes())
        };
        let by = format!("heapscribe version {}", env!("CARGO_PKG_VERSION"));
        let footer = Struct::default()
            .i32(1, 1)
            .list(2, std::mem::take(&mut self.schema))
            .i64(3, self.rows as i64)
            .list(4, std::mem::take(&mut self.groups))
            .list(5, self.facts.facts.iter().map(text))
            .bytes(6, by.as_bytes())
            .list(7, (0..self.leaves).map(|_| Struct::default().of(1, Struct::default())));
        let footer = footer.finish();
        self.out.write_all(&footer)?;
        self.out.write_all(&(footer.len() as u32).to_le_bytes())?;
        self.out.write_all(MAGIC)?;
        self.out.flush()
    }
}

/// The columns of values of a column, and what they are nested in.
fn leaves(column: &Column) -> (&[Leaf], Option<&Nested>) {
    match column {
        Column::Flat(leaf) => (std::slice::from_ref(leaf), None),
        Column::Nested(nested) => (&nested.fields, Some(nested)),
    }
}

/// The elements of the schema, each before what is in it.
fn schema(name: &str, columns: &[Column]) -> Vec<Struct> {
    let mut elements = vec![Struct::default().bytes(4, name.as_bytes()).i32(5, columns.len() as i32)];
    for column in columns {
        match column {
            Column::Flat(of) => elements.push(leaf(of)),
            Column::Nested(nested) => {
                let (outer, entry, fields) = (nested.name, &nested.fields, nested.fields.len());
                match nested.kind {
                    NestedKind::Records => {
                        elements.push(group(outer, Repetition::Required, 1, Some((converted::LIST, 3))));
                        elements.push(group("list", Repetition::Repeated, 1, None));
                        elements.push(group("element", Repetition::Required, fields, None));
                    }
                    NestedKind::Map => {
                        elements.push(group(outer, Repetition::Required, 1, Some((converted::MAP, 2))));
                        elements.push(group("key_value", Repetition::Repeated, fields, None));
                    }
                }
                elements.extend(entry.iter().map(leaf));
            }
        }
    }
    elements
}

/// A group; of a list or a map with its old and its logical type.
fn group(name: &str, repetition: Repetition, children: usize, kind: Option<(i32, i16)>) -> Struct {
    let group = Struct::default().i32(3, repetition as i32).bytes(4, name.as_bytes()).i32(5, children as i32);
    match kind {
        None => group,
        Some((old, logical)) => group.i32(6, old).of(10, Struct::default().of(logical, Struct::default())),
    }
}

fn leaf(leaf: &Leaf) -> Struct {
    let repetition = if leaf.known.is_some() { Repetition::Optional } else { Repetition::Required };
    let element = Struct::default()
        .i32(1, physical(&leaf.values))
        .i32(3, repetition as i32)
        .bytes(4, leaf.name.as_bytes());
    let none = Struct::default;
    match leaf.values {
        Values::Text(_) => element.i32(6, converted::UTF8).of(10, none().of(1, none())),
        Values::TimeUs(_) => {
            let unit = none().of(2, none());
            element.i32(6, converted::TIMESTAMP_MICROS).of(10, none().of(8, none().bool(1, true).of(2, unit)))
        }
        _ => element,
    }
}

fn physical(values: &Values) -> i32 {
    match values {
        Values::I32(_) => 1,
        Values::I64(_) | Values::TimeUs(_) => 2,
        Values::F64(_) => 5,
        Values::Text(_) => 6,
    }
}
