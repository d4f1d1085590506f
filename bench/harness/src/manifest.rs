//! A corpus is a directory with a file `manifest`, a line a program:
//!
//! ```text
//!   NAME [calls=N] [dir=DIR] [env=NAME=VALUE].. [output=FILE].. -- COMMAND ARGUMENTS
//! ```
//! Words are split at blanks and quoted as a shell does (`'..'`, `".."`, `\`); nothing else of a shell is there.
//! `#` begins a comment. `{dir}` is the directory of the manifest, `{tmp}` one that is empty before each run
//! and is where the program runs unless `dir` says otherwise. `output` names files in `{tmp}` that are
//! compared besides standard output. `calls` is for programs whose calls the counting library cannot count.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::run::Job;

/// A program of a corpus.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) calls: Option<u64>,
    pub(crate) directory: Option<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) outputs: Vec<String>,
    pub(crate) command: Vec<String>,
}

impl Program {
    /// It with `values` in the manifest's places, ready to run.
    pub(crate) fn job(&self, manifest: &Path, values: &[(&str, &str)], timeout_s: u64) -> Job {
        let directory = |path: &String| -> PathBuf { manifest.join(filled(path, values)) };
        Job {
            command: self.command.iter().map(|word| filled(word, values).into()).collect(),
            directory: self.directory.as_ref().map(directory),
            environment: self.environment.iter().map(|(n, v)| (n.clone(), filled(v, values))).collect(),
            outputs: self.outputs.clone(),
            timeout_s,
        }
    }
}

/// Those of the corpus in `directory` that are named, or all.
pub(crate) fn chosen(directory: &Path, names: &[String]) -> Result<Vec<Program>> {
    let mut programs = read(directory)?;
    if let Some(name) = names.iter().find(|name| !programs.iter().any(|p| p.name == **name)) {
        let names: Vec<&str> = programs.iter().map(|p| p.name.as_str()).collect();
        bail!("there is no program {name}; there are {}", names.join(", "));
    }
    programs.retain(|p| names.is_empty() || names.contains(&p.name));
    Ok(programs)
}

/// Reads the manifest of the corpus in `directory`.
fn read(directory: &Path) -> Result<Vec<Program>> {
    let path = directory.join("manifest");
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("{} can not be read", path.display()))?;
    parse(&text).with_context(|| path.display().to_string())
}

/// Reads a manifest.
fn parse(text: &str) -> Result<Vec<Program>> {
    let mut programs: Vec<Program> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let program =
            words(line).and_then(|words| program(&words)).with_context(|| format!("line {}", i + 1))?;
        let Some(program) = program else { continue };
        if programs.iter().any(|other| other.name == program.name) {
            bail!("line {}: {} is there twice", i + 1, program.name);
        }
        programs.push(program);
    }
    Ok(programs)
}

fn program(words: &[String]) -> Result<Option<Program>> {
    let Some((name, rest)) = words.split_first() else { return Ok(None) };
    let Some(at) = rest.iter().position(|word| word == "--") else {
        bail!("`--` and a command are missing");
    };
    let mut program = Program { name: name.clone(), command: rest[at + 1..].to_vec(), ..Program::default() };
    if program.command.is_empty() {
        bail!("there is no command behind `--`");
    }
    for word in &rest[..at] {
        match word.split_once('=') {
            Some(("calls", n)) => program.calls = Some(n.parse().with_context(|| format!("calls={n}"))?),
            Some(("dir", directory)) => program.directory = Some(directory.to_owned()),
            Some(("output", file)) => program.outputs.push(file.to_owned()),
            Some(("env", pair)) => {
                let (name, value) = pair.split_once('=').context("env= wants NAME=VALUE")?;
                program.environment.push((name.to_owned(), value.to_owned()));
            }
            _ => bail!("`{word}` is none of calls=, dir=, env=, output="),
        }
    }
    Ok(Some(program))
}

/// The words of a line.
fn words(line: &str) -> Result<Vec<String>> {
    shlex::split(line).context("a quote is not closed, or a `\\` is last")
}

/// Puts values in for `{name}`.
fn filled(text: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn a_program_is_a_line() {
        let text = "# name and command\n\nls -- ls -l\nsql calls=7 dir=data env=A=b=c env=E= output=o.s output=p -- sqlite3 '.read x y' # fast\n";
        let programs = parse(text).unwrap();
        assert_eq!(
            programs[0],
            Program { name: "ls".into(), command: strings(&["ls", "-l"]), ..Program::default() }
        );
        let sql = Program {
            name: "sql".into(),
            calls: Some(7),
            directory: Some("data".into()),
            environment: vec![("A".into(), "b=c".into()), ("E".into(), String::new())],
            outputs: strings(&["o.s", "p"]),
            command: strings(&["sqlite3", ".read x y"]),
        };
        assert_eq!(programs[1..], [sql]);
    }

    #[test]
    fn words_are_quoted_as_in_a_shell() {
        for (line, expected) in [
            ("a  b\tc", &["a", "b", "c"][..]),
            (r#"a'b c'd "e \" 'f'" \ g ''"#, &["ab cd", r#"e " 'f'"#, " g", ""]),
            ("a#b #c", &["a#b"]),
            (" ", &[]),
        ] {
            assert_eq!(words(line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, expected) in [
            ("ls", "line 1: `--` and a command are missing"),
            ("\nls --", "line 2: there is no command behind `--`"),
            ("ls cpu=2 -- ls", "line 1: `cpu=2` is none of calls=, dir=, env=, output="),
            ("ls calls=x -- ls", "line 1: calls=x: invalid digit found in string"),
            ("ls -- 'ls", "line 1: a quote is not closed, or a `\\` is last"),
            ("ls -- ls\nls -- ls", "line 2: ls is there twice"),
        ] {
            assert_eq!(format!("{:#}", parse(text).unwrap_err()), expected);
        }
    }

    #[test]
    fn places_are_filled_in() {
        assert_eq!(filled("{dir}/x {tmp}{dir} {y}", &[("dir", "/d"), ("tmp", "/t")]), "/d/x /t/d {y}");
    }
}
