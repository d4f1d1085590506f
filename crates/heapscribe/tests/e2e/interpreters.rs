//! Interpreters whose frames are not in stacks: the report says which, and why.

use std::path::PathBuf;

use crate::support::{Place, Report, Run, skip};

/// Records a script given as text, and looks for what the report has of its interpreter.
fn check(program: &str, option: &str, script: &str, expected: [&str; 3], line: &str) {
    let path = match program.strip_prefix('~') {
        Some(rest) => PathBuf::from(std::env::var("HOME").unwrap_or_default() + rest),
        None => PathBuf::from(program),
    };
    if !path.exists() {
        return skip(format_args!("there is no {program}"));
    }
    let place = Place::new();
    let run = Run::new(&place, &path).args([option, script]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let trace = run.trace();
    let interpreters = Report::of(&trace).json["interpreters"].clone();
    let of = |key: &str| interpreters[0][key].as_str().unwrap_or("-").to_owned();
    assert_eq!(["language", "version", "frames_read"].map(of), expected, "{interpreters}");
    let shown = run.report(&["--full"]);
    assert_eq!(shown.contains("Stacks without the frames of"), !line.is_empty(), "{shown}");
    assert!(shown.contains(line), "{shown}");

    let native = run.options(["--no-interpreter-frames"]);
    assert_eq!(native.recorded().code, 0);
    assert!(Report::of(&native.trace()).json["interpreters"].is_null(), "nobody has asked for them");
}

#[test]
fn a_version_that_is_not_known() {
    let script = "a = [bytes(1000 + i) for i in range(100)]";
    let line = "Stacks without the frames of CPython 3.7: this version is not known";
    check("~/.pyenv/versions/3.7.16/bin/python3", "-c", script, ["python", "3.7", "version"], line);
}

#[test]
fn a_language_that_is_not_read() {
    let line = "Stacks without the frames of Perl: they are not read yet";
    check("/usr/bin/perl", "-e", "my @a = map { 'x' x $_ } 1..1000;", ["perl", "-", "language"], line);
    let line = "Stacks without the frames of Ruby: they are not read yet";
    check(
        "/usr/bin/ruby",
        "-e",
        "$k = (1..1000).map { |i| 'x' * (1000 + i) }",
        ["ruby", "-", "language"],
        line,
    );
    let line = "Stacks without the frames of Lua: they are not read yet";
    let script = "k = {} for i = 1, 1000 do k[i] = string.rep('x', 1000 + i) end";
    check("/usr/bin/lua5.4", "-e", script, ["lua", "-", "language"], line);
}

#[test]
fn code_that_a_jit_compiler_makes() {
    let line = "Stacks without the frames of Java: they are not read, `record --jit`";
    check("/usr/bin/java", "-XX:+UseSerialGC", "-version", ["java", "-", "language"], line);
}

#[test]
fn frames_that_are_read_have_no_line() {
    let script = "a = [bytes(1000 + i) for i in range(100)]";
    check("~/.pyenv/versions/3.13.0/bin/python3", "-c", script, ["python", "3.13", "yes"], "");
    check("/usr/bin/node", "-e", "Buffer.alloc(1e6)", ["javascript", "-", "yes"], "");
}
