//! A configuration for a log that was given none: AOS does not open a log without one. It has as many channels as the log,
//! by number, and the node if there is one; it knows no schemas, so that data are bytes.
//!
//! ```text
//!   root | table: channels, nodes | vector of channels | vtable | each: table, name, type, source node | nodes likewise
//! ```

/// The type of each channel.
const TYPE: &str = "heapscribe.Unknown";
/// Fields of `aos.Configuration`, of its channels and of its nodes, by the schema's numbers.
pub(crate) const CHANNELS: usize = 0;
const NODES: usize = 2;
pub(crate) const NAME: usize = 0;
pub(crate) const TYPE_OF_CHANNEL: usize = 1;
const MAX_SIZE: usize = 3;
const SOURCE_NODE: usize = 6;

/// A field of a table: a number, or a text that is written behind the table.
enum Value<'a> {
    Number(u32),
    Text(&'a str),
    /// Tables.
    Vector(Vec<Vec<(usize, Value<'a>)>>),
}

/// A finished flatbuffer without a length in front.
#[must_use]
pub fn configuration(channels: usize, data_bytes_max: usize, node: Option<&str>) -> Vec<u8> {
    let names: Vec<String> = (0..channels).map(|number| format!("/channel{number}")).collect();
    let max_size = u32::try_from(data_bytes_max).unwrap_or(u32::MAX);
    let channel = |name| {
        let known = vec![
            (NAME, Value::Text(name)),
            (TYPE_OF_CHANNEL, Value::Text(TYPE)),
            (MAX_SIZE, Value::Number(max_size)),
        ];
        known.into_iter().chain(node.map(|node| (SOURCE_NODE, Value::Text(node)))).collect()
    };
    let mut fields = vec![(CHANNELS, Value::Vector(names.iter().map(|name| channel(name)).collect()))];
    fields.extend(node.map(|node| (NODES, Value::Vector(vec![vec![(NAME, Value::Text(node))]]))));
    let mut out = vec![0; 4];
    let table_at = table(&mut out, &fields);
    out[..4].copy_from_slice(&u32_of(table_at));
    out
}

/// Writes a vtable, its table, and what the table points to; where the table is.
fn table(out: &mut Vec<u8>, fields: &[(usize, Value<'_>)]) -> usize {
    let count = fields.last().map_or(0, |(number, _)| number + 1);
    let (vtable_bytes, table_bytes) = (4 + 2 * count, 4 + 4 * fields.len());
    // The table behind it begins at a multiple of four.
    out.resize(out.len().next_multiple_of(4) + vtable_bytes % 4, 0);
    let vtable_at = out.len();
    let mut entries = vec![vtable_bytes as u16, table_bytes as u16];
    entries.extend((0..count).map(|number| {
        let place = fields.iter().position(|(other, _)| *other == number);
        place.map_or(0, |place| (4 + 4 * place) as u16)
    }));
    entries.iter().for_each(|entry| out.extend_from_slice(&entry.to_le_bytes()));
    let table_at = out.len();
    out.extend_from_slice(&u32_of(table_at - vtable_at));
    out.resize(table_at + table_bytes, 0);
    for (place, (_, value)) in fields.iter().enumerate() {
        let at = table_at + 4 + 4 * place;
        let bytes = match value {
            Value::Number(number) => number.to_le_bytes(),
            Value::Text(of) => u32_of(text(out, of) - at),
            Value::Vector(tables) => u32_of(vector(out, tables) - at),
        };
        out[at..at + 4].copy_from_slice(&bytes);
    }
    table_at
}

fn text(out: &mut Vec<u8>, text: &str) -> usize {
    out.resize(out.len().next_multiple_of(4), 0);
    let at = out.len();
    out.extend_from_slice(&u32_of(text.len()));
    out.extend_from_slice(text.as_bytes());
    out.push(0);
    at
}

fn vector(out: &mut Vec<u8>, tables: &[Vec<(usize, Value<'_>)>]) -> usize {
    out.resize(out.len().next_multiple_of(4), 0);
    let at = out.len();
    out.extend_from_slice(&u32_of(tables.len()));
    out.resize(at + 4 + 4 * tables.len(), 0);
    for (number, fields) in tables.iter().enumerate() {
        let entry = at + 4 + 4 * number;
        let distance = u32_of(table(out, fields) - entry);
        out[entry..entry + 4].copy_from_slice(&distance);
    }
    at
}

/// A configuration has some KiB; one beyond 4 GiB is refused with the header that carries it.
fn u32_of(bytes: usize) -> [u8; 4] {
    (bytes as u32).to_le_bytes()
}
