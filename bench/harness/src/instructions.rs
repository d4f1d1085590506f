//! `instructions`: how many instructions a call takes more than without us, counted by callgrind in the real
//! library while it records. Unlike a time a count hardly depends on what else the machine does, so that it can
//! be compared with the one in the repository. It is not the same with another compiler.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::callgrind::{self, Counts};
use crate::cli::InstructionsArgs;
use crate::deep::{Case, Kind, Paths};
use crate::machine;
use crate::places::{self, Places};
use crate::report::Part;
use crate::run::{Job, last_line, run};
use crate::table::{Table, cell};
use crate::tool::{self, Tool};

const CASES: [Case; 5] = [
    Case { kind: Kind::Pair, depth: 8, fresh: 0, paths: Paths::One },
    Case { kind: Kind::Pair, depth: 8, fresh: 3, paths: Paths::Four },
    Case { kind: Kind::Pair, depth: 20, fresh: 10, paths: Paths::Four },
    Case { kind: Kind::Pair, depth: 20, fresh: 10, paths: Paths::New },
    Case { kind: Kind::Realloc, depth: 8, fresh: 0, paths: Paths::One },
];
const TOOLS: [Tool; 6] = [
    Tool::Bare,
    Tool::Count,
    Tool::Loaded,
    Tool::Heapscribe,
    Tool::HeapscribeSampled,
    Tool::HeapscribeLatency,
];

/// Operations of a round. Of two runs that differ by so many rounds only the difference is reported: what the
/// first rounds and the start of the program take is in both.
const OPERATIONS: u64 = 2000;
const ROUNDS: [u64; 2] = [2, 6];
const TIMEOUT_S: u64 = 120;
/// Counts of a tool that records, of which the least is reported.
const COUNTS: u32 = 3;

/// A count has grown when it is larger by this share, and by more than this many instructions.
const GROWTH: f64 = 0.05;
const GROWTH_LEAST: f64 = 2.0;

const EXPLANATION: &str = "Instructions of one operation in user space, counted by callgrind: alone, and what each tool adds to it. \
An operation is a malloc and its free at once, or a realloc. `loaded` is heapscribe's library in a program that nobody records. The \
counts differ a little between compilers and versions of libc.";

/// What was counted, and whether it is more than it was.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) parts: Vec<Part>,
    pub(crate) has_grown: bool,
}

/// Instructions that an operation takes more, by name of the case and name of the tool.
type Added = BTreeMap<String, BTreeMap<String, f64>>;

/// Counts all cases.
pub(crate) fn measure(args: &InstructionsArgs, places: &Places) -> Result<Outcome> {
    let (tools, mut notes) = tool::chosen(&[], &TOOLS, places)?;
    notes.insert(0, EXPLANATION.to_owned());
    let heads = tools
        .iter()
        .map(|tool| if *tool == Tool::Bare { "bare".into() } else { format!("+ {}", tool.name()) });
    let mut table = Table::new(&std::iter::once("<operation".to_owned()).chain(heads).collect::<Vec<_>>());
    let mut added = Added::new();
    let mut parts = Vec::new();
    for case in CASES {
        let counts = tools.iter().map(|&tool| count(&case, tool, places)).collect::<Result<Vec<_>>>()?;
        let each = |counts: &Counts| callgrind::total(counts) as f64 / operations_counted();
        let mut cells = vec![case.name()];
        let of_case = added.entry(case.name()).or_default();
        for (tool, of_tool) in tools.iter().zip(&counts) {
            let more = if *tool == Tool::Bare { each(of_tool) } else { each(of_tool) - each(&counts[0]) };
            cells.push(cell(Some(more), 1));
            if *tool != Tool::Bare {
                of_case.insert(tool.name().to_owned(), (more * 10.0).round() / 10.0);
            }
            if *tool == Tool::Heapscribe {
                parts.push((case.name(), callgrind::by_part(&callgrind::difference(of_tool, &counts[0]))));
            }
        }
        table.row(cells);
    }
    let (comparison, has_grown) = bless_or_compare(args, &added)?;
    notes.extend(comparison);
    let title = "Instructions of an operation".to_owned();
    let whole = Part { key: "instructions", title, notes, table, data: json!(added) };
    Ok(Outcome { parts: vec![whole, by_file(&parts)], has_grown })
}

