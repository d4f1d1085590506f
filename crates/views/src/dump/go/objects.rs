//! A Go trace as JSON, an object per line; `type` says of what.

use std::io::{self, Write};

use heapscribe_formats::gotrace::{Event, NamedFrame};
use serde_json::{Map, Value, json};

use super::printer::{GoTrace, Printer, StackNumber, generation, lane, meaning};
use heapscribe_symbols::lossy;

/// Writes objects.
pub struct Objects<W> {
    /// Where the objects go.
    pub out: W,
}

impl<W: Write> Objects<W> {
    fn line(&mut self, object: &Value) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, object)?;
        self.out.write_all(b"\n")
    }
}

impl<W: Write> Printer for Objects<W> {
    fn begin(&mut self, trace: &GoTrace) -> io::Result<()> {
        self.line(&json!({
            "type": "go_trace", "version": trace.version().to_string(),
            "ticks_per_second": trace.frequency(), "events": trace.events(),
        }))
    }

    fn stack(
        &mut self,
        number: StackNumber,
        frames: &mut dyn Iterator<Item = NamedFrame<'_>>,
    ) -> io::Result<()> {
        let frame = |frame: NamedFrame<'_>| {
            json!({
                "pc": format!("{:#x}", frame.pc), "function": lossy(frame.function),
                "file": lossy(frame.file), "line": frame.line,
            })
        };
        let frames: Vec<_> = frames.map(frame).collect();
        self.line(&json!({
            "type": "stack", "generation": number.generation, "stack": number.stack, "frames": frames,
        }))
    }

    fn event(&mut self, trace: &GoTrace, event: &Event<'_>) -> io::Result<()> {
        let (mut values, mut texts) = (Map::new(), Map::new());
        for (name, value) in event.spec.values.iter().zip(event.values) {
            values.insert((*name).to_owned(), json!(value));
            if let Some(text) = meaning(trace, event, name, *value) {
                texts.insert((*name).to_owned(), json!(lossy(text)));
            }
        }
        let mut object = json!({
            "type": "event", "time_ns": trace.frequency().map(|_| trace.ns(event.ticks)),
            "ticks": event.ticks, "generation": generation(trace, event.generation),
            "lane": lane(trace, event), "event": event.spec.name, "values": values,
        });
        if !texts.is_empty() {
            object["texts"] = Value::Object(texts);
        }
        if event.stack != 0 {
            object["stack"] = json!(event.stack);
        }
        if !event.text.is_empty() {
            object["text"] = json!(lossy(event.text));
        }
        object["offset"] = json!(event.offset);
        self.line(&object)
    }
}
