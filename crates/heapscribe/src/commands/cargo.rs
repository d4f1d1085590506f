//! `heapscribe cargo`: cargo builds as always, and runs what it built under us. It does so by its own setting for
//! that, `target.TRIPLE.runner`: to record cargo itself would record every compiler that it starts.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result};
use heapscribe_diagnostics::Problem;
use heapscribe_units::counted;

use crate::cli::{self, CargoArgs, CargoRunnerArgs, CargoVerb};
use crate::message;

/// Names beside which another is looked for when several programs have one.
const MOST_OF_A_NAME: u32 = 10_000;

/// Runs the command.
pub(crate) fn run(args: &CargoArgs) -> Result<ExitCode> {
    let folder = target_folder(&args.words)?.join("heapscribe").join(args.verb.name());
    remove_traces(&folder)?;
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let triple = triple(&args.words)?;
    let setting = format!("target.{}.runner={}", toml(&triple), runner(&folder, args.sample.as_deref())?);
    let mut cargo = cargo();
    cargo.arg("--config").arg(setting).arg(args.verb.name()).args(&args.words);
    let status = cargo.status().map_err(|e| not_run("cargo", &e))?;
    print_traces(&folder, args.verb)?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

/// Runs a program that cargo has built, as `record` does, into a trace of its own.
pub(crate) fn run_recorded(args: &CargoRunnerArgs) -> Result<ExitCode> {
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let program = args.words.first().map_or(OsStr::new(""), |word| word.as_os_str());
    let trace = free_name(&args.folder, &trace_name(&package, Path::new(program)))?;
    let mut words: Vec<OsString> =
        ["heapscribe", "record", "--quiet", "--force", "-o"].map(OsString::from).into();
    words.push(trace.into());
    words.extend(args.sample.iter().map(|size| format!("--sample={size}").into()));
    words.push("--".into());
    words.extend(args.words.iter().cloned());
    let parsed = cli::parse_words(words).unwrap_or_else(|e| message::refused(&e));
    match &parsed.command {
        cli::Command::Record(record) => super::record::run(record),
        _ => Err(Problem::new("these words are not those of `record`", "this is a bug of heapscribe").into()),
    }
}

/// The cargo that has started us, else the one in PATH.
fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn not_run(program: &str, cause: &std::io::Error) -> anyhow::Error {
    Problem::new(format!("cannot run {program}: {cause}"), "install Rust: https://rustup.rs").into()
}

/// What a program prints that must succeed.
fn printed(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.stderr(Stdio::inherit()).output().map_err(|e| not_run(&name, &e))?;
    if !done.status.success() {
        let hint = "what it says above is the reason; is this the folder of a Rust package?";
        return Err(Problem::new(format!("{name} failed"), hint).into());
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Where cargo builds: of the package in this folder, or of the one that the words name.
fn target_folder(words: &[OsString]) -> Result<PathBuf> {
    if let Some(folder) = value_of(words, "--target-dir") {
        return Ok(std::path::absolute(folder)?);
    }
    let mut cargo = cargo();
    cargo.args(["metadata", "--no-deps", "--format-version", "1"]);
    if let Some(manifest) = value_of(words, "--manifest-path") {
        cargo.arg("--manifest-path").arg(manifest);
    }
    let metadata: serde_json::Value = serde_json::from_str(&printed(&mut cargo)?)?;
    let folder = metadata["target_directory"].as_str();
    Ok(folder.context("cargo metadata has no target_directory")?.into())
}

/// What is built for: the words' `--target`, else the machine of the compiler.
fn triple(words: &[OsString]) -> Result<String> {
    if let Some(named) = value_of(words, "--target") {
        return Ok(named.to_string_lossy().into_owned());
    }
    let text = printed(Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("-vV"))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.trim().to_owned())
}

/// The value of an option of cargo's: `--name VALUE` or `--name=VALUE`, before the program's own words.
fn value_of<'a>(words: &'a [OsString], name: &str) -> Option<&'a OsStr> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut of_cargo = words.iter().take_while(|word| *word != "--");
    while let Some(word) = of_cargo.next() {
        if word == name {
            return of_cargo.next().map(OsString::as_os_str);
        }
        let rest = word.as_bytes().strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        if let Some(value) = rest {
            return Some(OsStr::from_bytes(value));
        }
    }
    None
}

