//! The command line of `check`: rules for the heap of a program.

use std::path::PathBuf;

use clap::Args;

use super::help::TEMPLATE;
use super::salvage::SalvageArgs;
use super::symbols::SymbolArgs;
use crate::exit;
use heapscribe_units::{parse_bytes, parse_duration};

/// Say whether a trace keeps rules, for continuous integration
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::CHECK_HELP,
          override_usage = "heapscribe check [OPTIONS] <RULE>... <TRACE>", before_help = "\
Examples:
  heapscribe check run.hst --max-peak 200MiB --max-leaked 0
  heapscribe check run.hst --max-leaked 0 --suppressions lsan.supp --junit check.xml
  heapscribe check run.hst --no-alloc-in control --thread 'rt-*'
  heapscribe check run.hst --no-alloc-after ready --process server
  heapscribe check new.hst --baseline old.hst --tolerance 5%
")]
pub(crate) struct CheckArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// No call of the heap inside sections of this name: no allocation, realloc or free
    #[arg(long, value_name = "SECTION", help_heading = RULES)]
    pub(crate) no_alloc_in: Vec<String>,

    /// No call of the heap after the program's first mark of this name, whichever thread
    #[arg(long, value_name = "MARK", help_heading = RULES)]
    pub(crate) no_alloc_after: Vec<String>,

    /// No call of the heap by threads whose name is like this
    #[arg(long, value_name = "THREAD", help_heading = RULES)]
    pub(crate) no_alloc_by: Vec<String>,

    /// Bytes of the heap at its peak
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = RULES)]
    pub(crate) max_peak: Option<u64>,

    /// Resident memory at its highest sample
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = RULES)]
    pub(crate) max_rss: Option<u64>,

    /// Bytes never freed
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = RULES)]
    pub(crate) max_leaked: Option<u64>,

    /// Blocks never freed
    #[arg(long, value_name = "N", help_heading = RULES)]
    pub(crate) max_leaked_blocks: Option<u64>,

    /// Bytes never freed of any one stack
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = RULES)]
    pub(crate) max_leaked_per_stack: Option<u64>,

    /// Blocks handed out, by realloc too
    #[arg(long, value_name = "N", help_heading = RULES)]
    pub(crate) max_allocations: Option<u64>,

    /// Bytes handed out over the whole run
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = RULES)]
    pub(crate) max_allocated: Option<u64>,

    /// Blocks freed by their thread before it allocated again: a number, or a part of all blocks, as 20%
    #[arg(long, value_name = "N|P%", value_parser = parse_count_or_part, help_heading = RULES)]
    pub(crate) max_temporary: Option<CountOrPart>,

    /// Calls that gave NULL
    #[arg(long, value_name = "N", help_heading = RULES)]
    pub(crate) max_failed: Option<u64>,

    /// Blocks handed out in any one second (seconds that begin each 100 ms)
    #[arg(long, value_name = "N/s", value_parser = parse_rate, help_heading = RULES)]
    pub(crate) max_alloc_rate: Option<u64>,

    /// Blocks handed out per second, over the life of the process
    #[arg(long, value_name = "N/s", value_parser = parse_rate, help_heading = RULES)]
    pub(crate) max_mean_alloc_rate: Option<u64>,

    /// How long the heap takes for any one call, for example 50us; of traces with latencies
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = RULES)]
    pub(crate) max_latency: Option<u64>,

    /// An older trace: peak, bytes never freed, bytes and blocks allocated, and temporary blocks of all
    /// processes together must not have grown by more than the tolerance
    #[arg(long, value_name = "OLD.TRACE", help_heading = RULES)]
    pub(crate) baseline: Option<PathBuf>,

    /// How much more than in the baseline is still well
    #[arg(long, value_name = "P%", default_value = "2%", value_parser = parse_part, requires = "baseline",
          help_heading = SCOPE)]
    pub(crate) tolerance: f64,

    /// Of --no-alloc-in and --no-alloc-after: only calls of threads whose name is like this, or one of these
    #[arg(long, value_name = "NAME", help_heading = SCOPE)]
    pub(crate) thread: Vec<String>,

    /// Only processes whose program's file name is like this; without it each process has to keep the rules
    #[arg(long, value_name = "NAME", help_heading = SCOPE)]
    pub(crate) process: Option<String>,

    /// What leaks may stay, as LeakSanitizer's suppressions: lines `leak:PATTERN`; and `alloc:PATTERN`
    /// for calls that --no-alloc rules let pass
    #[arg(long, value_name = "FILE", help_heading = SCOPE)]
    pub(crate) suppressions: Option<PathBuf>,

    /// Print JSON, with keys that stay the same from version to version
    #[arg(long)]
    pub(crate) json: bool,

    /// Write JUnit's XML as well, a test case for each rule and process
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// How many stacks to show for each rule that does not hold
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) top: usize,

    #[command(flatten)]
    pub(crate) salvage: SalvageArgs,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}

const RULES: &str = "Rules";
const SCOPE: &str = "What rules are about (names may have * and ?)";

/// A number of things, or a part of all.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum CountOrPart {
    Count(u64),
    Part(f64),
}

fn parse_count_or_part(text: &str) -> Result<CountOrPart, String> {
    let wrong = || format!("`{text}` is no number; write it like 1000, or as a part like 20%");
    match text.ends_with('%') {
        true => parse_part(text).map(CountOrPart::Part),
        false => text.parse().map(CountOrPart::Count).map_err(|_| wrong()),
    }
}

/// Reads 2%, 0.5 %; as a part of 1.
fn parse_part(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is no percentage; write it like 2%");
    let number = text.strip_suffix('%').ok_or_else(wrong)?.trim();
    let percent: f64 = number.parse().map_err(|_| wrong())?;
    if percent.is_finite() && percent >= 0.0 { Ok(percent / 100.0) } else { Err(wrong()) }
}

/// Reads 1000/s; the unit may be left out.
fn parse_rate(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text).trim();
    number.parse().map_err(|_| format!("`{text}` is no rate; write it like 1000/s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_counts_and_rates() {
        assert_eq!(parse_part("2%"), Ok(0.02));
        assert_eq!(parse_count_or_part("20 %"), Ok(CountOrPart::Part(0.2)));
        assert_eq!(parse_count_or_part("20"), Ok(CountOrPart::Count(20)));
        assert_eq!([parse_rate("1000/s"), parse_rate("7")], [Ok(1000), Ok(7)]);
        for text in ["2", "-1%", "nan%", "%", "inf%"] {
            assert!(parse_part(text).is_err(), "{text}");
        }
        assert!(parse_rate("7/h").is_err() && parse_count_or_part("many").is_err());
    }
}
