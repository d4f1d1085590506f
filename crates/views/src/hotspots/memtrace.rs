//! Runs of a memtrace file, whose stacks stand in its events.

use std::collections::HashMap;
use std::ops::ControlFlow;

use heapscribe_formats::Source;
use heapscribe_formats::memtrace::{Alloc, Event, LocationCode, Moment, Reader};

use super::native::names_of;
use super::runs::Runs;
use super::weigh::Weigh;
use heapscribe_convert::memtrace::estimate_bytes;

/// Counts what is still to be read; what could not be, in words.
pub fn count<S: Source>(reader: &mut Reader<S>, weigh: Weigh, runs: &mut Runs) -> Vec<String> {
    let (rate, word_bytes) = (reader.info().sample_rate, reader.info().word_bytes());
    let mut names = HashMap::new();
    let mut named = Vec::new();
    let read = reader.for_each(|moment, event| {
        if let Event::Alloc(alloc) = event {
            name(moment, alloc, &mut names, runs, &mut named);
            let samples = u64::try_from(alloc.samples).unwrap_or(0);
            runs.add(
                &named,
                if weigh == Weigh::Bytes { estimate_bytes(samples, rate, word_bytes) } else { 1 },
            );
        }
        ControlFlow::<()>::Continue(())
    });
    let problems = reader.skipped().iter().map(ToString::to_string);
    problems.chain(read.err().map(|e| e.to_string())).collect()
}

/// The names of a stack's frames.
fn name(
    moment: &Moment<'_>,
    alloc: &Alloc<'_>,
    names: &mut HashMap<LocationCode, Vec<u32>>,
    runs: &mut Runs,
    into: &mut Vec<u32>,
) {
    into.clear();
    for code in alloc.stack {
        // A code that is announced later has a name from then on.
        if !names.contains_key(code) && moment.locations.get(*code).is_none() {
            into.extend(names_of(*code, moment.locations, runs));
            continue;
        }
        into.extend_from_slice(names.entry(*code).or_insert_with(|| names_of(*code, moment.locations, runs)));
    }
}