/// The list of words with which cargo runs a program, in TOML.
fn runner(folder: &Path, sample: Option<&str>) -> Result<String> {
    let ours = std::env::current_exe().context("cannot find this program")?;
    let mut words = vec![text(&ours)?, "cargo-runner".to_owned()];
    words.extend(sample.map(|size| format!("--sample={size}")));
    words.push(text(folder)?);
    Ok(format!("[{}]", words.iter().map(|word| toml(word)).collect::<Vec<_>>().join(", ")))
}

fn text(path: &Path) -> Result<String> {
    let hint = "use a folder with a name in UTF-8, which cargo's settings are written in";
    let named = path.to_str().map(str::to_owned);
    named.ok_or_else(|| Problem::new(format!("{} is not UTF-8", path.display()), hint).into())
}

/// A basic string of TOML.
fn toml(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out + "\""
}

/// `PACKAGE.PROGRAM`, without the sixteen digits that cargo puts behind the name of a test binary; one name
/// where both are the same.
fn trace_name(package: &str, program: &Path) -> String {
    let file = program.file_name().unwrap_or_default().to_string_lossy();
    let is_hash = |end: &str| end.len() == 16 && end.bytes().all(|byte| byte.is_ascii_hexdigit());
    let stem = file.rsplit_once('-').filter(|(_, end)| is_hash(end)).map_or(&*file, |(stem, _)| stem);
    if package.is_empty() || package.replace('-', "_") == stem.replace('-', "_") {
        return stem.to_owned();
    }
    format!("{package}.{stem}")
}

/// A trace's path that no other program of this run has: cargo runs several programs of one name, and doctests
/// at the same time.
fn free_name(folder: &Path, name: &str) -> Result<PathBuf> {
    for number in 1..MOST_OF_A_NAME {
        let path =
            folder.join(if number == 1 { format!("{name}.hst") } else { format!("{name}-{number}.hst") });
        match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(_) => return Ok(path),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e).with_context(|| format!("cannot create {}", path.display())),
        }
    }
    Err(Problem::new(format!("{} is full of {name}", folder.display()), "remove the folder").into())
}

/// Traces, with what belongs to them, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| format!("cannot read {}", folder.display()))?,
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|path| path.is_file());
    files.sort();
    Ok(files)
}

/// Removes the traces of an earlier run, which would be read as if they were of this one.
fn remove_traces(folder: &Path) -> Result<()> {
    let is_ours =
        |path: &PathBuf| [".hst", ".hst.idx"].iter().any(|end| path.to_string_lossy().ends_with(end));
    for path in files(folder)?.into_iter().filter(is_ours) {
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}

fn print_traces(folder: &Path, verb: CargoVerb) -> Result<()> {
    let is_trace = |path: &PathBuf| path.extension() == Some(OsStr::new("hst"));
    let is_written = |path: &PathBuf| fs::metadata(path).is_ok_and(|facts| facts.len() > 0);
    let traces: Vec<PathBuf> = files(folder)?.into_iter().filter(is_trace).filter(is_written).collect();
    let number = counted(traces.len() as u64, "trace");
    message::note(&format!("cargo {}: {number} in {}", verb.name(), folder.display()));
    let here = std::env::current_dir().unwrap_or_default();
    for trace in &traces {
        let path = trace.strip_prefix(&here).unwrap_or(trace);
        message::note(&format!("  heapscribe report {}", path.display()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_traces() {
        let check = |package: &str, program: &str, expected: &str| {
            assert_eq!(trace_name(package, Path::new(program)), expected);
        };
        check("heap-tool", "/t/debug/deps/heap_tool-0123456789abcdef", "heap_tool");
        check("heap-tool", "/t/debug/deps/it-0123456789abcdef", "heap-tool.it");
        check("heap-tool", "/t/debug/heap-tool", "heap-tool");
        check("", "/tmp/x-012345678", "x-012345678");
        check("p", "relative-0123456789abcdeg", "p.relative-0123456789abcdeg");
    }

    #[test]
    fn options_of_cargo_are_found_before_the_dashes() {
        let check = |words: &[&str], expected: Option<&str>| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert_eq!(value_of(&words, "--target"), expected.map(OsStr::new), "{words:?}");
        };
        check(&["-q", "--target", "a", "x"], Some("a"));
        check(&["--target=b", "--target", "a"], Some("b"));
        check(&["--target-dir", "a"], None);
        check(&["--", "--target", "a"], None);
        check(&["--target"], None);
    }

    #[test]
    fn strings_of_toml() {
        assert_eq!(toml("/a b/\"c\"\\\n"), r#""/a b/\"c\"\\\u000A""#);
    }
}
