//! `heapscribe convert --to aos`: writes a part of a message log.

use std::process::ExitCode;

use anyhow::Result;
use heapscribe_aos_log::layout::Layout;

use super::output::create;
use super::partial;
use crate::cli::ConvertArgs;
use crate::message;
use heapscribe_convert::aos::{self, Lost, PartWriter};
use heapscribe_convert::message_log::layout_of;
use heapscribe_convert::{Input, Kind};
use heapscribe_diagnostics::Problem;
use heapscribe_units::counted;

/// Runs the command.
pub(crate) fn run(args: &ConvertArgs) -> Result<ExitCode> {
    let input = Input::open(&args.trace)?;
    let is_part = input.kind() == Kind::AosPart;
    if !is_part && input.kind() != Kind::Json {
        let what = format!("{} is neither a message log nor the JSON of one", args.trace.display());
        return Err(Problem::new(what, "write the JSON with `heapscribe dump --json PART`").into());
    }
    let layout: Layout = match args.layout {
        Some(year) => year.into(),
        None if is_part => layout_of(&args.trace)?,
        None => Layout::default(),
    };
    let to = PartWriter::new(create(args.output())?, args.output(), layout)?;
    let (lost, problems) = if is_part {
        aos::convert_part(&args.trace, args.reading.on_damage.into(), to)?
    } else {
        (aos::convert_lines(input.into_plain_file()?, &args.trace, to)?, Vec::new())
    };
    warn_of_losses(&lost);
    Ok(partial::exit_code(&args.trace, &problems, true))
}

fn warn_of_losses(lost: &Lost) {
    for (n, singular, what) in [
        (lost.transmit_times, "forwarding time", "left out: the 2022 layout cannot store them"),
        (lost.as_in_2022, "record", "with data and delivery times, written as in 2022: 2024 has none"),
        (lost.data, "record", "with data that its kind cannot store: the data is left out"),
    ] {
        if n > 0 {
            message::warning(&format!("{} {what}", counted(n, singular)));
        }
    }
}
