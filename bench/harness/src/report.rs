//! How results are printed: text, Markdown, JSON. Always with the machine and the command.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::{Value, json};

use crate::machine;
use crate::table::Table;

/// A table, notes on it, and the same for programs.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) key: &'static str,
    pub(crate) title: String,
    pub(crate) notes: Vec<String>,
    pub(crate) table: Table,
    pub(crate) data: Value,
}

/// How a table is printed.
#[derive(Clone, Copy, Default, Debug, Args)]
#[group(multiple = false)]
pub(crate) struct Form {
    /// Print JSON, with every single run
    #[arg(long)]
    pub(crate) json: bool,

    /// Print Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
}

/// Where the parts go, and how.
#[derive(Clone, Default, Debug)]
pub(crate) struct Output {
    pub(crate) form: Form,
    /// A page with a title.
    pub(crate) is_page: bool,
    /// A file; else standard output.
    pub(crate) path: Option<PathBuf>,
}

/// Prints the parts in the form that was asked for, or writes the page.
pub(crate) fn print(output: &Output, facts: &Value, parts: &[Part]) -> Result<()> {
    let out = if output.form.json {
        json(facts, parts)
    } else if output.form.markdown {
        markdown(facts, parts, output.is_page)
    } else {
        text(facts, parts)
    };
    match &output.path {
        Some(path) => fs::write(path, out).with_context(|| format!("{} can not be written", path.display())),
        None => std::io::stdout().write_all(out.as_bytes()).context("standard output"),
    }
}

/// The command that was run, to be run again.
fn command_line() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let release = if cfg!(debug_assertions) { "" } else { "--release " };
    format!("cargo run {release}-p heapscribe-bench -- {}", arguments.join(" "))
}

fn json(facts: &Value, parts: &[Part]) -> String {
    let data: serde_json::Map<String, Value> =
        parts.iter().map(|part| (part.key.to_owned(), part.data.clone())).collect();
    let notes: Vec<&String> = parts.iter().flat_map(|part| &part.notes).collect();
    let all = json!({"machine": facts, "command": command_line(), "notes": notes, "parts": data});
    serde_json::to_string_pretty(&all).unwrap_or_default() + "\n"
}

fn text(facts: &Value, parts: &[Part]) -> String {
    let mut out = format!("{}\n", machine::sentence(facts));
    for part in parts {
        out += &format!("\n{}\n\n{}", part.title, part.table.text());
        part.notes.iter().for_each(|note| out += &format!("{note}\n"));
    }
    out
}

fn markdown(facts: &Value, parts: &[Part], is_page: bool) -> String {
    let mut out = String::new();
    if is_page {
        let date = facts["date"].as_str().unwrap_or_default();
        out += &format!("# Results of {}\n\n", date.split(' ').next().unwrap_or_default());
    }
    out += &format!("{}\n\n    {}\n", machine::sentence(facts), command_line());
    for part in parts {
        out += &format!("\n## {}\n\n{}", part.title, part.table.markdown());
        part.notes.iter().for_each(|note| out += &format!("\n{note}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part() -> Part {
        let mut table = Table::new(&["<program", "x"]);
        table.row(vec!["ls".into(), "1.01".into()]);
        Part {
            key: "corpus",
            title: "Programs".into(),
            notes: vec!["A note.".into()],
            table,
            data: json!([1]),
        }
    }

    fn facts() -> Value {
        json!({
            "date": "2026-01-02 03:04 UTC", "commit": "abc", "cpu": "a CPU", "cores": 2, "memory_gib": 24.0,
            "kernel": "6.1", "system": "Debian", "is_optimized": true, "load_before": "0.10",
            "compilers": {"rustc": "rustc 1", "gcc": "gcc 12", "libc": "glibc 2.36"},
            "cores_busy_for_others": 0.02, "cores_stolen_by_host": 0.01, "took_s": 9
        })
    }

    #[test]
    fn a_page_has_a_title_the_machine_and_its_tables() {
        let page = markdown(&facts(), &[part()], true);
        let page = page.lines().filter(|line| !line.starts_with("    cargo")).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(page, @r"
        # Results of 2026-01-02

        2026-01-02 03:04 UTC, commit abc. 2 cores of a CPU, 24.0 GiB, Debian, Linux 6.1; rustc 1, gcc 12, glibc 2.36. Load before: 0.10; while we measured others kept 0.02 cores busy and the host took 0.01 away, on average over 9 s.


        ## Programs

        | program | x |
        |---|--:|
        | ls | 1.01 |

        A note.
        ");
    }

    #[test]
    fn json_has_machine_command_and_parts() {
        let value: Value = serde_json::from_str(&json(&facts(), &[part()])).unwrap();
        assert_eq!(value["parts"]["corpus"], json!([1]));
        assert_eq!(value["machine"]["commit"], "abc");
        assert!(value["command"].as_str().unwrap().starts_with("cargo run"));
    }
}
