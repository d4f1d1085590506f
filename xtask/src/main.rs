//! What is done to this repository by program: `cargo run -p xtask -- COMMAND`. A command is a module and
//! a line in [`COMMANDS`].

use std::process::ExitCode;

mod built;
mod campaign;
mod compare;
mod conformance;
mod count;
mod cpython;
mod imports;
mod packages;
mod programs;
mod skipped;
mod sources;
mod tidy;

/// A command: its name, what it is for, what runs it with the rest of the arguments.
struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> ExitCode,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "campaign",
        about: "run the tests that meet chance for longer: kill, fork, disk, stacks, damage, heaps, sample; or programs, cpython",
        run: campaign::run,
    },
    Command {
        name: "compare-stacks",
        about: "record a command and hold each stack against libunwind's",
        run: compare::run,
    },
    Command {
        name: "conformance",
        about: "compare with files of other systems: conformance DIR, a folder for each format",
        run: conformance::run,
    },
    Command {
        name: "count",
        about: "sizes of files and functions, unsafe blocks, tests, as a row of a table: count [--repo DIR]",
        run: count::run,
    },
    Command {
        name: "imports",
        about: "the import graph and what is wrong in it: imports [--crate NAME] [--dot] [--repo DIR]",
        run: imports::run,
    },
    Command {
        name: "packages",
        about: "build all packages into target/packages: packages [--smoke], which installs each in a clean root",
        run: packages::run,
    },
    Command {
        name: "skipped",
        about: "list and count the tests that were skipped, from what they wrote to a log: skipped LOG",
        run: skipped::run,
    },
    Command {
        name: "tidy",
        about: "check the house rules, as `cargo test -p xtask` does; --bless lowers lists of what is left",
        run: tidy::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let named = arguments.first().and_then(|name| COMMANDS.iter().find(|c| c.name == name.as_str()));
    match named {
        Some(command) => (command.run)(&arguments[1..]),
        None => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: cargo run -p xtask -- COMMAND\n");
    COMMANDS.iter().for_each(|c| eprintln!("  {:<14} {}", c.name, c.about));
    ExitCode::from(2)
}
