//! From ours to memtrace, see [`super::objects`].
//!
//! *Lost on the way*, besides what is lost there: all processes but one; memory samples.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use heapscribe_formats::memtrace::Order;
use heapscribe_formats::{Process, Scratch, Source, Trace};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::StackId;

use super::objects::{At, Objects, domain, info};
use super::sample_weights::WORD_BYTES;
use crate::in_order::InOrder;
use crate::stacks::Stacks;
use heapscribe_symbols::Resolver;
use heapscribe_units::counted;

/// What a file is not, in words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Converted {
    /// What is not whole.
    pub problems: Vec<String>,
    /// What is not in it as the format has no place for it, or as a ring has evicted the rest of it.
    pub left_out: Vec<String>,
}

/// Converts a process of a trace.
pub fn convert<S: Source, W: Write>(
    trace: &Trace<S>,
    process: &Process,
    resolver: &Resolver,
    out: W,
) -> Result<Converted> {
    let mut problems: Vec<_> = trace.problems().iter().map(ToString::to_string).collect();
    let (mut stacks, mut means) = (Stacks::default(), BTreeMap::new());
    let skipped = trace.definitions(process.index, &mut Scratch::default(), |id, definition| {
        if let Definition::Rate { id, mean_bytes } = definition {
            means.insert(*id, *mean_bytes);
        }
        stacks.take(id, definition);
    })?;
    problems.extend(skipped.iter().map(ToString::to_string));
    let mut order = InOrder::new(trace, process);
    let first = order.first_thread().map_or(0, domain);
    let start_us = start_us(trace, process);
    let host = trace.session().map_or("", |session| &session.host);
    let about = process.info.clone().unwrap_or_default();
    let about = info(&about, host, sample_rate(means.values().copied().min()), start_us, first);
    let mut objects = Objects::create(out, &about, stacks, Order::Direct)?;
    for (id, mean_bytes) in means {
        objects.define(StackId::UNKNOWN, &Definition::Rate { id, mean_bytes });
    }
    objects.name_new(|requests| resolver.resolve(requests));
    while let Some((at, event)) = order.next(trace) {
        let time_us = start_us.saturating_add((at.ns / 1000) as i64);
        objects.event(At { thread: at.thread, ticks: at.ticks, time_us, rate: at.rate }, &event)?;
    }
    problems.extend(order.problems);
    let mut finished = objects.finish()?;
    finished.sink.flush()?;
    let begins_late = !process.evicted.is_empty();
    if begins_late {
        problems.append(&mut finished.problems);
    } else {
        problems.extend(finished.problems_of_whole());
    }
    let unmatched = Some(finished.unmatched_frees).filter(|n| begins_late && *n > 0);
    let unmatched =
        unmatched.map(|n| format!("left out: {} of blocks from before its first event", counted(n, "free")));
    Ok(Converted { problems, left_out: unmatched.into_iter().chain(finished.left_out).collect() })
}

/// The chance of each word to be drawn when samples are this far apart; 1 when every block is recorded.
pub fn sample_rate(mean_bytes: Option<u64>) -> f64 {
    (WORD_BYTES as f64 / mean_bytes.unwrap_or(WORD_BYTES).max(1) as f64).min(1.0)
}

/// The trace's start, us since 1970.
fn start_us<S: Source>(trace: &Trace<S>, process: &Process) -> i64 {
    let info = process.info.clone().unwrap_or_default();
    let before_ns = info.created_mono_ns.saturating_sub(trace.start_mono_ns());
    (info.created_real_ns.saturating_sub(before_ns) / 1000) as i64
}
