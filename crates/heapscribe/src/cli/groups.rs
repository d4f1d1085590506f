//! The commands in groups, as `heapscribe --help` and the reference list them: clap has one list only.

use std::fmt::Write as _;

use clap::Command;

/// What a user wants to do, and the commands for it.
pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) commands: &'static [&'static str],
}

/// All groups; every command is in one of them.
pub(crate) const GROUPS: [Group; 6] = [
    Group { title: "Record", commands: &["record", "agent", "cargo", "recover"] },
    Group {
        title: "Explain a trace",
        commands: &["report", "view", "flame", "plot", "hotspots", "diff", "check", "dump"],
    },
    Group { title: "Running processes", commands: &["ps", "top", "snapshot", "list", "ctl"] },
    Group { title: "Heaps", commands: &["run", "replay", "pool-size", "install-libs"] },
    Group { title: "Convert", commands: &["convert", "symbols", "subsample", "redact"] },
    Group { title: "Setup", commands: &["header", "completions", "man", "help"] },
];

/// Of the command `help`, which clap adds when it parses.
const HELP_ABOUT: &str = "Print this help, or the help of a command";

/// The layout of `heapscribe --help`: examples first, then the groups.
pub(super) fn template(command: &Command) -> String {
    let style = command.get_styles().get_header();
    let groups = list(command);
    format!(
        "{{about-with-newline}}\n{{before-help}}{{usage-heading}} {{usage}}\n\n{groups}\
         {style}Options:{style:#}\n{{options}}{{after-help}}\n"
    )
}

/// The groups, with a line for each command.
pub(super) fn list(command: &Command) -> String {
    let (header, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let names = || GROUPS.iter().flat_map(|group| group.commands);
    let width = names().map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for group in &GROUPS {
        let _ = writeln!(text, "{header}{}:{header:#}", group.title);
        for name in group.commands {
            let _ = writeln!(text, "  {literal}{name:<width$}{literal:#}  {}", about(command, name));
        }
        text.push('\n');
    }
    text
}

fn about(command: &Command, name: &str) -> String {
    let about = command.find_subcommand(name).and_then(Command::get_about);
    about.map_or_else(|| HELP_ABOUT.to_owned(), ToString::to_string)
}
