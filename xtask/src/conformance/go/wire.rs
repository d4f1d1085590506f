//! `go tool trace -d=2` of layout two: batches, events, texts and stacks in the order of the file. And
//! `-d=1`: what Go's reader makes of them, of which the metrics of the heap are compared.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use heapscribe_formats::gotrace::Trace;

use super::event::{Event, events, open_whole};
use crate::conformance::run::unpack;

/// The words `name=value` of a line.
fn value(line: &str, name: &str) -> Option<u64> {
    let word = line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?;
    word.parse().ok()
}

pub(super) fn alike(path: &Path, expected: &Path) -> Result<(), String> {
    let bytes = fs::read(path).map_err(|e| e.to_string())?;
    let trace = open_whole(&bytes)?;
    let mut ours = events(&trace)?;
    ours.sort_by_key(|said| said.offset);
    let text = String::from_utf8_lossy(&unpack("xz", expected)?).into_owned();
    let texts = names_alike(&trace, &text)?;
    stacks_alike(&trace, &text, &texts)?;
    events_alike(&ours, &text)
}

/// Every event: thread, time, kind, values.
fn events_alike(ours: &[Event], text: &str) -> Result<(), String> {
    let (mut thread, mut ticks, mut ours) = (0, 0, ours.iter());
    for line in text.lines().filter(|line| !line.starts_with('\t')) {
        if line.starts_with("EventBatch ") {
            thread = value(line, "m").ok_or("no thread")?;
            ticks = value(line, "time").ok_or("no time")?;
            continue;
        }
        let Some(dt) = value(line, "dt") else { continue };
        ticks += dt;
        let said = ours.next().ok_or_else(|| format!("missing: {line}"))?;
        let name = line.split(' ').next().unwrap_or_default();
        let same = |(name, is): &(&str, u64)| value(line, name) == Some(*is);
        let is_same = said.name == name && said.ticks == ticks && said.lane == thread;
        if !is_same || !said.values.iter().all(same) {
            return Err(format!("{said:?}, should be {line} at {ticks} of {thread}"));
        }
    }
    ours.next().map_or(Ok(()), |said| Err(format!("too many: {said:?}")))
}

/// The texts of the file, which are those of the dump; a text with an escape in it only has to be there.
fn names_alike<'t>(trace: &Trace<&[u8]>, text: &'t str) -> Result<HashMap<u64, &'t str>, String> {
    let mut texts = HashMap::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(id) = line.starts_with("String ").then(|| value(line, "id")).flatten() else { continue };
        // An empty text has no line.
        let data = lines.next_if(|line| line.starts_with('\t')).unwrap_or("data=\"\"").trim();
        let data = data.strip_prefix("data=\"").and_then(|data| data.strip_suffix('"')).ok_or("no data")?;
        let ours = trace.text(0, id).ok_or_else(|| format!("no text {id}"))?;
        if !data.contains('\\') && data.as_bytes() != ours {
            return Err(format!("text {id} is {:?}, should be {data:?}", String::from_utf8_lossy(ours)));
        }
        texts.insert(id, data);
    }
    Ok(texts)
}

fn stacks_alike(trace: &Trace<&[u8]>, text: &str, texts: &HashMap<u64, &str>) -> Result<(), String> {
    let mut lines = text.lines().peekable();
    let mut stacks = 0;
    while let Some(line) = lines.next() {
        let Some(id) = line.starts_with("Stack ").then(|| value(line, "id")).flatten() else { continue };
        stacks += 1;
        for frame in trace.stack(0, id).ok_or_else(|| format!("no stack {id}"))? {
            let line = lines.next_if(|line| line.starts_with('\t')).unwrap_or_default().trim();
            // The text of number 0 is the empty one.
            let text = |name| Some(texts.get(&value(line, name)?).map_or(&b""[..], |text| text.as_bytes()));
            let is_same = value(line, "pc") == Some(frame.pc)
                && value(line, "line") == Some(frame.line)
                && text("func") == Some(frame.function)
                && text("file") == Some(frame.file);
            if !is_same {
                return Err(format!("stack {id}: {frame:?}, should be {line}"));
            }
        }
        if lines.peek().is_some_and(|line| line.starts_with('\t')) {
            return Err(format!("stack {id} has too few frames"));
        }
    }
    let ours = trace.stack_ids().len();
    if stacks == ours { Ok(()) } else { Err(format!("{ours} stacks, should be {stacks}")) }
}

/// Live bytes and goals with their times in ns, which Go counts from the clock's begin.
pub(super) fn metrics_alike(path: &Path, expected: &Path) -> Result<(), String> {
    let bytes = fs::read(path).map_err(|e| e.to_string())?;
    let trace = open_whole(&bytes)?;
    let tick_ns = 1_000_000_000 / trace.frequency().unwrap_or(1);
    let is_metric = |said: &Event| matches!(said.name, "HeapAlloc" | "HeapGoal");
    let ours: Vec<_> = events(&trace)?
        .iter()
        .filter(|said| is_metric(said))
        .map(|said| (said.ticks * tick_ns, said.values[0].1, said.name == "HeapGoal"))
        .collect();
    let text = String::from_utf8_lossy(&unpack("xz", expected)?).into_owned();
    let theirs: Vec<_> = text.lines().filter_map(metric).collect();
    if ours == theirs { Ok(()) } else { Err(format!("{} metrics, should be {}", ours.len(), theirs.len())) }
}

fn metric(line: &str) -> Option<(u64, u64, bool)> {
    let is_goal = line.contains("Name=\"/gc/heap/goal:bytes\"");
    let is_live = line.contains("Name=\"/memory/classes/heap/objects:bytes\"");
    let bytes = line.split_once("Value=Uint64(")?.1.strip_suffix(')')?.parse().ok()?;
    (is_goal || is_live).then_some((value(line, "Time")?, bytes, is_goal))
}
