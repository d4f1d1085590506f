//! The footer of a Parquet file: which columns it has, and where the bytes of each are.

use super::Malformed;
use super::fields::{Reader, STRUCT};

const MAGIC: &[u8] = b"PAR1";
/// The length of the footer and the magic behind it.
const TAIL: usize = 8;
const REQUIRED: i64 = 0;
const REPEATED: i64 = 2;
/// How deep columns may be nested, how many there may be, and how long their names.
const NESTED_MAX: usize = 8;
const COLUMNS_MAX: usize = 4096;
const NAME_BYTES_MAX: usize = 256;

/// A column of values, and how deep it is nested.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::tables) struct ColumnKind {
    /// Names from the outermost to its own.
    pub(in crate::tables) path: Vec<String>,
    /// The type of its bytes, as the format numbers them.
    pub(super) physical: i64,
    /// The level of a value that is there.
    pub(super) max_defined: u32,
    /// The level of an entry of the innermost list, of which the value may be unknown.
    pub(super) defined_entry: u32,
    /// In how many lists it lies.
    pub(super) max_repeated: u32,
}

/// The bytes of a column in a row group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ChunkPlace {
    pub(super) codec: i64,
    pub(super) begin: u64,
    pub(super) length: u64,
    pub(super) entries: u64,
}

/// Rows that are together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::tables) struct RowGroup {
    pub(super) chunks: Vec<ChunkPlace>,
}

impl RowGroup {
    /// What is wrong with it as a whole.
    pub(in crate::tables) fn wrong(&self, what: &str) -> Malformed {
        Malformed { what: what.to_owned(), offset: self.chunks.first().map_or(0, |chunk| chunk.begin) }
    }
}

/// A file that was opened.
pub(in crate::tables) struct ParquetFile<'a> {
    pub(super) bytes: &'a [u8],
    pub(in crate::tables) columns: Vec<ColumnKind>,
    pub(in crate::tables) groups: Vec<RowGroup>,
    facts: Vec<(String, String)>,
}

/// An element of the schema.
#[derive(Default)]
struct Element {
    physical: Option<i64>,
    repetition: i64,
    name: String,
    children: u64,
}

impl<'a> ParquetFile<'a> {
    /// Reads the footer.
    pub(in crate::tables) fn open(bytes: &'a [u8]) -> Result<ParquetFile<'a>, Malformed> {
        let wrong = |what: &str, offset: usize| Malformed { what: what.to_owned(), offset: offset as u64 };
        if !bytes.starts_with(MAGIC) {
            return Err(wrong("it does not begin as a Parquet file does", 0));
        }
        let tail = bytes.len().checked_sub(TAIL).filter(|at| *at >= MAGIC.len());
        let tail = tail.ok_or_else(|| wrong("the file is cut", bytes.len()))?;
        let length = bytes[tail..].strip_suffix(MAGIC).and_then(|length| length.try_into().ok());
        let length = length.map(u32::from_le_bytes).ok_or_else(|| wrong("the file is cut", bytes.len()))?;
        let begin = usize::try_from(length).ok().and_then(|length| tail.checked_sub(length));
        let begin = begin.filter(|begin| *begin >= MAGIC.len());
        let begin = begin.ok_or_else(|| wrong("the footer is longer than the file", tail))?;
        let mut file = ParquetFile { bytes, columns: Vec::new(), groups: Vec::new(), facts: Vec::new() };
        let mut elements = Vec::new();
        Reader::new(&bytes[begin..tail], begin as u64).fields(|reader, field| {
            match field.number {
                2 => elements = list(reader, element)?,
                4 => file.groups = list(reader, row_group)?,
                5 => file.facts = list(reader, fact)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        file.columns = columns(&elements).map_err(|what| wrong(what, begin))?;
        if file.groups.iter().any(|group| group.chunks.len() != file.columns.len()) {
            return Err(wrong("a row group has not the columns of the schema", begin));
        }
        Ok(file)
    }

    /// A text that is said of the file as a whole.
    pub(in crate::tables) fn fact(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The entries of a list of structs.
fn list<T>(
    reader: &mut Reader<'_>,
    each: impl Fn(&mut Reader<'_>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let count = reader.list(STRUCT)?;
    (0..count).map(|_| each(reader)).collect()
}

fn text(reader: &mut Reader<'_>) -> Result<String, Malformed> {
    Ok(String::from_utf8_lossy(reader.binary()?).into_owned())
}

fn element(reader: &mut Reader<'_>) -> Result<Element, Malformed> {
    let mut element = Element::default();
    reader.fields(|reader, field| {
        match field.number {
            1 => element.physical = Some(reader.number()?),
            3 => element.repetition = reader.number()?,
            4 => element.name = text(reader)?,
            5 => element.children = reader.length()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(element)
}

fn row_group(reader: &mut Reader<'_>) -> Result<RowGroup, Malformed> {
    let mut group = RowGroup::default();
    reader.fields(|reader, field| {
        match field.number {
            1 => group.chunks = list(reader, column_chunk)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(group)
}

fn column_chunk(reader: &mut Reader<'_>) -> Result<ChunkPlace, Malformed> {
    let mut place = ChunkPlace::default();
    let mut dictionary = None;
    reader.fields(|reader, field| {
        if field.number != 3 {
            return Ok(false);
        }
        reader.fields(|reader, field| {
            match field.number {
                4 => place.codec = reader.number()?,
                5 => place.entries = reader.length()?,
                7 => place.length = reader.length()?,
                9 => place.begin = reader.length()?,
                11 => dictionary = Some(reader.length()?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(true)
    })?;
    // The dictionary comes first; some writers say 0 where there is none.
    place.begin = dictionary.filter(|at| *at > 0).map_or(place.begin, |at| at.min(place.begin));
    Ok(place)
}

fn fact(reader: &mut Reader<'_>) -> Result<(String, String), Malformed> {
    let mut fact = (String::new(), String::new());
    reader.fields(|reader, field| {
        match field.number {
            1 => fact.0 = text(reader)?,
            2 => fact.1 = text(reader)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(fact)
}

/// A group whose elements come next: how many are left, and where it lies.
struct Open {
    left: u64,
    path: Vec<String>,
    levels: (u32, u32, u32),
}

/// The columns of values of a schema, in its order.
fn columns(elements: &[Element]) -> Result<Vec<ColumnKind>, &'static str> {
    let (root, rest) = elements.split_first().ok_or("there is no schema")?;
    let mut open = vec![Open { left: root.children, path: Vec::new(), levels: (0, 0, 0) }];
    let mut columns = Vec::new();
    for element in rest {
        if columns.len() == COLUMNS_MAX || element.name.len() > NAME_BYTES_MAX {
            return Err("it has too many columns, or names that are too long");
        }
        while open.last().is_some_and(|group| group.left == 0) {
            open.pop();
        }
        let group = open.last_mut().ok_or("the schema has an element that is in no group")?;
        group.left -= 1;
        let mut path = group.path.clone();
        path.push(element.name.clone());
        let (mut defined, mut entry, mut repeated) = group.levels;
        defined += u32::from(element.repetition != REQUIRED);
        if element.repetition == REPEATED {
            repeated += 1;
            entry = defined;
        }
        match element.physical {
            Some(physical) => columns.push(ColumnKind {
                path,
                physical,
                max_defined: defined,
                defined_entry: entry,
                max_repeated: repeated,
            }),
            None if open.len() > NESTED_MAX => return Err("columns are nested too deep"),
            None => open.push(Open { left: element.children, path, levels: (defined, entry, repeated) }),
        }
    }
    Ok(columns)
}
