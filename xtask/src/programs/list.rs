//! A list of programs, a line each:
//!
//! ```text
//!   NAME [KEY=VALUE].. [quick] [counted] -- COMMAND ARGUMENTS
//! ```
//! Words are split at blanks and quoted as a shell does (`'..'`, `".."`, `\`); `#` begins a comment.
//!
//! | key | what it says |
//! |---|---|
//! | `packages` | Debian packages that it needs, with commas |
//! | `source`, `flags` | a file of `special/` that is compiled to `./p`, and flags for the compiler |
//! | `prepare` | a line for the shell that makes what the program reads, run once, bare |
//! | `env` | a variable, `NAME=VALUE`; can be given several times |
//! | `stdin` | a file that is its standard input, in place of /dev/null |
//! | `code` | how it ends when it is bare, 0 when nothing is said; 128 and the number of a signal |
//! | `seconds` | how long it may take when it is bare; 60 when nothing is said |
//! | `differs` | `MODE:REASON`: why it can not be the same in this mode (`*`: in all) |
//!
//! `quick` programs are those of the short form, `counted` ones those whose calls are counted.

use std::path::Path;

/// A program of a list.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) packages: Vec<String>,
    pub(super) source: Option<String>,
    pub(super) flags: Vec<String>,
    pub(super) prepare: Option<String>,
    pub(super) environment: Vec<(String, String)>,
    pub(super) stdin: Option<String>,
    pub(super) code: i32,
    pub(super) seconds: Option<u64>,
    pub(super) differs: Vec<(String, String)>,
    pub(super) is_quick: bool,
    pub(super) is_counted: bool,
    pub(super) command: Vec<String>,
}

impl Program {
    /// Why it can not be the same in this mode.
    pub(super) fn reason(&self, mode: &str) -> Option<&str> {
        let mut reasons = self.differs.iter().filter(|(of, _)| of == mode || of == "*");
        reasons.next().map(|(_, reason)| reason.as_str())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let text = || value.to_owned();
        let pair = |at: char| {
            let (name, value) = value.split_once(at).ok_or_else(|| format!("{key}= wants a `{at}`"))?;
            Ok::<_, String>((name.to_owned(), value.to_owned()))
        };
        match key {
            "packages" => self.packages = value.split(',').map(str::to_owned).collect(),
            "source" => self.source = Some(text()),
            "flags" => self.flags = value.split(' ').map(str::to_owned).collect(),
            "prepare" => self.prepare = Some(text()),
            "env" => self.environment.push(pair('=')?),
            "stdin" => self.stdin = Some(text()),
            "code" => self.code = value.parse().map_err(|e| format!("code={value}: {e}"))?,
            "seconds" => self.seconds = Some(value.parse().map_err(|e| format!("seconds={value}: {e}"))?),
            "differs" => self.differs.push(pair(':')?),
            _ => return Err(format!("there is no key `{key}`")),
        }
        Ok(())
    }
}

/// Reads a list.
pub(super) fn read(path: &Path) -> Result<Vec<Program>, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    parse(&text).map_err(|why| format!("{}: {why}", path.display()))
}

fn parse(text: &str) -> Result<Vec<Program>, String> {
    let mut programs = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let program = words(line).and_then(|words| program(&words));
        programs.extend(program.map_err(|why| format!("line {}: {why}", i + 1))?);
    }
    Ok(programs)
}

fn program(words: &[String]) -> Result<Option<Program>, String> {
    let Some((name, rest)) = words.split_first() else { return Ok(None) };
    let at = rest.iter().position(|word| word == "--").ok_or("`--` and a command are missing")?;
    let mut program = Program { name: name.clone(), command: rest[at + 1..].to_vec(), ..Program::default() };
    if program.command.is_empty() {
        return Err("there is no command behind `--`".to_owned());
    }
    for word in &rest[..at] {
        match (word.as_str(), word.split_once('=')) {
            ("quick", _) => program.is_quick = true,
            ("counted", _) => program.is_counted = true,
            (_, Some((key, value))) => program.set(key, value)?,
            _ => return Err(format!("`{word}` is neither KEY=VALUE nor quick nor counted")),
        }
    }
    Ok(Some(program))
}

/// The words of a line.
fn words(line: &str) -> Result<Vec<String>, String> {
    shlex::split(line).ok_or_else(|| "a quote is not closed, or a `\\` is last".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_a_line() {
        let text = "# nothing\n\nsql packages=sqlite3,bc quick prepare='echo \"a\" > b' env=A=b=c code=3 \
                    differs='ring:it is so: always' -- sqlite3 '.read x y' # fast\n";
        let programs = parse(text).unwrap();
        let [sql] = &programs[..] else { panic!("{programs:?}") };
        assert_eq!((sql.name.as_str(), sql.code, sql.is_quick, sql.is_counted), ("sql", 3, true, false));
        assert_eq!(sql.packages, ["sqlite3", "bc"]);
        assert_eq!(sql.prepare.as_deref(), Some("echo \"a\" > b"));
        assert_eq!(sql.environment, [("A".to_owned(), "b=c".to_owned())]);
        assert_eq!(sql.command, ["sqlite3", ".read x y"]);
        assert_eq!((sql.reason("ring"), sql.reason("full")), (Some("it is so: always"), None));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, expected) in [
            ("ls", "line 1: `--` and a command are missing"),
            ("\nls --", "line 2: there is no command behind `--`"),
            ("ls cpu=2 -- ls", "line 1: there is no key `cpu`"),
            ("ls fast -- ls", "line 1: `fast` is neither KEY=VALUE nor quick nor counted"),
            ("ls env=A -- ls", "line 1: env= wants a `=`"),
            ("ls code=x -- ls", "line 1: code=x: invalid digit found in string"),
            ("ls -- 'ls", "line 1: a quote is not closed, or a `\\` is last"),
        ] {
            assert_eq!(parse(text).unwrap_err(), expected);
        }
    }
}
