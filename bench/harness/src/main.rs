//! What recording costs, measured: `cargo run --release -p heapscribe-bench -- COMMAND`. Each tool of a
//! table is run in turn within one run of the harness, and each figure comes with machine, date and commit.
//! It tunes nothing and asserts no time; only `instructions --check` judges, because it counts, and `heap-soak`,
//! which fails when a heap does.

mod callgrind;
mod cli;
mod compared_heap;
mod corpus;
mod deep;
mod heaps;
mod inputs;
mod instructions;
mod interpreters;
mod machine;
mod manifest;
mod micro;
mod places;
mod ranges;
mod report;
mod rounds;
mod run;
mod sizes;
mod statistics;
mod symbols;
mod table;
mod threads;
mod tool;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use cli::{Cli, Command};
use places::Places;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(code) => code,
        Err(e) => {
            eprintln!("error: {e:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<ExitCode> {
    match &cli.command {
        Command::HeapWork(args) => {
            println!("{}", heaps::work::run(args)?);
            return Ok(ExitCode::SUCCESS);
        }
        Command::SymbolWork(args) => {
            symbols::work::run(args)?;
            return Ok(ExitCode::SUCCESS);
        }
        Command::Ranges(args) => {
            ranges::run(args)?;
            return Ok(ExitCode::SUCCESS);
        }
        Command::HeapSoak(args) => {
            heaps::soak::soak(args)?;
            return Ok(ExitCode::SUCCESS);
        }
        _ => {}
    }
    let places = Places::prepare(cli.heapscribe.as_deref(), cli.command.needs_heapscribe())?;
    let watch = machine::Watch::start();
    let mut has_grown = false;
    let mut parts = Vec::new();
    match &cli.command {
        Command::Corpus(args) => parts.extend(corpus::measure(args, &places)?),
        Command::Threads(args) => parts.push(threads::measure(args, &places)?),
        Command::Interpreters(args) => parts.push(interpreters::measure(args, &places)?),
        Command::Micro(args) => parts.extend(micro::measure(args, &places)?),
        Command::Instructions(args) => {
            let outcome = instructions::measure(args, &places)?;
            parts.extend(outcome.parts);
            has_grown = outcome.has_grown;
        }
        Command::Heaps(args) => parts.extend(heaps::compare::measure(args)?),
        Command::Symbols(args) => parts.push(symbols::compare::measure(args, &places)?),
        Command::HeapWork(_) | Command::HeapSoak(_) | Command::Ranges(_) | Command::SymbolWork(_) => {}
        Command::Results(args) => {
            parts.extend(corpus::measure(&args.corpus(), &places)?);
            parts.push(threads::measure(&args.threads(), &places)?);
            parts.extend(micro::measure(&args.micro(), &places)?);
            parts.extend(instructions::measure(&cli::InstructionsArgs::default(), &places)?.parts);
        }
    }
    let facts = machine::facts(&watch);
    report::print(&cli.command.output(), &facts, &parts)?;
    Ok(if has_grown { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
