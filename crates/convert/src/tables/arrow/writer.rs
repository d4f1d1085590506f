//! An Arrow file: record batches as they are written, and the footer that says where each is.

use std::io::{self, Write};

use super::super::batch::{Batch, Column, Leaf, TableFacts, TableWriter, Values};
use super::flatbuffer::{Field, Table};
use super::schema::schema;

const MAGIC: &[u8] = b"ARROW1";
const CONTINUES: [u8; 4] = [0xff; 4];
/// Version 5 of the metadata.
const VERSION: i16 = 4;
const SCHEMA: u8 = 1;
const RECORD_BATCH: u8 = 3;

/// A file on its way.
pub(crate) struct ArrowWriter<W> {
    out: W,
    offset: usize,
    facts: TableFacts,
    columns: Vec<Column>,
    /// Where each record batch is: offset, bytes of the header, bytes of the body.
    blocks: Vec<[usize; 3]>,
}

/// The buffers of a record batch.
#[derive(Default)]
struct Body {
    nodes: Vec<u8>,
    node_count: usize,
    buffers: Vec<u8>,
    buffer_count: usize,
    bytes: Vec<u8>,
}

impl<W: Write> ArrowWriter<W> {
    /// Begins one.
    ///
    /// # Errors
    /// Those of the output.
    pub(crate) fn new(mut out: W, facts: TableFacts) -> io::Result<ArrowWriter<W>> {
        out.write_all(MAGIC)?;
        out.write_all(&[0, 0])?;
        Ok(ArrowWriter { out, offset: 8, facts, columns: Vec::new(), blocks: Vec::new() })
    }

    /// Writes a message; how many bytes its header has with what is before it.
    fn message(&mut self, kind: u8, header: Table, body: &[u8]) -> io::Result<usize> {
        let message = Table::default()
            .with(0, Field::Short(VERSION))
            .with(1, Field::Byte(kind))
            .with(2, Field::Of(header))
            .with(3, Field::Long(body.len() as i64))
            .finish();
        self.out.write_all(&CONTINUES)?;
        self.out.write_all(&(message.len() as i32).to_le_bytes())?;
        self.out.write_all(&message)?;
        self.out.write_all(body)?;
        let header_bytes = 8 + message.len();
        self.offset += header_bytes + body.len();
        Ok(header_bytes)
    }
}

impl<W: Write> TableWriter for ArrowWriter<W> {
    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        if self.columns.is_empty() {
            self.columns = batch.columns.iter().map(without_values).collect();
            self.message(SCHEMA, schema(&self.facts, &self.columns), &[])?;
        }
        if batch.rows == 0 {
            return Ok(());
        }
        let mut body = Body::default();
        batch.columns.iter().for_each(|column| body.column(batch.rows, column));
        let header = Table::default()
            .with(0, Field::Long(batch.rows as i64))
            .with(1, Field::Structs(body.node_count, body.nodes))
            .with(2, Field::Structs(body.buffer_count, body.buffers));
        let begin = self.offset;
        let header_bytes = self.message(RECORD_BATCH, header, &body.bytes)?;
        self.blocks.push([begin, header_bytes, body.bytes.len()]);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.write_all(&CONTINUES)?;
        self.out.write_all(&[0; 4])?;
        let blocks = self.blocks.iter().flat_map(|block| block.map(|n| (n as u64).to_le_bytes()));
        let footer = Table::default()
            .with(0, Field::Short(VERSION))
            .with(1, Field::Of(schema(&self.facts, &self.columns)))
            .with(2, Field::Structs(0, Vec::new()))
            .with(3, Field::Structs(self.blocks.len(), blocks.flatten().collect()));
        let footer = footer.finish();
        self.out.write_all(&footer)?;
        self.out.write_all(&(footer.len() as i32).to_le_bytes())?;
        self.out.write_all(MAGIC)?;
        self.out.flush()
    }
}

/// A column's name and type.
fn without_values(column: &Column) -> Column {
    let mut column = column.clone();
    let clear = |leaf: &mut Leaf| {
        leaf.known.as_mut().into_iter().for_each(Vec::clear);
        match &mut leaf.values {
            Values::I32(values) => values.clear(),
            Values::I64(values) | Values::TimeUs(values) => values.clear(),
            Values::F64(values) => values.clear(),
            Values::Text(texts) => *texts = Default::default(),
        }
    };
    match &mut column {
        Column::Flat(leaf) => clear(leaf),
        Column::Nested(nested) => {
            nested.lengths.clear();
            nested.fields.iter_mut().for_each(clear);
        }
    }
    column
}

impl Body {
    fn column(&mut self, rows: usize, column: &Column) {
        let nested = match column {
            Column::Flat(leaf) => return self.leaf(leaf),
            Column::Nested(nested) => nested,
        };
        self.node(rows, None);
        self.offsets(nested.lengths.iter().map(|length| *length as usize));
        let entries = nested.lengths.iter().map(|length| *length as usize).sum();
        self.node(entries, None);
        nested.fields.iter().for_each(|leaf| self.leaf(leaf));
    }

    /// How many values there are, and which of them are known.
    fn node(&mut self, len: usize, known: Option<&[bool]>) {
        let unknown = known.map_or(0, |known| known.iter().filter(|known| !**known).count());
        for n in [len, unknown] {
            self.nodes.extend_from_slice(&(n as i64).to_le_bytes());
        }
        self.node_count += 1;
        let mut bits = Vec::new();
        if let Some(known) = known.filter(|_| unknown > 0) {
            let byte =
                |eight: &[bool]| eight.iter().rev().fold(0u8, |bits, known| bits << 1 | u8::from(*known));
            bits.extend(known.chunks(8).map(byte));
        }
        self.buffer(bits);
    }

    fn leaf(&mut self, leaf: &Leaf) {
        self.node(leaf.values.len(), leaf.known.as_deref());
        match &leaf.values {
            Values::I32(values) => self.buffer(values.iter().flat_map(|n| n.to_le_bytes())),
            Values::I64(values) | Values::TimeUs(values) => {
                self.buffer(values.iter().flat_map(|n| n.to_le_bytes()));
            }
            Values::F64(values) => self.buffer(values.iter().flat_map(|n| n.to_le_bytes())),
            Values::Text(texts) => {
                self.offsets((0..texts.len()).map(|n| texts.get(n).len()));
                self.buffer((0..texts.len()).flat_map(|n| texts.get(n).iter().copied()));
            }
        }
    }

    /// Where each of some lengths begins, and where the last ends.
    fn offsets(&mut self, lengths: impl Iterator<Item = usize>) {
        let mut end = 0;
        let ends = lengths.map(|length| {
            end += length;
            end
        });
        let offsets: Vec<usize> = std::iter::once(0).chain(ends).collect();
        self.buffer(offsets.iter().flat_map(|offset| (*offset as i32).to_le_bytes()));
    }

    fn buffer(&mut self, bytes: impl IntoIterator<Item = u8>) {
        let begin = self.bytes.len();
        self.bytes.extend(bytes);
        for n in [begin, self.bytes.len() - begin] {
            self.buffers.extend_from_slice(&(n as i64).to_le_bytes());
        }
        self.buffer_count += 1;
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
    }
}
