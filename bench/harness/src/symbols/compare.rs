//! Heapscribe's symbolizer, addr2line and llvm-symbolizer in turn over the same addresses of a file: CPU, memory, and
//! how many names and lines each finds.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::answer::{Counts, Place, places, same_lines};
use super::draw;
use crate::cli::SymbolsArgs;
use crate::places::Places;
use crate::report::Part;
use crate::run::{Cost, cost};
use crate::statistics::median;
use crate::table::{Table, cell, thousands};

/// Who gives names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Symbolizer {
    Heapscribe,
    Llvm,
    Addr2line,
}

const ALL: [Symbolizer; 3] = [Symbolizer::Heapscribe, Symbolizer::Llvm, Symbolizer::Addr2line];

const EXPLANATION: &str = "The same addresses for each, drawn from the code of the file's functions, in one process that is given them on \
standard input and prints function, file and line of each with inlined calls and demangled names: `heapscribe-bench symbol-work FILE` \
(crate heapscribe-symbols, all cores), `llvm-symbolizer --output-style=GNU -a -f -i -C -e FILE`, `addr2line -a -f -i -C -e FILE`. CPU is user \
and system time, memory the largest resident size; medians of the rounds. Functions: frames that were printed, inlined ones included. \
Same line: of how many addresses the innermost function's file and line are those of llvm-symbolizer, none included.";

/// One symbolizer on one file.
struct Measured {
    symbolizer: Symbolizer,
    costs: Vec<Cost>,
    places: Vec<Place>,
    failure: Option<String>,
}

/// Measures each file.
pub(crate) fn measure(args: &SymbolsArgs, places: &Places) -> Result<Part> {
    let mut table = Table::new(&[
        "<file",
        "MB",
        "<tool",
        "CPU s",
        "wall s",
        "peak MiB",
        "us/address",
        "with name",
        "with line",
        "functions",
        "same line",
    ]);
    let mut data = Vec::new();
    for file in &args.files {
        let file = file.canonicalize().with_context(|| format!("{} is not there", file.display()))?;
        let measured = of_file(&file, args, places)?;
        let reference = &measured[ALL.iter().position(|&s| s == Symbolizer::Llvm).unwrap_or(0)].places;
        for (i, m) in measured.iter().enumerate() {
            table.row([of_whole_file(&file, i), row(m, reference)].concat());
        }
        data.push(json!({"file": file, "tools": measured.iter().map(json_of).collect::<Vec<_>>()}));
    }
    let title = format!("{} addresses, {} rounds", thousands(args.addresses as u64), args.rounds);
    Ok(Part { key: "symbols", title, notes: vec![EXPLANATION.to_owned()], table, data: data.into() })
}

fn of_file(file: &Path, args: &SymbolsArgs, places: &Places) -> Result<Vec<Measured>> {
    let directory = places.scratch.emptied("symbols")?;
    let addresses = draw::addresses(file, args.addresses)?;
    let list = directory.join("addresses");
    fs::write(&list, addresses.iter().map(|address| format!("{address:#x}\n")).collect::<String>())?;
    let new = |symbolizer| Measured { symbolizer, costs: Vec::new(), places: Vec::new(), failure: None };
    let mut all = ALL.map(new);
    for round in 0..args.rounds as usize {
        for i in 0..all.len() {
            let m = &mut all[(round + i) % ALL.len()];
            if m.failure.is_none() {
                once(m, file, &list, args.timeout, places)?;
            }
        }
    }
    Ok(all.into())
}

/// Runs it once.
fn once(m: &mut Measured, file: &Path, list: &Path, timeout_s: u64, places: &Places) -> Result<()> {
    let directory = list.parent().unwrap_or(list);
    let [note, out, err] = ["note", "out", "err"].map(|name| directory.join(name));
    let mut command = Command::new(places.program("rusage"));
    command.args([&note, &out, &err]).args(["--", "timeout"]).arg(timeout_s.to_string());
    command.args(m.symbolizer.command()?).arg(file).stdin(File::open(list)?);
    command.status().context("the stop watch can not be started")?;
    let cost = cost(&note).with_context(|| format!("{} was not run", m.symbolizer.name()))?;
    eprintln!("{} {:<16} {:8.3} s of CPU", file.display(), m.symbolizer.name(), cost.cpu_s);
    match cost.exit_code {
        0 => m.places = self::places(&fs::read_to_string(&out)?),
        124 => m.failure = Some(format!("stopped after {timeout_s} s")),
        _ => bail!("{} ended with {}: {}", m.symbolizer.name(), cost.exit_code, fs::read_to_string(&err)?),
    }
    m.costs.push(cost);
    Ok(())
}

impl Symbolizer {
    fn name(self) -> &'static str {
        match self {
            Symbolizer::Heapscribe => "heapscribe",
            Symbolizer::Llvm => "llvm-symbolizer",
            Symbolizer::Addr2line => "addr2line",
        }
    }

    /// What stands before the file.
    fn command(self) -> Result<Vec<PathBuf>> {
        let words = |words: &[&str]| words.iter().map(PathBuf::from).collect();
        Ok(match self {
            Symbolizer::Heapscribe => vec![std::env::current_exe()?, "symbol-work".into()],
            Symbolizer::Llvm => {
                words(&["llvm-symbolizer", "--output-style=GNU", "-a", "-f", "-i", "-C", "-e"])
            }
            Symbolizer::Addr2line => words(&["addr2line", "-a", "-f", "-i", "-C", "-e"]),
        })
    }
}

fn of_whole_file(file: &Path, row: usize) -> Vec<String> {
    if row > 0 {
        return vec![String::new(); 2];
    }
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    vec![name, fs::metadata(file).map(|meta| thousands(meta.len() / 1_000_000)).unwrap_or_default()]
}

fn row(m: &Measured, reference: &[Place]) -> Vec<String> {
    let of = |value: fn(&Cost) -> f64| median(&m.costs.iter().map(value).collect::<Vec<_>>());
    let cpu_s = of(|cost| cost.cpu_s);
    let counts = Counts::of(&m.places);
    let percent = |count: usize| format!("{:.1} %", 100.0 * count as f64 / counts.asked.max(1) as f64);
    let tool = match &m.failure {
        Some(failure) => return vec![format!("{}: {failure}", m.symbolizer.name()), cell(cpu_s, 2)],
        None => m.symbolizer.name().to_owned(),
    };
    vec![
        tool,
        cell(cpu_s, 2),
        cell(of(|cost| cost.wall_s), 2),
        cell(of(|cost| cost.peak_rss_kib as f64 / 1024.0), 0),
        cell(cpu_s.map(|cpu_s| cpu_s * 1e6 / counts.asked.max(1) as f64), 1),
        percent(counts.with_name),
        percent(counts.with_line),
        thousands(counts.functions as u64),
        percent(same_lines(&m.places, reference)),
    ]
}

fn json_of(m: &Measured) -> Value {
    let counts = Counts::of(&m.places);
    let runs = m
        .costs
        .iter()
        .map(|cost| json!({"cpu_s": cost.cpu_s, "wall_s": cost.wall_s, "peak_rss_kib": cost.peak_rss_kib}));
    json!({
        "tool": m.symbolizer.name(),
        "runs": runs.collect::<Vec<_>>(),
        "failure": m.failure,
        "asked": counts.asked,
        "with_name": counts.with_name,
        "with_line": counts.with_line,
        "functions": counts.functions,
    })
}
