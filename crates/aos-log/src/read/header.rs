//! The record with which a part begins: whose messages these are, and how far they may be out of order.

use super::configuration::Configuration;
use super::flatbuffer::{Flaw, Table};
use crate::header_fields::{FieldType, HeaderField};

/// The value of a field of a header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A time, a duration, an index.
    Number(i64),
    /// A string, or the name of a node.
    Text(String),
    /// Strings.
    Texts(Vec<String>),
    /// Times, or bytes.
    Numbers(Vec<i64>),
    /// A table, see [`PartHeader::configuration`].
    Table,
}

/// A header, as far as it has been filled in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PartHeader {
    fields: Vec<(HeaderField, Value)>,
    configuration: Configuration,
}

impl PartHeader {
    /// Reads and checks a record, which begins with its length.
    pub(crate) fn parse(record: &[u8]) -> Result<PartHeader, Flaw> {
        let table = Table::root(record)?;
        let mut fields = Vec::new();
        for field in HeaderField::ALL {
            if let Some(value) = value(&table, field)? {
                fields.push((field, value));
            }
        }
        let configuration = table.table(HeaderField::Configuration as usize)?;
        let configuration = configuration.map(|table| Configuration::parse(&table)).unwrap_or_default();
        Ok(PartHeader { fields, configuration })
    }

    /// The configuration in the part; without channels if there is none.
    pub fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    /// The fields that are there, by number.
    pub fn fields(&self) -> &[(HeaderField, Value)] {
        &self.fields
    }

    /// The value of a field; `None` when it is not there.
    pub fn get(&self, field: HeaderField) -> Option<&Value> {
        self.fields.iter().find(|(other, _)| *other == field).map(|(_, value)| value)
    }

    /// A string, or the name of a node.
    pub fn text(&self, field: HeaderField) -> Option<&str> {
        match self.get(field) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A number, or its default.
    pub fn number(&self, field: HeaderField) -> i64 {
        match (self.get(field), field.field_type()) {
            (Some(Value::Number(number)), _) => *number,
            (_, FieldType::Time(default)) => default,
            _ => 0,
        }
    }

    /// How much older than the newest message before it a message may be, ns.
    pub fn max_out_of_order_ns(&self) -> i64 {
        self.number(HeaderField::MaxOutOfOrderDuration).max(0)
    }

    /// Whether its messages were sent on another node than that which logged them, whose clocks they have.
    pub fn is_remote(&self) -> bool {
        match (self.text(HeaderField::Node), self.text(HeaderField::LoggerNode)) {
            (Some(node), Some(logger)) => node != logger,
            _ => false,
        }
    }
}

fn value(table: &Table<'_>, field: HeaderField) -> Result<Option<Value>, Flaw> {
    let number = field as usize;
    Ok(match field.field_type() {
        FieldType::Time(_) | FieldType::Duration => table.i64(number)?.map(Value::Number),
        FieldType::Index => table.i32(number)?.map(|index| Value::Number(index.into())),
        FieldType::Text => table.string(number)?.map(Value::Text),
        FieldType::Texts => table.strings(number)?.map(Value::Texts),
        FieldType::Times => table.i64s(number)?.map(Value::Numbers),
        FieldType::Bytes => table
            .bytes(number)?
            .map(|bytes| Value::Numbers(bytes.iter().map(|byte| i64::from(*byte)).collect())),
        FieldType::Node => {
            let node = table.table(number)?;
            node.map(|node| node.string(0)).transpose()?.flatten().map(Value::Text)
        }
        FieldType::Table => table.table(number)?.map(|_| Value::Table),
        FieldType::Gone => None,
    })
}
