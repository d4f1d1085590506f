//! Runs of a trace of ours.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result};
use heapscribe_formats::memtrace::{LocationCode, Locations};
use heapscribe_formats::{ChunkEntry, Process, Scratch, Source, Trace};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::{RateId, StackId};
use heapscribe_wire::record::Event;

use super::runs::Runs;
use super::weigh::Weigh;
use heapscribe_convert::file_source::nameless_file;
use heapscribe_convert::node_table::{NodeTable, NodeTableWriter};
use heapscribe_convert::stacks::Stacks;
use heapscribe_symbols::Resolver;

/// Counts all allocations of a trace; what could not be read, in words.
pub fn count<S: Source>(
    trace: &Trace<S>,
    weigh: Weigh,
    resolver: &Resolver,
    runs: &mut Runs,
) -> Result<Vec<String>> {
    let mut problems: Vec<_> = trace.problems().iter().map(ToString::to_string).collect();
    for process in trace.processes() {
        let mut stacks = ProcessStacks::read(trace, process, resolver, runs, &mut problems)?;
        for entry in trace.chunks().iter().filter(|entry| entry.process == process.index) {
            match chunk_sums(trace, entry, weigh, &stacks.means) {
                Ok(sums) => stacks.add(&sums, runs)?,
                Err(e) => problems.push(e.to_string()),
            }
        }
    }
    Ok(problems)
}

/// The stacks of a process and the names of their places.
struct ProcessStacks {
    nodes: NodeTable,
    /// Names of each place, outermost first; place 0 is none.
    names: Vec<Vec<u32>>,
    means: BTreeMap<u8, u64>,
}

impl ProcessStacks {
    fn read<S: Source>(
        trace: &Trace<S>,
        process: &Process,
        resolver: &Resolver,
        runs: &mut Runs,
        problems: &mut Vec<String>,
    ) -> Result<ProcessStacks> {
        let mut nodes = NodeTableWriter::new(nameless_file().context("cannot create a temporary file")?);
        let (mut stacks, mut means, mut written) = (Stacks::default(), BTreeMap::new(), Ok(()));
        let (mut places, mut codes) = (HashMap::new(), Vec::new());
        let skipped = trace.definitions(process.index, &mut Scratch::default(), |id, definition| {
            if let Definition::Rate { id, mean_bytes } = definition {
                means.insert(id.0, *mean_bytes);
            }
            stacks.take(id, definition);
            if let Some((caller, code)) = stacks.forget(id) {
                let place = *places.entry(code).or_insert_with(|| {
                    codes.push(code);
                    codes.len() as u32
                });
                if written.is_ok() {
                    written = nodes.put(id, caller, place);
                }
            }
        })?;
        written.context("cannot write a temporary file")?;
        problems.extend(skipped.iter().map(ToString::to_string));
        let mut locations = Locations::default();
        stacks.name_new(&mut locations, |requests| resolver.resolve(requests));
        let names = codes.iter().map(|code| names_of(*code, &locations, runs));
        let names = std::iter::once(Vec::new()).chain(names).collect();
        Ok(ProcessStacks { nodes: nodes.finish()?, names, means })
    }

    fn add(&mut self, sums: &BTreeMap<StackId, u64>, runs: &mut Runs) -> Result<()> {
        let mut named = Vec::new();
        for (stack, weight) in sums {
            named.clear();
            for place in self.nodes.stack(*stack).context("cannot read a temporary file")? {
                named.extend_from_slice(self.names.get(*place as usize).map_or(&[][..], Vec::as_slice));
            }
            runs.add(&named, *weight);
        }
        Ok(())
    }
}

/// The names of a code's frames, outermost first; code that lies in no file is named by its address.
pub(super) fn names_of(code: LocationCode, locations: &Locations, runs: &mut Runs) -> Vec<u32> {
    match locations.get(code) {
        None | Some([]) => vec![runs.number(&format!("{:#x}", code.0))],
        Some(frames) => {
            let names = frames.iter().map(|frame| String::from_utf8_lossy(locations.text(frame.function)));
            names.map(|name| runs.number(&name)).collect()
        }
    }
}

/// What a chunk adds to each stack.
fn chunk_sums<S: Source>(
    trace: &Trace<S>,
    entry: &ChunkEntry,
    weigh: Weigh,
    means: &BTreeMap<u8, u64>,
) -> Result<BTreeMap<StackId, u64>> {
    let (mut sums, mut rate) = (BTreeMap::new(), RateId::FULL);
    trace.load_chunk(entry, &mut Scratch::default())?.for_each(|_, event| {
        let (size_bytes, stack) = match *event {
            Event::Alloc { size_bytes, stack, .. }
            | Event::Realloc { size_bytes, stack, .. }
            | Event::UnknownRealloc { size_bytes, stack, .. } => (size_bytes, stack),
            Event::Rate { rate: other } => return rate = other,
            _ => return,
        };
        let mean = means.get(&rate.0).filter(|_| rate != RateId::FULL);
        let sum: &mut u64 = sums.entry(stack).or_default();
        *sum = sum.saturating_add(weight(weigh, size_bytes, mean.copied()));
    })?;
    Ok(sums)
}

/// What a block stands for: itself, or when it was sampled all those that were not.
fn weight(weigh: Weigh, size_bytes: u64, mean_bytes: Option<u64>) -> u64 {
    let share = match mean_bytes {
        Some(mean) if size_bytes > 0 => -1.0 / (-(size_bytes as f64) / mean as f64).exp_m1(),
        _ => 1.0,
    };
    match weigh {
        Weigh::Blocks => share.round() as u64,
        Weigh::Bytes if mean_bytes.is_none() => size_bytes,
        Weigh::Bytes => (share * size_bytes as f64).round() as u64,
    }
}
