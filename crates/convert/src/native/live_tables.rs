//! Tables of live blocks, and the sums over what a ring evicted, in a trace that is rewritten. Without them the redacted
//! trace of a ring had a peak of 12,034 bytes in 0 blocks, where it had 828,774 in 4,096.

use std::io::Write;

use anyhow::Result;
use heapscribe_diagnostics::Problem;
use heapscribe_formats::model::{Evicted, LiveBlock, LiveRole, LiveTable, Process, ProcessIndex};
use heapscribe_formats::{Scratch, Source, Trace};

use super::changes::{Changes, RATE};
use super::thin::{RetainedTicks, Thin};
use super::trace_output::TraceOutput;

/// Checks that of a trace without its oldest events no part is wanted that has some of them: what was live then, and
/// what was freed, is not known block by block. `begin_ns` is when the trace begins.
///
/// # Errors
/// When there is such a part, or only a sample is wanted of a table that has no events.
pub(super) fn check<S: Source>(trace: &Trace<S>, thin: &Thin, begin_ns: u64) -> Result<(), Problem> {
    let of_processes = trace.processes().iter().map(|process| &process.evicted);
    let until_ns =
        of_processes.chain([trace.evicted()]).map(|evicted| evicted.until_mono_ns).max().unwrap_or(0);
    let has_before =
        trace.processes().iter().flat_map(|process| &process.live).any(|t| t.role == LiveRole::Before);
    if thin.has_time() && thin.begin_ns(begin_ns) < until_ns {
        let from_s = until_ns.saturating_sub(begin_ns) as f64 / 1e9;
        return Err(Problem::new(
            format!("the ring evicted events before {from_s:.3} s, and the part begins before that"),
            format!("use `--from {from_s:.3}s` or later"),
        ));
    }
    if thin.has_time() && has_before && thin.begin_ns(begin_ns) <= begin_ns {
        return Err(Problem::new(
            "this is the rest of a recording: the blocks that were live at its beginning have no events",
            "use --from with a moment after its beginning",
        ));
    }
    let is_snapshot =
        trace.chunks().is_empty() && trace.processes().iter().any(|process| !process.live.is_empty());
    if is_snapshot && thin.mean_bytes() > 0 {
        return Err(Problem::new("no sample can be taken of a snapshot", "use the snapshot as it is"));
    }
    Ok(())
}

/// Writes the sums over the events that are missing of a process, or of those of which nothing else is there.
pub(super) fn evicted<W: Write>(
    process: Option<ProcessIndex>,
    evicted: &Evicted,
    changes: &Changes<'_>,
    to: &mut TraceOutput<W>,
) {
    // A part that has none of them is whole without.
    if *evicted != Evicted::default() && !changes.thin.is_some_and(Thin::has_time) {
        to.writer.evicted(process, evicted, &mut to.bytes);
    }
}

/// Writes the tables of a process under another number. Gives what could not be read, in words.
pub(super) fn tables<S: Source, W: Write>(
    trace: &Trace<S>,
    process: &Process,
    number: ProcessIndex,
    (changes, retained): (&Changes<'_>, RetainedTicks),
    to: &mut TraceOutput<W>,
) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for table in process.live.iter().filter(|table| is_retained(table, changes)) {
        let mut blocks = Vec::new();
        let skipped = trace.blocks(process.index, table, &mut Scratch::default(), |block| {
            blocks.extend(changed(*block, process.index, changes, retained));
        })?;
        problems.extend(skipped.iter().map(ToString::to_string));
        let name = changes.renamed(table.name.as_bytes());
        let name = String::from_utf8_lossy(&name).into_owned();
        let table = LiveTable { name, blocks: blocks.len() as u64, ..table.clone() };
        to.writer.live(number, &table, &mut to.bytes);
        to.writer.blocks(number, table.number, &blocks, &mut to.bytes);
        to.flush()?;
    }
    Ok(problems)
}

/// Of a part of the time no table is true: what was freed after it is not in the last one, and of one of the
/// beginning no block is in the part. A snapshot that the program took of itself is of all blocks.
fn is_retained(table: &LiveTable, changes: &Changes<'_>) -> bool {
    changes.thin.is_none_or(|thin| !thin.has_time() && table.role != LiveRole::Snapshot)
}

/// A block as it is in the new trace, if it is.
fn changed(
    block: LiveBlock,
    process: ProcessIndex,
    changes: &Changes<'_>,
    retained: RetainedTicks,
) -> Option<LiveBlock> {
    let Some(thin) = changes.thin else { return Some(block) };
    let rate = if thin.mean_bytes() > 0 { RATE } else { block.rate };
    thin.has_live(process.0, &block, retained).then_some(LiveBlock { rate, ..block })
}
