//! A message as a line of text.

use std::io::{self, Write};
use std::path::Path;

use heapscribe_aos_log::header_fields::{FieldType, HeaderField};
use heapscribe_aos_log::layout::{Kind, NO_QUEUE_INDEX, NO_TIME};
use heapscribe_aos_log::read::{Channel, Message, PartHeader, Value};

/// What a kind of record is called.
pub fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Message | Kind::RemoteMessage => "message",
        Kind::DeliveryTime => "delivery",
        Kind::MessageAndDeliveryTime => "message+delivery",
        Kind::RemoteTimestamp => "timestamp",
    }
}

/// Whether records of a kind have data.
pub fn has_data(kind: Kind) -> bool {
    !matches!(kind, Kind::DeliveryTime | Kind::RemoteTimestamp)
}

/// Prints the header of a part.
pub fn print_header(out: &mut dyn Write, path: &Path, header: Option<&PartHeader>) -> io::Result<()> {
    let shown = path.display();
    let Some(header) = header else { return writeln!(out, "# part {shown} has no header") };
    writeln!(out, "# part {shown}")?;
    for (field, value) in header.fields() {
        let value = match header.configuration().damage {
            Some(what) if *field == HeaderField::Configuration => {
                format!("is in the part, but is damaged: {what}")
            }
            _ => header_value(*field, value),
        };
        writeln!(out, "#   {} {value}", field.name())?;
    }
    Ok(())
}

fn header_value(field: HeaderField, value: &Value) -> String {
    match (field.field_type(), value) {
        (FieldType::Time(_), Value::Number(number)) => time(*number),
        (_, Value::Number(number)) => number.to_string(),
        (_, Value::Text(text)) => text.escape_debug().to_string(),
        (_, Value::Texts(texts)) => format!("{texts:?}"),
        (_, Value::Numbers(numbers)) => {
            let shown: Vec<_> = numbers.iter().map(|number| time(*number)).collect();
            format!("[{}]", shown.join(", "))
        }
        (_, Value::Table) => "is in the part".to_owned(),
    }
}

/// A time; `-` where there is none.
fn time(ns: i64) -> String {
    if ns == NO_TIME || ns == i64::MAX { "-".to_owned() } else { ns.to_string() }
}

/// Prints a message, with its channel if that is known.
pub fn print(out: &mut dyn Write, m: &Message<'_>, channel: Option<&Channel>) -> io::Result<()> {
    write!(out, "{} C{} Q{} {}", time(m.monotonic_sent_time), m.channel_index, m.queue_index, kind(m.kind))?;
    match m.data {
        Some(data) => write!(out, " {}", data.len())?,
        None => write!(out, " -")?,
    }
    write!(out, " {}", time(m.realtime_sent_time))?;
    if m.monotonic_remote_time != NO_TIME || m.remote_queue_index != NO_QUEUE_INDEX {
        let remote = (time(m.monotonic_remote_time), time(m.realtime_remote_time));
        write!(out, " < {} Q{} {}", remote.0, m.remote_queue_index, remote.1)?;
    }
    for (word, ns) in [("sent", m.monotonic_remote_transmit_time), ("told", m.monotonic_timestamp_time)] {
        if ns != NO_TIME {
            write!(out, " {word} {ns}")?;
        }
    }
    if let Some(channel) = channel {
        write!(out, " on {} {}", channel.name.escape_debug(), channel.type_name.escape_debug())?;
    }
    writeln!(out)
}