fn operations_counted() -> f64 {
    (OPERATIONS * (ROUNDS[1] - ROUNDS[0])) as f64
}

/// The least of several counts: what a recorder writes down includes times, which take a few bytes and
/// instructions more where the machine was busy, and never fewer.
fn count(case: &Case, tool: Tool, places: &Places) -> Result<Counts> {
    let times = if tool.writes_traces() { COUNTS } else { 1 };
    let counts = (0..times).map(|_| count_once(case, tool, places)).collect::<Result<Vec<_>>>()?;
    eprintln!("counted {}, {}", case.name(), tool.name());
    counts.into_iter().min_by_key(callgrind::total).context("nothing was counted")
}

/// Instructions of the rounds by which the two runs differ, by file.
fn count_once(case: &Case, tool: Tool, places: &Places) -> Result<Counts> {
    let mut counts = Vec::new();
    for rounds in ROUNDS {
        let out = places.scratch.emptied("callgrind")?.join("out");
        let valgrind = ["valgrind", "--tool=callgrind", "--toggle-collect=measured"].map(Into::into);
        let option = format!("--callgrind-out-file={}", out.display()).into();
        let program = case.command(OPERATIONS, rounds, ROUNDS[1], places);
        let command = valgrind.into_iter().chain([option]).chain(program).collect();
        let job = Job { command, timeout_s: TIMEOUT_S, ..Job::default() };
        let (run, _) = run(&job, tool, places)?;
        if let Some(why) = run.failure {
            bail!("{} under {}: {why}", case.name(), tool.name());
        }
        if run.program.exit_code != 0 {
            let hint =
                if run.program.exit_code == 127 { " (apt-get install valgrind libc6-dbg)" } else { "" };
            bail!("{} under {}: {}{hint}", case.name(), tool.name(), last_line(&run.stderr));
        }
        counts.push(callgrind::read(&out)?);
    }
    Ok(callgrind::difference(&counts[1], &counts[0]))
}

/// Where the instructions of a recorded operation are.
fn by_file(cases: &[(String, Counts)]) -> Part {
    let heads = cases.iter().map(|(name, _)| name.clone());
    let mut table = Table::new(&std::iter::once("<source".to_owned()).chain(heads).collect::<Vec<_>>());
    let mut files: Vec<&String> = cases.iter().flat_map(|(_, counts)| counts.keys()).collect();
    files.sort();
    files.dedup();
    let each =
        |counts: &Counts, file: &str| counts.get(file).map_or(0.0, |&n| n as f64 / operations_counted());
    // Below a tenth of an instruction it is what happens once in a chunk.
    files.retain(|file| cases.iter().any(|(_, counts)| each(counts, file) >= 0.1));
    for file in files {
        let cells = cases.iter().map(|(_, counts)| cell(Some(each(counts, file)).filter(|n| *n >= 0.1), 1));
        table.row(std::iter::once(file.clone()).chain(cells).collect());
    }
    let data = cases.iter().map(|(name, counts)| {
        let counts = counts.iter().map(|(file, &n)| (file.clone(), json!(n as f64 / operations_counted())));
        (name.clone(), Value::Object(counts.collect()))
    });
    let data = Value::Object(data.collect());
    let note = "What `heapscribe record` adds, at the source file that each instruction comes from; inlined code counts where it is written.";
    Part {
        key: "instructions_by_file",
        title: "Where they are".to_owned(),
        notes: vec![note.to_owned()],
        table,
        data,
    }
}

fn kept_path() -> PathBuf {
    places::root().join("bench/instructions.json")
}

const ABOUT: &str = "Instructions that an operation takes more than without us, by case and tool. Written by `cargo run --release -p \
heapscribe-bench -- instructions --bless`; CI fails when one has grown by more than 5 %. Exact counts differ a little between compilers.";

