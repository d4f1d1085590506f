//! memtrace: dumps to the byte, damaged files, copies that are the same file, scripts of the writer.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use heapscribe_formats::memtrace::{
    Event, Header, IDS_PER_CHUNK, Order, ReadOptions, Reader, VERSION, WriteOptions, copy_all, script,
};

use super::check::{Check, Place};
use super::hotspots;
use super::results::{self, Run};
use super::rewritten;
use super::run::{Ran, run, unpack};

/// Each run of a damaged file has to end within this.
const DAMAGED_LIMIT: Duration = Duration::from_secs(5);
const LIMIT: Duration = Duration::from_secs(120);

pub(super) fn check(place: &Place<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for dump in files(&place.folder.join("dumps"), ".txt.gz") {
        let name = stem(&dump, ".txt.gz");
        checks.push(Check::new(format!("dump of {name}"), dumps_alike(place, &dump, &name)));
        let trace = place.folder.join(format!("{name}.ctf"));
        checks.push(Check::new(format!("hotspots of {name}"), hotspots::check(place.program, &trace, &dump)));
    }
    checks.extend(damaged(place));
    for trace in files(place.folder, ".ctf") {
        let name = stem(&trace, ".ctf");
        let alike = copies_alike(&trace);
        let how = alike.clone().unwrap_or_default();
        checks.push(Check::new(format!("copy of {name}{how}"), alike.map(|_| ())));
        checks.push(Check::new(format!("conversions of {name}"), rewritten::check(place.program, &trace)));
    }
    for path in files(&place.folder.join("scripts"), ".txt.gz") {
        for (order, word) in [(Order::Direct, "direct"), (Order::Multiplexed, "mux")] {
            let name = format!("script_{}_{word}", stem(&path, ".txt.gz"));
            checks.push(Check::new(name.clone(), plays_alike(place, &path, order, &name)));
        }
    }
    checks
}

pub(super) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> =
        entries.map(|entry| entry.path()).filter(|path| !stem(path, ending).is_empty()).collect();
    paths.sort();
    paths
}

/// The name of a file without its ending; empty when it has another one.
pub(super) fn stem(path: &Path, ending: &str) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(ending).unwrap_or_default().to_owned()
}

fn dump(place: &Place<'_>, trace: &Path, options: &[&str], limit: Duration) -> Result<Ran, String> {
    let trace = trace.to_str().ok_or("a path that is no text")?;
    run(place.program, &[&["dump", "--style", "memtrace", trace], options].concat(), limit)
}

fn dumps_alike(place: &Place<'_>, expected: &Path, name: &str) -> Result<(), String> {
    let ran = dump(place, &place.folder.join(format!("{name}.ctf")), &[], LIMIT)?;
    same_bytes(&ran.stdout, &unpack("gzip", expected)?)
}

pub(super) fn same_bytes(ours: &[u8], theirs: &[u8]) -> Result<(), String> {
    if ours == theirs {
        return Ok(());
    }
    let at = ours.iter().zip(theirs).take_while(|(a, b)| a == b).count();
    let line = ours[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
    Err(format!("{} bytes, should be {}; differ at byte {at}, line {line}", ours.len(), theirs.len()))
}

fn damaged(place: &Place<'_>) -> Vec<Check> {
    let folder = place.folder.join("damaged");
    let text = fs::read_to_string(folder.join("RESULTS.txt")).unwrap_or_default();
    let mut checks = Vec::new();
    for result in results::parse(&text) {
        let trace = folder.join(&result.name);
        let skips = result.runs.iter().any(|run| run.skipped_truncated);
        for expected in &result.runs {
            let how = if expected.with_stacks { "" } else { " without stacks" };
            checks.push(Check::new(
                format!("damaged {}{how}", result.name),
                damaged_alike(place, &trace, expected, skips),
            ));
        }
        if !result.text.is_empty() {
            let alike = dump(place, &trace, &[], DAMAGED_LIMIT)
                .and_then(|ran| same_bytes(&ran.stdout, result.text.as_bytes()));
            checks.push(Check::new(format!("damaged {}", result.name), alike));
        }
        checks.push(Check::new(format!("salvage of {}", result.name), salvaged(place, &trace, &result.runs)));
    }
    checks
}

fn events(ran: &Ran) -> usize {
    ran.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#').count()
}

fn damaged_alike(place: &Place<'_>, trace: &Path, expected: &Run, skips: bool) -> Result<(), String> {
    let options: &[&str] = if expected.with_stacks { &[] } else { &["--no-stacks"] };
    let ran = dump(place, trace, options, DAMAGED_LIMIT)?;
    if events(&ran) != expected.events {
        return Err(format!("{} events, should be {}", events(&ran), expected.events));
    }
    match &expected.exception {
        Some(exception) if ran.code == Some(0) || !results::is_same_refusal(exception, &ran.stderr) => {
            Err(format!("should be `{exception}`, is {:?} `{}`", ran.code, ran.stderr.trim()))
        }
        None if skips && !ran.stderr.contains("skipping truncated packet") => {
            Err("does not say that it passes over a cut packet".to_owned())
        }
        None if !skips && ran.code != Some(0) => {
            Err(format!("should be all well, is {:?} `{}`", ran.code, ran.stderr.trim()))
        }
        _ => Ok(()),
    }
}

/// Salvaging ends, and has at least the events that were there before the damage.
fn salvaged(place: &Place<'_>, trace: &Path, runs: &[Run]) -> Result<(), String> {
    let ran = dump(place, trace, &["--salvage"], DAMAGED_LIMIT)?;
    let least = runs.iter().map(|run| run.events).min().unwrap_or(0);
    if events(&ran) < least {
        Err(format!("{} events, at least {least} can be read", events(&ran)))
    } else {
        Ok(())
    }
}

/// A copy is the same file, in one of the two orders. It can only say the same when the file is of an older
/// version, lost the ends of deep stacks, or has its packets in the order in which several domains filled
/// them.
fn copies_alike(trace: &Path) -> Result<&'static str, String> {
    let bytes = fs::read(trace).map_err(|e| e.to_string())?;
    let original = Content::of(&bytes)?;
    let mut nearest = String::new();
    for order in [Order::Direct, Order::Multiplexed] {
        let options = WriteOptions { order, ids_per_chunk: original.chunk, ..WriteOptions::default() };
        let mut reader = Reader::open(&*bytes, ReadOptions::default()).map_err(|e| e.to_string())?;
        let copy = copy_all(&mut reader, Vec::new(), options).map_err(|e| e.to_string())?;
        match same_bytes(&copy, &bytes) {
            Ok(()) => return Ok(", the same bytes"),
            Err(_) if original.may_differ(trace) && Content::of(&copy)?.domains == original.domains => {
                return Ok(", the same events");
            }
            Err(why) => nearest = why,
        }
    }
    Err(nearest)
}

