//! A message as a JSON object: the names of the schema's fields and the values that `flatc --defaults-json`
//! prints, on one line, and behind them name and type of the channel if they are known.

use std::io::{self, Write};

use heapscribe_aos_log::layout::{Field, Layout};
use heapscribe_aos_log::read::{Channel, Message};
use serde_json::Value;

/// Prints a message with the fields of a layout, and its channel if that is known.
pub fn print(
    out: &mut dyn Write,
    message: &Message<'_>,
    layout: Layout,
    channel: Option<&Channel>,
) -> io::Result<()> {
    let fields = match layout {
        Layout::V2022 => &Field::ALL[..Field::MonotonicRemoteTransmitTime as usize],
        Layout::V2024 => &Field::ALL[..],
    };
    let mut before = '{';
    for field in fields {
        if *field == Field::Data {
            if let Some(data) = message.data {
                write!(out, "{before}\"data\":[")?;
                print_data(out, data)?;
                write!(out, "]")?;
            }
        } else {
            write!(out, "{before}\"{}\":{}", field.name(), number(message, *field))?;
        }
        before = ',';
    }
    if let Some(channel) = channel {
        let [name, type_name] = [&channel.name, &channel.type_name].map(|text| Value::from(text.as_str()));
        write!(out, ",\"channel_name\":{name},\"channel_type\":{type_name}")?;
    }
    writeln!(out, "}}")
}

fn print_data(out: &mut dyn Write, data: &[u8]) -> io::Result<()> {
    let mut numbers = String::with_capacity(4 * data.len());
    for (i, byte) in data.iter().enumerate() {
        if i > 0 {
            numbers.push(',');
        }
        numbers.push_str(&DECIMAL[usize::from(*byte)]);
    }
    out.write_all(numbers.as_bytes())
}

/// Bytes in decimal: a megabyte of data is a million numbers.
static DECIMAL: std::sync::LazyLock<[String; 256]> =
    std::sync::LazyLock::new(|| std::array::from_fn(|byte| byte.to_string()));

fn number(m: &Message<'_>, field: Field) -> i64 {
    match field {
        Field::ChannelIndex => m.channel_index.into(),
        Field::MonotonicSentTime => m.monotonic_sent_time,
        Field::RealtimeSentTime => m.realtime_sent_time,
        Field::QueueIndex => m.queue_index.into(),
        Field::Data => m.data_bytes() as i64,
        Field::MonotonicRemoteTime => m.monotonic_remote_time,
        Field::RealtimeRemoteTime => m.realtime_remote_time,
        Field::RemoteQueueIndex => m.remote_queue_index.into(),
        Field::MonotonicTimestampTime => m.monotonic_timestamp_time,
        Field::MonotonicRemoteTransmitTime => m.monotonic_remote_transmit_time,
    }
}