/// Writes the counts, or compares them with those in the repository. Notes, and whether any has grown.
fn bless_or_compare(args: &InstructionsArgs, added: &Added) -> Result<(Vec<String>, bool)> {
    let path = kept_path();
    if args.bless {
        let baseline = json!({"about": ABOUT, "made_with": machine::compilers(), "instructions": added});
        let text = serde_json::to_string_pretty(&baseline)? + "\n";
        std::fs::write(&path, text).with_context(|| format!("{} can not be written", path.display()))?;
        return Ok((vec![format!("Written to {}.", path.display())], false));
    }
    if !args.check {
        return Ok((Vec::new(), false));
    }
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("{} can not be read", path.display()))?;
    let baseline: Value = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
    if baseline["instructions"].as_object().is_none_or(serde_json::Map::is_empty) {
        bail!("{} keeps no counts; --bless writes them", path.display());
    }
    let (mut notes, has_grown) = compare(&baseline["instructions"], added);
    if baseline["made_with"] != machine::compilers() {
        notes.push(format!(
            "The kept counts were made with {}, these with {}.",
            baseline["made_with"],
            machine::compilers()
        ));
    }
    Ok((notes, has_grown))
}

fn compare(baseline: &Value, added: &Added) -> (Vec<String>, bool) {
    let mut notes = Vec::new();
    let mut has_grown = false;
    for (case, tools) in baseline.as_object().into_iter().flatten() {
        for (tool, was) in tools.as_object().into_iter().flatten() {
            let is = added.get(case).and_then(|tools| tools.get(tool));
            let (Some(is), Some(was)) = (is, was.as_f64()) else {
                has_grown = true;
                notes.push(format!("NOT COUNTED: {case}, {tool}."));
                continue;
            };
            let by = is - was;
            if by > was * GROWTH && by > GROWTH_LEAST {
                has_grown = true;
                notes.push(format!(
                    "GROWN: {case}, {tool}: {is} instructions, were {was}. If it is meant, --bless says so."
                ));
            } else if -by > was * GROWTH && -by > GROWTH_LEAST {
                notes.push(format!(
                    "Less: {case}, {tool}: {is} instructions, were {was}; --bless keeps the gain."
                ));
            }
        }
    }
    for (case, tools) in added {
        let new = tools.keys().filter(|tool| baseline[case][tool.as_str()].is_null());
        notes.extend(new.map(|tool| format!("Not kept yet: {case}, {tool}; --bless keeps it.")));
    }
    if notes.is_empty() {
        notes.push("None has grown.".to_owned());
    }
    (notes, has_grown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_fails_and_gain_is_told() {
        let baseline =
            json!({"pair": {"loaded": 20.0, "heapscribe": 400.0}, "realloc": {"heapscribe": 500.0}});
        let check = |loaded, pair, realloc: Option<f64>, expected: &[&str], grown| {
            let mut added = Added::new();
            let tools = [("loaded".to_owned(), loaded), ("heapscribe".to_owned(), pair)];
            added.insert("pair".to_owned(), tools.into());
            if let Some(n) = realloc {
                added.insert("realloc".to_owned(), [("heapscribe".to_owned(), n)].into());
            }
            let (notes, has_grown) = compare(&baseline, &added);
            assert_eq!(has_grown, grown, "{notes:?}");
            assert!(notes.iter().zip(expected).all(|(notes, start)| notes.starts_with(start)), "{notes:?}");
            assert_eq!(notes.len(), expected.len(), "{notes:?}");
        };
        check(20.0, 400.0, Some(500.0), &["None has grown."], false);
        // More than 5 %, but 2 instructions only.
        check(22.0, 419.0, Some(525.0), &["None has grown."], false);
        check(20.0, 421.0, Some(500.0), &["GROWN: pair, heapscribe: 421"], true);
        check(25.0, 300.0, Some(500.0), &["GROWN: pair, loaded: 25", "Less: pair, heapscribe: 300"], true);
        check(20.0, 400.0, None, &["NOT COUNTED: realloc, heapscribe."], true);
    }

    #[test]
    fn what_is_not_kept_yet_is_told() {
        let added = Added::from([("pair".to_owned(), [("loaded".to_owned(), 20.0)].into())]);
        let (notes, has_grown) = compare(&json!({"pair": {}}), &added);
        assert_eq!(
            (notes, has_grown),
            (vec!["Not kept yet: pair, loaded; --bless keeps it.".to_owned()], false)
        );
    }
}
