//! Names for the windows of agents, which leave their hosts as build ids and offsets.
//!
//! The question is asked, and tables are made anew, by DuckDB where `HEAPSCRIBE_DUCKDB_PYTHON`, or else `python3`, has it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use heapscribe_convert::tables::read_stacks::{StoredLine, StoredStacks};
use serde_json::Value;

use crate::support::{Place, Report, heapscribe, skip};

/// Function, file and line of the lines of a stack.
type Stack = Vec<(Option<String>, Option<String>, Option<u64>)>;

fn symbols(store: &Path, more: &[&str]) -> Output {
    let mut symbols = heapscribe();
    let output = symbols.args(["symbols", "--store"]).arg(store).args(more).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

fn stored(store: &Path) -> BTreeSet<Stack> {
    let bytes = std::fs::read(store.join("symbols/stacks.parquet")).unwrap();
    let text = |text: Option<&str>| text.map(str::to_owned);
    let line = |of: &StoredLine<'_>| (text(of.function), text(of.file), of.line.map(u64::from));
    let mut all = BTreeSet::new();
    let table = StoredStacks::open(&bytes).unwrap();
    let stack = |_, lines: &[StoredLine<'_>]| {
        all.insert(lines.iter().map(line).collect());
    };
    table.for_each(stack).unwrap();
    all
}

fn reported(trace: &Path) -> BTreeSet<Stack> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let line = |of: &Value| (text(&of["function"]), text(&of["file"]), of["line"].as_u64());
    let report = Report::of(trace).json;
    let stacks = report["stacks"].as_array().unwrap();
    stacks.iter().map(|stack| stack["frames"].as_array().unwrap().iter().map(line).collect()).collect()
}

/// What a script of Python with DuckDB prints.
fn duckdb(script: &str, store: &Path) -> Option<String> {
    let python = std::env::var("HEAPSCRIBE_DUCKDB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    if !Command::new(&python).args(["-c", "import duckdb"]).output().is_ok_and(|out| out.status.success()) {
        skip("duckdb is not there (pip install duckdb)");
        return None;
    }
    let output = Command::new(python).arg("-c").arg(script).arg(store).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn names_are_those_of_the_report() {
    let place = Place::new();
    let program = place.compile("steady.c");
    let (windows, kept) = (place.path("windows"), place.path("kept.hst"));
    let mut agent = heapscribe();
    agent.args(["agent", "--window", "300ms", "--sample", "2KiB", "--service", "shop", "-o"]).arg(&windows);
    agent.arg("--keep-trace").arg(&kept).arg("--").arg(&program).arg("700");
    assert!(agent.output().unwrap().status.success());
    let expected = reported(&kept);
    // The build leaves the host, and comes to where the names are looked up.
    let builds = place.path("builds/deep");
    std::fs::create_dir_all(&builds).unwrap();
    std::fs::rename(&program, builds.join("any name")).unwrap();
    let said = String::from_utf8(symbols(&windows, &[]).stderr).unwrap();
    assert!(said.contains(&format!("of {} (build id ", program.display())), "{said}");
    let has_main = |stacks: &BTreeSet<Stack>| {
        stacks.iter().flatten().any(|(function, ..)| function.as_deref() == Some("main"))
    };
    assert!(!has_main(&stored(&windows)) && has_main(&expected));
    symbols(&windows, &["--files", place.path("builds").to_str().unwrap()]);
    assert_eq!(stored(&windows), expected);
    // What has names keeps them where there are no files.
    std::fs::remove_dir_all(&builds).unwrap();
    symbols(&windows, &[]);
    assert_eq!(stored(&windows), expected);
    let question = "import duckdb, sys; d = sys.argv[1]; print(duckdb.sql(f\"\"\"
        SELECT DISTINCT frames[1].function FROM '{d}/*/*/*.samples.parquet'
        JOIN '{d}/symbols/stacks.parquet' USING (stack)\"\"\").fetchall())";
    if let Some(answer) = duckdb(question, &windows) {
        let functions: BTreeSet<&str> = expected.iter().filter_map(|stack| stack[0].0.as_deref()).collect();
        assert!(functions.contains("handle"), "{functions:?}");
        functions
            .iter()
            .for_each(|name| assert!(answer.contains(&format!("('{name}',)")), "{answer}: {name}"));
        assert_eq!(answer.matches("',)").count(), functions.len(), "{answer}");
    }
    // What an engine made of our tables is read as well, and has the same stacks.
    let merge = "import duckdb, os, sys; d = sys.argv[1]; os.makedirs(d + '/../merged')
for n, name in enumerate(['zstd', 'gzip', 'uncompressed']):
    duckdb.sql(f\"COPY (SELECT * FROM '{d}/symbols/stacks.parquet' WHERE abs(stack % 3) = {n}) \"
        f\"TO '{d}/../merged/{name}.stacks.parquet' (COMPRESSION {name})\")";
    if duckdb(merge, &windows).is_some() {
        let merged = place.path("merged");
        symbols(&merged, &[]);
        assert_eq!(stored(&merged), expected);
    }
}
