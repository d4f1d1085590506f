//! `heapscribe reference`: every command and every flag in Markdown, for the documentation.

use std::fmt::Write as _;
use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Arg, Command};

use crate::cli::{self, GROUPS, ReferenceArgs};
use crate::exit;

/// The page.
const FILE_NAME: &str = "cli.md";

/// Runs the command.
pub(crate) fn run(args: &ReferenceArgs) -> Result<ExitCode> {
    fs::create_dir_all(&args.to).with_context(|| format!("cannot create {}", args.to.display()))?;
    let path = args.to.join(FILE_NAME);
    fs::write(&path, page()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn page() -> String {
    let mut root = cli::command().disable_help_subcommand(true);
    root.build();
    let mut page = "# Command line\n\nThis page is generated from the program's own `--help`.\n".to_owned();
    for group in &GROUPS {
        let commands = group.commands.iter().filter_map(|name| root.find_subcommand(name));
        let _ = writeln!(page, "\n## {}", group.title);
        commands.for_each(|command| section(&mut page, command, 3));
    }
    let _ = writeln!(page, "\n## Exit codes\n\nOf `heapscribe check`:\n\n{}", code(exit::CHECK_HELP));
    let _ = writeln!(page, "Of all other commands:\n\n{}", code(exit::HELP));
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

/// Lines of an exit code list, without its heading.
fn code(text: &str) -> String {
    let lines = text.lines().skip(1).collect::<Vec<_>>().join("\n");
    format!("```text\n{lines}\n```\n")
}

/// A command with its flags, and its subcommands one level deeper.
fn section(page: &mut String, command: &Command, depth: usize) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let _ = writeln!(page, "\n{} `{name}`\n", "#".repeat(depth));
    if let Some(about) = command.get_about() {
        let _ = writeln!(page, "{about}.\n");
    }
    let usage = command.clone().render_usage().to_string();
    let _ = writeln!(page, "```text\n{usage}\n```");
    if let Some(examples) = command.get_before_help() {
        let examples = examples.to_string();
        let lines = examples.lines().skip(1).map(|line| line.strip_prefix("  ").unwrap_or(line));
        let _ = writeln!(page, "\n```console\n{}\n```", lines.collect::<Vec<_>>().join("\n").trim_end());
    }
    for heading in headings(command) {
        let _ = writeln!(page, "\n{}\n", heading.map_or("Options:".to_owned(), |title| format!("{title}:")));
        let arguments = visible(command).filter(|argument| argument.get_help_heading() == heading);
        arguments.for_each(|argument| entry(page, argument));
    }
    notes(page, command);
    let subcommands = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
    subcommands.for_each(|subcommand| section(page, subcommand, depth + 1));
}

/// Arguments that help shows; help itself is the same everywhere.
fn visible(command: &Command) -> impl Iterator<Item = &Arg> {
    let is_help = |argument: &Arg| ["help", "version"].contains(&argument.get_id().as_str());
    command.get_arguments().filter(move |argument| !argument.is_hide_set() && !is_help(argument))
}

/// Headings of arguments, in order; `None` is the one without a name.
fn headings(command: &Command) -> Vec<Option<&str>> {
    let mut headings = Vec::new();
    for heading in visible(command).map(Arg::get_help_heading) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    headings
}

/// `` - `--top <N>`: How many. Default: `10` ``
fn entry(page: &mut String, argument: &Arg) {
    let short = argument.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let _ = write!(page, "- `{short}{}`: {}", argument.to_string().trim(), escaped(&sentences(&help)));
    let values: Vec<_> =
        argument.get_possible_values().into_iter().filter(|value| !value.is_hide_set()).collect();
    let default: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let takes_value = argument.get_action().takes_values();
    if takes_value && !default.is_empty() {
        let _ = write!(page, ". Default: `{}`", default.join(","));
    }
    page.push('\n');
    for value in values.iter().filter(|_| takes_value) {
        let help =
            value.get_help().map(|help| format!(": {}", escaped(&help.to_string()))).unwrap_or_default();
        let _ = writeln!(page, "  - `{}`{help}", value.get_name());
    }
}

/// The paragraphs of a help text as sentences of one paragraph, without a full stop at the end.
fn sentences(help: &str) -> String {
    let paragraphs = help.split("\n\n").map(|paragraph| {
        let words: Vec<_> = paragraph.split_whitespace().collect();
        words.join(" ").trim_end_matches('.').to_owned()
    });
    paragraphs.collect::<Vec<_>>().join(". ")
}

/// What Markdown would take for its own: `<program>` is no HTML, `*` no emphasis.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    let mut is_code = false;
    for c in text.chars() {
        is_code ^= c == '`';
        if !is_code && matches!(c, '<' | '>' | '*' | '_' | '[' | ']') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// What `--help` has after the flags, without the exit codes.
fn notes(page: &mut String, command: &Command) {
    let Some(notes) = command.get_after_long_help() else { return };
    let notes = notes.to_string().replace(exit::HELP, "");
    let _ = writeln!(page, "\n```text\n{}\n```", notes.trim());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_flags(page: &str, command: &Command) {
        for argument in visible(command) {
            if let Some(long) = argument.get_long() {
                assert!(page.contains(&format!("--{long}")), "{} --{long}", command.get_name());
            }
        }
        command.get_subcommands().filter(|command| !command.is_hide_set()).for_each(|c| check_flags(page, c));
    }

    #[test]
    fn every_command_has_its_section_with_every_flag() {
        let page = page();
        let mut root = cli::command().disable_help_subcommand(true);
        root.build();
        for command in root.get_subcommands().filter(|command| !command.is_hide_set()) {
            let title = format!("\n### `heapscribe {}`\n", command.get_name());
            let begin = page.find(&title).unwrap_or_else(|| panic!("{title} is missing"));
            let section = &page[begin + title.len()..];
            let end = section.find("\n### ").unwrap_or(section.len());
            check_flags(&section[..end], command);
        }
    }

    #[test]
    fn paragraphs_become_sentences() {
        assert_eq!(sentences("When to take one\n\nWHEN is\na time."), "When to take one. WHEN is a time");
    }

    #[test]
    fn markdown_is_escaped_outside_of_code() {
        assert_eq!(escaped("<pid> and `<pid>`, *"), "\\<pid\\> and `<pid>`, \\*");
    }
}
