//! Rows of a table, column by column: what writers of Parquet, Arrow and CSV have in common. A column is flat, or has a
//! list of entries in each row, whose fields are columns of their own.

use std::io;

/// Texts, one after the other.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    /// Adds one.
    pub fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.ends.push(self.bytes.len());
    }

    /// One of them; they are there by their numbers from 0.
    pub fn get(&self, number: usize) -> &[u8] {
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[begin..self.ends[number]]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

/// Values of one type.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// Numbers of 32 bits.
    I32(Vec<i32>),
    /// Numbers of 64 bits.
    I64(Vec<i64>),
    /// Moments, µs since 1970.
    TimeUs(Vec<i64>),
    /// Numbers with fractions.
    F64(Vec<f64>),
    /// UTF-8.
    Text(Texts),
}

impl Values {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::I32(values) => values.len(),
            Values::I64(values) | Values::TimeUs(values) => values.len(),
            Values::F64(values) => values.len(),
            Values::Text(texts) => texts.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A column of values, some of which may not be known.
#[derive(Clone, PartialEq, Debug)]
pub struct Leaf {
    /// Its name.
    pub name: &'static str,
    /// A value for each entry; where none is known, whatever stands there.
    pub values: Values,
    /// Whether each value is known; none for a column whose values all are.
    pub known: Option<Vec<bool>>,
}

impl Leaf {
    /// A column whose values are all known.
    pub fn new(name: &'static str, values: Values) -> Leaf {
        Leaf { name, values, known: None }
    }

    /// Texts, of which some may not be known.
    pub fn optional_texts<'a>(name: &'static str, texts: impl IntoIterator<Item = Option<&'a str>>) -> Leaf {
        let (mut values, mut known) = (Texts::default(), Vec::new());
        for text in texts {
            values.push(text.unwrap_or_default());
            known.push(text.is_some());
        }
        Leaf { name, values: Values::Text(values), known: Some(known) }
    }

    /// Whether the value of an entry is known.
    pub fn is_known(&self, entry: usize) -> bool {
        self.known.as_ref().is_none_or(|known| known[entry])
    }
}

/// A column.
#[derive(Clone, PartialEq, Debug)]
pub enum Column {
    /// A value in each row.
    Flat(Leaf),
    /// A list in each row.
    Nested(Nested),
}

/// What the entries of a nested column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NestedKind {
    /// A record of all fields.
    Records,
    /// A text for a text: `key` and `value`.
    Map,
}

/// A column with a list in each row.
#[derive(Clone, PartialEq, Debug)]
pub struct Nested {
    /// Its name.
    pub name: &'static str,
    /// What its entries are.
    pub kind: NestedKind,
    /// How many entries each row has.
    pub lengths: Vec<u32>,
    /// The fields of the entries, all rows one after the other.
    pub fields: Vec<Leaf>,
}

/// Rows of a table.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Batch {
    /// How many rows.
    pub rows: usize,
    /// Their columns; batches of one table have the same.
    pub columns: Vec<Column>,
}

/// What is said of a table as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TableFacts {
    /// Its name.
    pub name: &'static str,
    /// Columns that its rows are sorted by, by their place.
    pub sorted_by: Vec<usize>,
    /// Texts by their names.
    pub facts: Vec<(&'static str, String)>,
}

/// Writes a table to a file.
pub trait TableWriter {
    /// Writes some rows; the first call says which columns there are, and may have no rows.
    ///
    /// # Errors
    /// Those of the output.
    fn write(&mut self, batch: &Batch) -> io::Result<()>;

    /// Ends the file.
    ///
    /// # Errors
    /// Those of the output.
    fn finish(&mut self) -> io::Result<()>;
}
