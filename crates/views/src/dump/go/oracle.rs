//! The heap and the stacks of a Go trace, as small programs around Go's own reader print them: to compare
//! with, and to plot with any tool that takes columns.
//!
//! ```text
//!   layout one   #ts_ns event P value         ns since the first event; tabs between
//!   layout two   #time_units event value      ticks of the file
//!   stacks       stack ID FRAMES, then a line for each: tab address, function, file, line
//! ```

use std::io::{self, Write};

use heapscribe_formats::gotrace::{Event, Layout, Meaning};

use super::printer::{GoTrace, generation};
use heapscribe_symbols::lossy;

/// Go's reader gives collections a P of their own.
const GC_P: i64 = 1_000_004;

/// The line above the heap's.
pub fn heap_heading(out: &mut dyn Write, trace: &GoTrace) -> io::Result<()> {
    match trace.version().layout() {
        Layout::One => writeln!(out, "#ts_ns\tevent\tP\tvalue"),
        Layout::Two => writeln!(out, "#time_units\tevent\tvalue"),
    }
}

/// The line of an event, if it has one.
pub fn heap(out: &mut dyn Write, trace: &GoTrace, event: &Event<'_>) -> io::Result<()> {
    if trace.version().layout() == Layout::Two {
        return match event.meaning() {
            Meaning::HeapLive(bytes) | Meaning::HeapGoal(bytes) => {
                writeln!(out, "{}\t{}\t{bytes}", event.ticks, event.spec.name)
            }
            _ => Ok(()),
        };
    }
    let p = event.lane as i64;
    let (name, p, value) = match event.meaning() {
        Meaning::HeapLive(bytes) => ("heap_live", p, bytes.to_string()),
        Meaning::HeapGoal(bytes) => ("heap_goal", p, bytes.to_string()),
        Meaning::Procs(procs) => ("gomaxprocs", p, procs.to_string()),
        Meaning::GcBegin => ("gc_start", GC_P, event.value(0).to_string()),
        Meaning::GcEnd => ("gc_done", p, "0".to_owned()),
        Meaning::StopBegin(reason) => ("stw_start", p, reason.to_string()),
        Meaning::StopEnd => ("stw_done", p, "0".to_owned()),
        Meaning::SweepEnd { swept_bytes, reclaimed_bytes } => {
            ("sweep_done", p, format!("{swept_bytes},{reclaimed_bytes}"))
        }
        _ => return Ok(()),
    };
    writeln!(out, "{}\t{name}\t{p}\t{value}", trace.ns(event.ticks))
}

/// All stacks, by number. A file of several generations says which one begins.
pub fn stacks(out: &mut dyn Write, trace: &GoTrace) -> io::Result<()> {
    let mut last = None;
    for (index, id) in trace.stack_ids() {
        if trace.generations().len() > 1 && last.replace(index) != Some(index) {
            writeln!(out, "generation {}", generation(trace, index))?;
        }
        let Some(frames) = trace.stack(index, id) else { continue };
        writeln!(out, "stack {id} {}", frames.len())?;
        for frame in frames {
            let (function, file) = (lossy(frame.function), lossy(frame.file));
            writeln!(out, "\t{:#x}\t{function}\t{file}\t{}", frame.pc, frame.line)?;
        }
    }
    Ok(())
}
