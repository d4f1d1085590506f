//! `corpus`: whole programs under each tool.

use anyhow::Result;
use serde_json::Value;

use crate::cli::CorpusArgs;
use crate::inputs;
use crate::manifest::{self, Program};
use crate::places::Places;
use crate::report::Part;
use crate::rounds::{Measured, all_cpu, all_wall, interleave, peak_rss, program_cpu};
use crate::run::Job;
use crate::statistics::geometric_mean;
use crate::table::{Table, cell, thousands};
use crate::tool::{self, Tool};

/// Below so many calls a figure for each call is noise.
const CALLS_LEAST: u64 = 1_000_000;

/// Measures the corpus: the table of all programs, and that of the means.
pub(crate) fn measure(args: &CorpusArgs, places: &Places) -> Result<Vec<Part>> {
    let (tools, mut notes) = tool::chosen(&args.rounds.tools, &Tool::USUAL, places)?;
    let mut measured = Vec::new();
    for (program, job) in jobs(args, places)? {
        let mut of_program = interleave(&program.name, &job, &tools, args.rounds.rounds, places)?;
        of_program.calls = program.calls.or(of_program.calls);
        measured.push(of_program);
    }
    notes.insert(0, EXPLANATION.to_owned());
    let data: Vec<Value> = measured.iter().map(Measured::json).collect();
    let programs = Part {
        key: "corpus",
        title: format!("Programs, {} rounds", args.rounds.rounds),
        notes,
        table: programs_table(&measured, &tools),
        data: data.into(),
    };
    Ok(vec![programs, means(&measured, &tools)])
}

const EXPLANATION: &str = "CPU is user and system time. program x is the program with its children, all x everything that the tool \
started besides, wall x the time that one waits, RSS x the largest resident size of the program, each divided by that of the program \
alone in the same round; medians of the rounds, from - to is the range of program x. A call is one of malloc, calloc, realloc, an \
aligned one, or free of a block, as counted by `count`; ns are what it takes more than alone. seen: share of these calls that the \
trace has.";

const MEANS: &str = "Over the programs of at least a million calls (as far as they were counted) that ran the same under every tool. \
Compare them with means over the same programs only.";

/// The programs that were asked for, ready to run.
fn jobs(args: &CorpusArgs, places: &Places) -> Result<Vec<(Program, Job)>> {
    let directory = args.corpus.clone().unwrap_or_else(|| places.programs.clone());
    let directory = directory.canonicalize().unwrap_or(directory);
    let programs = manifest::chosen(&directory, &args.programs)?;
    let (built, inputs) =
        (&places.built, if args.corpus.is_none() { inputs::write(places)? } else { directory.clone() });
    let work = places.scratch.emptied("work")?;
    let cc1plus = if args.corpus.is_none() { inputs::cc1plus()? } else { String::new() };
    let values = [
        ("dir", &*directory.to_string_lossy()),
        ("tmp", &*work.to_string_lossy()),
        ("built", &*built.to_string_lossy()),
        ("inputs", &*inputs.to_string_lossy()),
        ("cc1plus", &cc1plus),
    ];
    let job = |program: &Program| program.job(&directory, &values, args.rounds.timeout);
    Ok(programs.into_iter().map(|program| (program.clone(), job(&program))).collect())
}

fn programs_table(measured: &[Measured], tools: &[Tool]) -> Table {
    let mut table = Table::new(&[
        "<program",
        "calls",
        "<tool",
        "CPU s",
        "program x",
        "from - to",
        "all x",
        "wall x",
        "RSS x",
        "ns/call",
        "all ns/call",
        "trace bytes/call",
        "seen",
        "<output",
    ]);
    for m in measured {
        for (i, &tool) in tools.iter().enumerate() {
            let (name, calls) = match i {
                0 => (m.name.clone(), m.calls.map(thousands).unwrap_or_default()),
                _ => Default::default(),
            };
            table.row([vec![name, calls, tool.name().to_owned()], figures(m, tool)].concat());
        }
    }
    table
}

/// The cells of one program under one tool.
fn figures(m: &Measured, tool: Tool) -> Vec<String> {
    let cpu = cell(m.median(tool, program_cpu), 3);
    let verdict = m.verdict(tool);
    if tool == Tool::Bare {
        let empty = vec![String::new(); 9];
        return [vec![cpu], empty, vec![verdict]].concat();
    }
    let factor = m.factor(tool, program_cpu);
    let has_calls = m.calls.is_some_and(|calls| calls >= CALLS_LEAST);
    let per_call = |ns: Option<f64>| cell(ns.filter(|_| has_calls), 1);
    let seen = match (tool, m.recorded_calls(), m.calls) {
        (Tool::Heapscribe, Some(recorded), Some(calls)) if calls > 0 => {
            format!("{:.2} %", 100.0 * recorded as f64 / calls as f64)
        }
        _ => String::new(),
    };
    vec![
        cpu,
        cell(factor.map(|f| f.median), 2),
        factor.map(|f| format!("{:.2} - {:.2}", f.least, f.most)).unwrap_or_default(),
        cell(m.factor(tool, all_cpu).map(|f| f.median), 2),
        cell(m.factor(tool, all_wall).map(|f| f.median), 2),
        cell(m.factor(tool, peak_rss).map(|f| f.median), 2),
        per_call(m.ns_per_call(tool, program_cpu)),
        per_call(m.ns_per_call(tool, all_cpu)),
        cell(m.bytes_per_call(tool), 2),
        seen,
        verdict,
    ]
}

/// Geometric means of the factors, over programs that every tool ran and that use the heap.
fn means(measured: &[Measured], tools: &[Tool]) -> Part {
    let uses_heap = |m: &&Measured| m.calls.is_none_or(|calls| calls >= CALLS_LEAST);
    let ran = |m: &&Measured| tools.iter().all(|&tool| m.verdict(tool).starts_with("same"));
    let programs: Vec<&Measured> = measured.iter().filter(uses_heap).filter(ran).collect();
    let mut table = Table::new(&["<tool", "program x", "all x", "wall x", "RSS x"]);
    let mut data = serde_json::Map::new();
    for &tool in tools.iter().filter(|&&tool| tool != Tool::Bare) {
        let values = [program_cpu, all_cpu, all_wall, peak_rss].map(|of| {
            let factors: Vec<f64> =
                programs.iter().filter_map(|m| Some(m.factor(tool, of)?.median)).collect();
            geometric_mean(&factors)
        });
        table.row([vec![tool.name().to_owned()], values.iter().map(|&v| cell(v, 3)).collect()].concat());
        let [program, all, wall, rss] = values;
        data.insert(
            tool.name().to_owned(),
            serde_json::json!({"program": program, "all": all, "wall": wall, "peak_rss": rss}),
        );
    }
    Part {
        key: "corpus_means",
        title: format!("Geometric means of {} programs", programs.len()),
        notes: vec![MEANS.to_owned()],
        table,
        data: data.into(),
    }
}
