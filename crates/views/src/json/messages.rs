//! The report of a message log as JSON.

use heapscribe_aos_log::header_fields::HeaderField;
use heapscribe_aos_log::read::channels::{Channels, Row, Span};
use heapscribe_aos_log::read::{PartHeader, PartSummary, Value};
use serde_json::{Map, Value as Json, json};

use crate::messages::lines;
use heapscribe_convert::message_log::Log;

/// Everything that is known of a log.
pub fn report(log: &Log<'_>, channels: &Channels) -> Json {
    let problems = log.problems();
    let problems = problems.iter().flat_map(|(path, problems)| {
        problems.iter().map(move |what| json!({"file": path.to_string_lossy(), "problem": what}))
    });
    json!({
        "format": "aos",
        "records": channels.records(),
        "parts": log.parts().opened().iter().map(|opened| part(log, opened)).collect::<Vec<_>>(),
        "channels": channels.rows().map(|(channel, kind, row)| {
            let mut object = self::row(row);
            object.shift_insert(0, "channel_index".to_owned(), channel.into());
            object.shift_insert(1, "kind".to_owned(), lines::kind(kind).into());
            object
        }).collect::<Vec<_>>(),
        "unlisted_records": channels.unlisted,
        "problems": problems.collect::<Vec<_>>(),
    })
}

fn part(log: &Log<'_>, opened: &PartSummary) -> Json {
    json!({
        "file": log.path(opened.file).to_string_lossy(),
        "packing": opened.packing.name(),
        "header": opened.header.as_ref().map(header),
    })
}

/// The fields of a header under their names in the schema.
pub fn header(header: &PartHeader) -> Map<String, Json> {
    let fields = header.fields().iter().filter(|(field, _)| *field != HeaderField::Configuration);
    fields.map(|(field, value)| (field.name().to_owned(), self::value(value))).collect()
}

fn value(value: &Value) -> Json {
    match value {
        Value::Number(number) => (*number).into(),
        Value::Text(text) => text.as_str().into(),
        Value::Texts(texts) => texts.clone().into(),
        Value::Numbers(numbers) => numbers.clone().into(),
        Value::Table => Json::Null,
    }
}

fn row(row: &Row) -> Map<String, Json> {
    let object = json!({
        "records": row.records(),
        "first_ns": row.first_ns,
        "last_ns": row.last_ns,
        "rate_hz": row.rate_hz(),
        "data_bytes": span(&row.data_bytes, true),
        "period_ns": span(&row.period_ns, false),
        "delivery_ns": span(&row.delivery_ns, false),
        "answer_ns": span(&row.answer_ns, false),
        "transmit_ns": span(&row.transmit_ns, false),
        "missing": row.missing,
        "leaps": row.leaps,
        "returns": row.returns,
    });
    match object {
        Json::Object(map) => map,
        _ => Map::new(),
    }
}

/// `null` of no figures.
fn span(span: &Span, with_sum: bool) -> Json {
    if span.count == 0 {
        return Json::Null;
    }
    let mut object = json!({
        "min": span.min, "mean": span.mean(), "max": span.max, "max_queue_index": span.max_queue_index,
    });
    // Sizes are below 2^26 and counts below 2^64: in i64 there is room for 2^37 of them.
    if with_sum && let (Some(map), Ok(sum)) = (object.as_object_mut(), i64::try_from(span.sum())) {
        map.insert("sum".to_owned(), sum.into());
    }
    object
}
