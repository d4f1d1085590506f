//! `go tool trace -d` of layout one: a line for each event, `ns NAME p=P g=G off=OFFSET values`. The offset
//! names the event.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use super::event::{Event, events, open_whole, plain_name};
use crate::conformance::run::unpack;

/// The one whose time Go's reader takes from its values.
const LATE: &str = "GoSysExit";

pub(super) fn alike(path: &Path, expected: &Path) -> Result<(), String> {
    let bytes = fs::read(path).map_err(|e| e.to_string())?;
    let ours: HashMap<u64, Event> =
        events(&open_whole(&bytes)?)?.into_iter().map(|said| (said.offset, said)).collect();
    let text = String::from_utf8(unpack("xz", expected)?).map_err(|e| e.to_string())?;
    let mut lines = 0;
    for line in text.lines() {
        lines += 1;
        compare(line, &ours).map_err(|why| format!("{why}: {line}"))?;
    }
    if lines == ours.len() { Ok(()) } else { Err(format!("{} events, should be {lines}", ours.len())) }
}

fn compare(line: &str, ours: &HashMap<u64, Event>) -> Result<(), String> {
    let mut words = line.split(' ');
    let ns: u64 = words.next().and_then(|word| word.parse().ok()).ok_or("no time")?;
    let name = words.next().unwrap_or_default();
    let values: HashMap<&str, &str> = words.filter_map(|word| word.split_once('=')).collect();
    let offset = values.get("off").and_then(|word| word.parse().ok()).ok_or("no offset")?;
    let said: &Event = ours.get(&offset).ok_or("no event there")?;
    if plain_name(said.name) != plain_name(name) {
        return Err(format!("is {}", said.name));
    }
    if name != LATE && said.ns != ns {
        return Err(format!("is at {}", said.ns));
    }
    let differs = |(name, value): &&(&str, u64)| {
        values.get(name).is_some_and(|theirs| theirs.parse() != Ok(*value))
            // The process and the goroutine where it happened have the same names as some values.
            && !matches!(*name, "g" | "p")
    };
    // Where an event has a stack among its values, its own is not in the line.
    let own = said.values.iter().take_while(|(name, _)| *name != "stack").count() + 1;
    said.values.iter().take(own).find(differs).map_or(Ok(()), |value| Err(format!("has {value:?}")))
}
