//! `heapscribe man`: a man page for the program and one for each of its commands.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::cli::{self, ManArgs};

/// What stands at the foot of each page.
const SOURCE: &str = concat!("heapscribe ", env!("CARGO_PKG_VERSION"));

/// Runs the command.
pub(crate) fn run(args: &ManArgs) -> Result<ExitCode> {
    fs::create_dir_all(&args.to).with_context(|| format!("cannot create {}", args.to.display()))?;
    let mut command = cli::command().disable_help_subcommand(true);
    command.build();
    write_pages(&command, &args.to)?;
    Ok(ExitCode::SUCCESS)
}

/// The page of a command and those of its subcommands.
fn write_pages(command: &Command, directory: &Path) -> Result<()> {
    let man = Man::new(command.clone()).source(SOURCE).manual("heapscribe manual");
    let path = directory.join(man.get_filename());
    let page = page(command, &man).context("cannot render a man page")?;
    fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    let mut visible = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
    visible.try_for_each(|subcommand| write_pages(subcommand, directory))
}

fn page(command: &Command, man: &Man) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.get_subcommands().any(|subcommand| !subcommand.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    for text in [command.get_before_help(), command.get_after_long_help().or(command.get_after_help())] {
        let text = text.map(ToString::to_string).unwrap_or_default();
        paragraphs(&text).to_writer(&mut page)?;
    }
    Ok(page)
}

/// `Examples:` and the like as sections of their own, with their line breaks.
fn paragraphs(text: &str) -> Roff {
    let mut roff = Roff::new();
    for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
        let (title, lines) = paragraph.split_once('\n').unwrap_or(("", paragraph));
        roff.control("SH", [title.trim_end_matches(':').to_uppercase().as_str()]);
        roff.control("nf", []);
        for line in lines.lines() {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }
    roff
}
