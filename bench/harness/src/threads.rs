//! `threads`: how throughput grows with threads, and how much of it remains under each tool.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::cli::ThreadsArgs;
use crate::places::Places;
use crate::report::Part;
use crate::rounds::{Measured, interleave, program_cpu};
use crate::run::{Job, Run};
use crate::table::{Table, cell};
use crate::tool::{self, Tool};

/// The programs, and the operations that all threads together do: some half a second alone.
const PROGRAMS: [(&str, f64); 3] = [("larson", 16e6), ("producer_consumer", 4e6), ("churn", 2e6)];

const EXPLANATION: &str = "Operations are fixed and shared out among the threads: one free and malloc each (larson), one block that is \
allocated by one thread and freed by another (producer_consumer), one block of a thread that lives for a hundred (churn). M/CPU s are \
millions of operations for each second of CPU of the program alone, M/s for each second of its life. The percentages are of what the \
program does alone with as many threads, medians of the rounds.";

/// Measures each program with each number of threads.
pub(crate) fn measure(args: &ThreadsArgs, places: &Places) -> Result<Part> {
    if let Some(name) = args.programs.iter().find(|name| !PROGRAMS.iter().any(|(p, _)| p == name)) {
        bail!("there is no program {name}; there are {}", PROGRAMS.map(|(name, _)| name).join(", "));
    }
    let (tools, mut notes) = tool::chosen(&args.rounds.tools, &Tool::USUAL, places)?;
    notes.insert(0, EXPLANATION.to_owned());
    let mut table =
        Table::new(&["<program", "threads", "<tool", "M/CPU s", "of bare", "M/s", "of bare", "<output"]);
    let mut data = Vec::new();
    for (program, operations) in PROGRAMS {
        if !args.programs.is_empty() && !args.programs.iter().any(|name| name == program) {
            continue;
        }
        for &threads in &args.threads {
            let job = Job {
                command: vec![
                    places.program(program).into(),
                    threads.to_string().into(),
                    format!("{:.0}", operations * args.work).into(),
                ],
                timeout_s: args.rounds.timeout,
                ..Job::default()
            };
            let measured =
                interleave(&format!("{program} {threads}"), &job, &tools, args.rounds.rounds, places)?;
            rows(&mut table, &measured, program, threads);
            data.push(json!({"program": program, "threads": threads, "measured": measured.json()}));
        }
    }
    let title = format!("Threads, {} rounds", args.rounds.rounds);
    Ok(Part { key: "threads", title, notes, table, data: Value::Array(data) })
}

fn rows(table: &mut Table, measured: &Measured, program: &str, threads: u32) {
    for (i, (tool, runs)) in measured.tools.iter().enumerate() {
        let operations = runs.first().and_then(|run| operations(&run.stdout));
        let each = |of: fn(&Run) -> f64| {
            let seconds = measured.median(*tool, of).filter(|&seconds| seconds > 0.0)?;
            Some(operations? as f64 / 1e6 / seconds)
        };
        // Of throughput: the factor the other way round.
        let share = |of: fn(&Run) -> f64| {
            let factor = measured.factor(*tool, of).filter(|_| *tool != Tool::Bare);
            factor.map(|f| format!("{:.0} %", 100.0 / f.median)).unwrap_or_default()
        };
        let (name, threads) =
            if i == 0 { (program.to_owned(), threads.to_string()) } else { Default::default() };
        table.row(vec![
            name,
            threads,
            tool.name().to_owned(),
            cell(each(program_cpu), 2),
            share(program_cpu),
            cell(each(program_wall), 2),
            share(program_wall),
            measured.verdict(*tool),
        ]);
    }
}

fn program_wall(run: &Run) -> f64 {
    run.program.wall_s
}

/// What the program says that it did.
fn operations(stdout: &str) -> Option<u64> {
    stdout.split_once("operations ")?.1.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_what_the_program_says() {
        assert_eq!(operations("operations 9999872 checksum 0000002624dc8018\n"), Some(9_999_872));
        assert_eq!(operations("segmentation fault"), None);
    }
}
