//! memtrace files through `convert`: written anew they sum to the same, and what a native trace cannot store is said.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::run::run;

const LIMIT: Duration = Duration::from_secs(120);

/// The figures of a file, and how many of its objects were promoted.
fn sums(program: &Path, trace: &str) -> Result<(String, u64), String> {
    let ran = run(program, &["report", "--json", trace], LIMIT)?;
    let mut report: serde_json::Value = serde_json::from_slice(&ran.stdout).map_err(|e| e.to_string())?;
    // A stack that the file could not give is written as what was known of it.
    report["memtrace"]["hidden_stacks"] = 0.into();
    let figures = ["memtrace", "bytes_allocated", "peak", "leaked", "frees"];
    let figures = figures.map(|key| report[key].to_string()).join(" ");
    Ok((figures, report["memtrace"]["promoted"]["objects"].as_u64().unwrap_or(0)))
}

pub(super) fn check(program: &Path, trace: &Path) -> Result<(), String> {
    let place = std::env::temp_dir().join(format!("heapscribe-conformance-{}", std::process::id()));
    fs::create_dir_all(&place).map_err(|e| e.to_string())?;
    let outcome = in_place(program, trace, &place);
    fs::remove_dir_all(&place).map_err(|e| e.to_string())?;
    outcome
}

fn in_place(program: &Path, trace: &Path, place: &Path) -> Result<(), String> {
    let trace = trace.to_str().ok_or("a path that is no text")?;
    let path = |name: &str| place.join(name).display().to_string();
    let (before, promoted) = sums(program, trace)?;
    run(program, &["convert", trace, "--to", "memtrace", "-o", &path("new.ctf")], LIMIT)?;
    let (after, _) = sums(program, &path("new.ctf"))?;
    if before != after {
        return Err(format!("{after}, should be {before}"));
    }
    let ran = run(program, &["convert", trace, "--to", "native", "-o", &path("there.hst")], LIMIT)?;
    let said = format!("promotions, which a native trace cannot store: {promoted}\n");
    if promoted != 0 && !ran.stderr.contains(&said) {
        return Err(format!("does not say that {promoted} promotions are lost: {}", ran.stderr.trim()));
    }
    let back = ["convert", &path("there.hst"), "--to", "memtrace", "-o", &path("back.ctf")];
    match run(program, &back, LIMIT)?.code {
        Some(1) => Ok(()),
        code => Err(format!("the way back should be refused, is {code:?}")),
    }
}