/// What a file holds, whatever its bytes.
struct Content {
    /// Each domain's events in words; objects by their domain and place in it.
    domains: BTreeMap<u16, Vec<String>>,
    /// Object numbers that a domain takes at once, as far as can be seen.
    chunk: i64,
    version: u16,
    hidden_stacks: u64,
}

impl Content {
    fn of(bytes: &[u8]) -> Result<Content, String> {
        let version = Header::decode(bytes).map_err(|e| e.to_string())?.version;
        let mut reader = Reader::open(bytes, ReadOptions::default()).map_err(|e| e.to_string())?;
        let mut domains: BTreeMap<u16, Vec<String>> = BTreeMap::new();
        let mut objects: BTreeMap<i64, (u16, usize)> = BTreeMap::new();
        let read = reader.for_each(|moment, event| {
            let events = domains.entry(moment.domain).or_default();
            let name = |id: i64| format!("{:?}", objects.get(&id));
            let what = match event {
                Event::Alloc(a) => {
                    objects.insert(a.id.0, (moment.domain, events.len()));
                    format!("{} {} {:?} {:?}", a.length_words, a.samples, a.heap, a.stack)
                }
                Event::Promote(id) => format!("promote {}", name(id.0)),
                Event::Collect(id) => format!("collect {}", name(id.0)),
            };
            events.push(format!("{} {what}", moment.time_us));
            ControlFlow::<()>::Continue(())
        });
        read.map_err(|e| e.to_string())?;
        let hidden_stacks = reader.hidden_stacks();
        Ok(Content { chunk: chunk(&objects, domains.len()), domains, version, hidden_stacks })
    }

    fn may_differ(&self, trace: &Path) -> bool {
        let is_direct = !stem(trace, "_direct.ctf").is_empty();
        self.version < VERSION || self.hidden_stacks > 0 || (is_direct && self.domains.len() > 1)
    }
}

/// The numbers of domains begin at multiples of the chunk: the largest number that divides the first ones.
fn chunk(objects: &BTreeMap<i64, (u16, usize)>, domains: usize) -> i64 {
    if domains < 2 {
        return IDS_PER_CHUNK;
    }
    let ids: Vec<i64> = objects.keys().copied().collect();
    let jumps = ids.windows(2).filter(|pair| pair[1] != pair[0] + 1).map(|pair| pair[1]);
    let owners = ids.windows(2).filter(|pair| objects[&pair[0]].0 != objects[&pair[1]].0).map(|pair| pair[1]);
    jumps.chain(owners).fold(0, gcd).max(1)
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn plays_alike(place: &Place<'_>, path: &Path, order: Order, name: &str) -> Result<(), String> {
    let text = String::from_utf8(unpack("gzip", path)?).map_err(|e| e.to_string())?;
    let bytes = script::run(&text, order).map_err(|e| e.to_string())?;
    let expected = fs::read(place.folder.join(format!("{name}.ctf"))).map_err(|e| e.to_string())?;
    same_bytes(&bytes, &expected)
}
