//! The columns of a table as Arrow's schema describes them.

use super::super::batch::{Column, Leaf, Nested, NestedKind, TableFacts, Values};
use super::flatbuffer::{Field, Table};

/// Arrow's numbers of types.
mod of_type {
    pub(super) const INT: u8 = 2;
    pub(super) const FLOAT: u8 = 3;
    pub(super) const UTF8: u8 = 5;
    pub(super) const TIMESTAMP: u8 = 10;
    pub(super) const LIST: u8 = 12;
    pub(super) const STRUCT: u8 = 13;
    pub(super) const MAP: u8 = 17;
}

const DOUBLE: i16 = 2;
const MICROSECOND: i16 = 2;

/// The schema, with what is said of the table as a whole.
pub(super) fn schema(facts: &TableFacts, columns: &[Column]) -> Table {
    let fields = columns.iter().map(|column| match column {
        Column::Flat(of) => leaf(of),
        Column::Nested(of) => nested(of),
    });
    let text = |(name, value): &(&str, String)| {
        Table::default().with(0, Field::Text((*name).to_owned())).with(1, Field::Text(value.clone()))
    };
    Table::default()
        .with(0, Field::Short(0))
        .with(1, Field::Tables(fields.collect()))
        .with(2, Field::Tables(facts.facts.iter().map(text).collect()))
}

fn field(name: &str, is_nullable: bool, kind: (u8, Table), children: Vec<Table>) -> Table {
    Table::default()
        .with(0, Field::Text(name.to_owned()))
        .with(1, Field::Byte(is_nullable.into()))
        .with(2, Field::Byte(kind.0))
        .with(3, Field::Of(kind.1))
        .with(5, Field::Tables(children))
}

fn leaf(leaf: &Leaf) -> Table {
    let int = |bits| Table::default().with(0, Field::Int(bits)).with(1, Field::Byte(1));
    let kind = match leaf.values {
        Values::I32(_) => (of_type::INT, int(32)),
        Values::I64(_) => (of_type::INT, int(64)),
        Values::F64(_) => (of_type::FLOAT, Table::default().with(0, Field::Short(DOUBLE))),
        Values::Text(_) => (of_type::UTF8, Table::default()),
        Values::TimeUs(_) => {
            let zone = Field::Text("UTC".to_owned());
            (of_type::TIMESTAMP, Table::default().with(0, Field::Short(MICROSECOND)).with(1, zone))
        }
    };
    field(leaf.name, leaf.known.is_some(), kind, Vec::new())
}

fn nested(nested: &Nested) -> Table {
    let fields = nested.fields.iter().map(leaf).collect();
    let record = |name| field(name, false, (of_type::STRUCT, Table::default()), fields);
    match nested.kind {
        NestedKind::Records => {
            field(nested.name, false, (of_type::LIST, Table::default()), vec![record("element")])
        }
        NestedKind::Map => {
            let unsorted = Table::default().with(0, Field::Byte(0));
            field(nested.name, false, (of_type::MAP, unsorted), vec![record("key_value")])
        }
    }
}
