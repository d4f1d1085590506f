//! `heaps`: how long a call of a heap takes, up to the ten-thousandth part that takes longest, and how much
//! memory a heap takes for what is live. Each run is a process of its own ([`super::work`]); in each round every heap
//! runs once, beginning with another one each time. The least of all rounds is reported: other work on the
//! machine only ever adds.

use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::cli::HeapsArgs;
use crate::compared_heap::ComparedHeap;
use crate::report::Part;
use crate::sizes::Sizes;
use crate::statistics::least;
use crate::table::{Table, cell};

const FIGURES: [&str; 5] = ["p50", "p99", "p99.9", "p99.99", "max"];
const FOOTPRINT_BYTES: usize = 64 << 20;

const LATENCY_NOTE: &str = "ns of a call, from the time stamp counter between fences, less what reading it takes; the least of all rounds for \
each figure. Sizes are log-uniform from 16 bytes to 64 KiB; `shifting` goes through 20 phases of 16-256, 256-4K, 4K-64K, 40-1500 and \
16-64K bytes; `small` ones are from 16 bytes to 1 KiB. A block that chance picks is freed, another one got in its place, its pages touched (not timed). Live blocks and \
operations are those of all threads together; a quarter more operations warm up. Calls of over 20 us during which the kernel took \
the core away are left out (`left out`, of all rounds). tlsf and rlsf have one prefaulted pool and the same lock, `tlsf-cached` keeps 64 KiB for each thread; rlsf is told the alignment of what \
it frees, for which a `free` of libc's would need a header.";
const FOOTPRINT_NOTE: &str = "Resident memory above that of the empty process, divided by the bytes asked for and live (64 MiB all the time, one \
thread): the highest seen and the mean, the least of all rounds. Pools are not prefaulted here, so that only what is touched counts.";

/// What is measured, but for the heap.
#[derive(Clone, Copy, Debug)]
struct Case {
    live: usize,
    threads: usize,
    sizes: Sizes,
    footprint_bytes: Option<usize>,
}

/// Measures latencies, then footprints.
pub(crate) fn measure(args: &HeapsArgs) -> Result<Vec<Part>> {
    let heaps = if args.heaps.is_empty() { ComparedHeap::all() } else { args.heaps.clone() };
    let mut latency = Table::new(&[
        "live",
        "threads",
        "<sizes",
        "<heap",
        "malloc p50",
        "p99",
        "p99.9",
        "p99.99",
        "max",
        "free p50",
        "p99",
        "p99.9",
        "p99.99",
        "max",
        "left out",
    ]);
    let mut data = Vec::new();
    for &live in &args.live {
        for &threads in &args.threads {
            for &sizes in &args.sizes {
                let case = Case { live, threads, sizes, footprint_bytes: None };
                let runs = interleave(args, case, &heaps, args.operations)?;
                add_latency(&mut latency, case, &runs);
                data.push(as_json(case, &runs));
            }
        }
    }
    let mut footprint = Table::new(&["<sizes", "<heap", "peak / live", "mean / live"]);
    let mut footprints = Vec::new();
    for &sizes in args.sizes.iter().filter(|&&sizes| sizes != Sizes::Small) {
        let case = Case { live: 0, threads: 1, sizes, footprint_bytes: Some(FOOTPRINT_BYTES) };
        let runs = interleave(args, case, &heaps, args.footprint_operations)?;
        for (i, (heap, results)) in runs.iter().enumerate() {
            let figure = |name: &str| cell(least_of(results, |run| run[name].as_f64()), 2);
            let sizes = if i == 0 { case.sizes.name() } else { String::new() };
            footprint.row(vec![sizes, heap.name(), figure("peak"), figure("mean")]);
        }
        footprints.push(as_json(case, &runs));
    }
    let title = |what: &str| format!("{what}, least of {} rounds", args.rounds);
    let notes = |note: &str| vec![note.to_owned()];
    Ok(vec![
        Part {
            key: "latency",
            title: title("A call of a heap"),
            notes: notes(LATENCY_NOTE),
            table: latency,
            data: data.into(),
        },
        Part {
            key: "footprint",
            title: title("Memory for what is live"),
            notes: notes(FOOTPRINT_NOTE),
            table: footprint,
            data: footprints.into(),
        },
    ])
}

fn as_json(case: Case, runs: &[(ComparedHeap, Vec<Value>)]) -> Value {
    let runs: serde_json::Map<String, Value> =
        runs.iter().map(|(heap, results)| (heap.name(), json!(results))).collect();
    json!({"live": case.live, "threads": case.threads, "sizes": case.sizes.name(), "runs": runs})
}

/// The least of a figure.
fn least_of(results: &[Value], figure: impl Fn(&Value) -> Option<f64>) -> Option<f64> {
    least(&results.iter().filter_map(figure).collect::<Vec<_>>())
}

fn add_latency(table: &mut Table, case: Case, runs: &[(ComparedHeap, Vec<Value>)]) {
    for (i, (heap, results)) in runs.iter().enumerate() {
        let what = [case.live.to_string(), case.threads.to_string(), case.sizes.name()];
        let mut cells: Vec<String> = if i == 0 { what.into() } else { vec![String::new(); 3] };
        cells.push(heap.name());
        for call in ["malloc", "free"] {
            cells.extend(FIGURES.map(|name| cell(least_of(results, |run| run[call][name].as_f64()), 0)));
        }
        let left_out: u64 = results.iter().filter_map(|run| run["left_out"].as_u64()).sum();
        cells.push(left_out.to_string());
        table.row(cells);
    }
}

/// Runs every heap `rounds` times in turn.
fn interleave(
    args: &HeapsArgs,
    case: Case,
    heaps: &[ComparedHeap],
    operations: usize,
) -> Result<Vec<(ComparedHeap, Vec<Value>)>> {
    let mut runs: Vec<(ComparedHeap, Vec<Value>)> = heaps.iter().map(|&heap| (heap, Vec::new())).collect();
    for round in 0..args.rounds as usize {
        for i in 0..runs.len() {
            let number = (round + i) % runs.len();
            let (heap, results) = &mut runs[number];
            eprintln!("{} live, {} threads, {}: {}", case.live, case.threads, case.sizes.name(), heap.name());
            results.push(run(case, *heap, operations, round)?);
        }
    }
    Ok(runs)
}

fn run(case: Case, heap: ComparedHeap, operations: usize, round: usize) -> Result<Value> {
    let mut command = Command::new(std::env::current_exe().context("this program is nowhere")?);
    command.args(["heap-work", "--heap", &heap.name(), "--live", &case.live.to_string()]);
    command.args(["--threads", &case.threads.to_string(), "--operations", &operations.to_string()]);
    command.args(["--seed", &(round + 1).to_string()]);
    command.args(["--sizes", &case.sizes.name()]);
    if let Some(bytes) = case.footprint_bytes {
        command.args(["--footprint-bytes", &bytes.to_string()]);
    }
    let output = command.output().context("this program can not be run again")?;
    if !output.status.success() {
        bail!("{}: {}: {}", heap.name(), output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).context("a run printed what is no JSON")
}
