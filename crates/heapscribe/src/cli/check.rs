//! The command line of `check`: rules for the heap of a program.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use heapscribe_analyze::findings::{Kind, Level};

use super::help::TEMPLATE;
use super::salvage::StackArgs;
use super::symbols::SymbolArgs;
use crate::exit;
use heapscribe_units::{parse_bytes, parse_duration};

/// Check a trace against rules, for continuous integration
#[derive(Clone, Debug, Args)]
#[command(help_template = TEMPLATE, after_help = exit::CHECK_HELP,
          override_usage = "heapscribe check [OPTIONS] <RULE>... <TRACE>", before_help = "\
Examples:
  heapscribe check run.hst --max-peak 200MiB --max-leaked 0
  heapscribe check run.hst --max-leaked 0 --suppressions lsan.supp --junit check.xml
  heapscribe check run.hst --no-alloc-in control --thread 'rt-*'
  heapscribe check run.hst --no-alloc-after ready --process server
  heapscribe check run.hst --no-findings high --no-finding growth
  heapscribe check new.hst --baseline old.hst --tolerance 5%
")]
pub(crate) struct CheckArgs {
    /// The trace
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Forbid heap calls (malloc, realloc, free) inside this section
    #[arg(long, value_name = "SECTION", help_heading = RULES)]
    pub(crate) no_alloc_in: Vec<String>,

    /// Forbid heap calls after the first mark with this name, in any thread
    #[arg(long, value_name = "MARK", help_heading = RULES)]
    pub(crate) no_alloc_after: Vec<String>,

    /// Forbid heap calls by threads with this name
    #[arg(long, value_name = "THREAD", help_heading = RULES)]
    pub(crate) no_alloc_by: Vec<String>,

    /// Limit the peak of the heap
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = RULES)]
    pub(crate) max_peak: Option<u64>,

    /// Limit the resident memory
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = RULES)]
    pub(crate) max_rss: Option<u64>,

    /// Limit the bytes that are never freed
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = RULES)]
    pub(crate) max_leaked: Option<u64>,

    /// Limit the blocks that are never freed
    #[arg(long, value_name = "N", help_heading = RULES)]
    pub(crate) max_leaked_blocks: Option<u64>,

    /// Limit the bytes that are never freed of any single stack
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = RULES)]
    pub(crate) max_leaked_per_stack: Option<u64>,

    /// Limit the number of allocations, including realloc
    #[arg(long, value_name = "N", help_heading = RULES)]
    pub(crate) max_allocations: Option<u64>,

    /// Limit the bytes allocated over the whole run
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, help_heading = RULES)]
    pub(crate) max_allocated: Option<u64>,

    /// Limit the temporary blocks (freed before their thread allocates again), as a number or a percentage
    /// of all blocks
    #[arg(long, value_name = "N|P%", value_parser = parse_count_or_part, help_heading = RULES)]
    pub(crate) max_temporary: Option<CountOrPart>,

    /// Limit the calls that returned NULL
    #[arg(long, value_name = "N", help_heading = RULES)]
    pub(crate) max_failed: Option<u64>,

    /// Limit the allocations in any one second
    #[arg(long, value_name = "N/s", value_parser = parse_rate, help_heading = RULES)]
    pub(crate) max_alloc_rate: Option<u64>,

    /// Limit the average allocations per second over the life of the process
    #[arg(long, value_name = "N/s", value_parser = parse_rate, help_heading = RULES)]
    pub(crate) max_mean_alloc_rate: Option<u64>,

    /// Limit the time of any single call, for example 50us; needs a trace of `record --latency`
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = RULES)]
    pub(crate) max_latency: Option<u64>,

    /// Forbid findings of this severity and of higher ones, as `report` lists them
    #[arg(long, value_name = "SEVERITY", value_parser = severities(), help_heading = RULES)]
    pub(crate) no_findings: Option<Level>,

    /// Forbid findings of this kind, such as leak or temporary (docs/guide/findings.md has all), whatever their severity; can
    /// be given several times
    #[arg(long, value_name = "KIND", value_parser = kinds(), hide_possible_values = true, help_heading = RULES)]
    pub(crate) no_finding: Vec<Kind>,

    /// Compare with an older trace: peak, leaks, allocations and temporary blocks of all processes together
    /// must not grow by more than the tolerance
    #[arg(long, value_name = "OLD.TRACE", help_heading = RULES)]
    pub(crate) baseline: Option<PathBuf>,

    /// How much more than in the baseline is allowed
    #[arg(long, value_name = "P%", default_value = "2%", value_parser = parse_part, requires = "baseline",
          help_heading = RULES)]
    pub(crate) tolerance: f64,

    /// Apply --no-alloc-in and --no-alloc-after only to threads with this name; can be given several times
    #[arg(long, value_name = "NAME", help_heading = SCOPE)]
    pub(crate) thread: Vec<String>,

    /// Check only processes whose program has this name (with * and ?), of the file or as it was typed [default: every
    /// process]
    #[arg(long, value_name = "NAME", help_heading = SCOPE)]
    pub(crate) process: Option<String>,

    /// LeakSanitizer suppressions (leak:PATTERN), and alloc:PATTERN for calls that --no-alloc rules allow
    #[arg(long, value_name = "FILE", help_heading = SCOPE)]
    pub(crate) suppressions: Option<PathBuf>,

    /// Count as leaked also what the runtime libraries of C, C++ and Rust keep until the end on purpose
    #[arg(long, help_heading = SCOPE)]
    pub(crate) count_runtime: bool,

    /// Print JSON; its keys are stable across versions
    #[arg(long)]
    pub(crate) json: bool,

    /// What to print beside the text: lines that a build server picks out of its log
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) format: Option<CheckFormat>,

    /// Also write JUnit XML to FILE, with one test case per rule and process
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// How many stacks to show for each broken rule
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) top: usize,

    #[command(flatten)]
    pub(crate) salvage: StackArgs,

    #[command(flatten)]
    pub(crate) symbols: SymbolArgs,
}

/// A build server that reads logs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum CheckFormat {
    /// Annotations of GitHub Actions, at the lines of source that broke a rule
    Github,
    /// Measurements of CTest, which CDash draws over time
    Ctest,
}

/// The names of severities of findings.
fn severities() -> impl TypedValueParser<Value = Level> {
    let names = PossibleValuesParser::new(Level::ALL.map(Level::name));
    names.try_map(|name| Level::named(&name).ok_or("there is no such severity"))
}

/// The names of kinds of findings.
fn kinds() -> impl TypedValueParser<Value = Kind> {
    let names = PossibleValuesParser::new(Kind::ALL.map(Kind::name));
    names.try_map(|name| Kind::named(&name).ok_or("there is no such kind"))
}

const RULES: &str = "Rules";
const SCOPE: &str = "Scope (* and ? are wildcards in names)";

/// A number of things, or a part of all.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum CountOrPart {
    Count(u64),
    Part(f64),
}

fn parse_count_or_part(text: &str) -> Result<CountOrPart, String> {
    let wrong = || format!("`{text}` is not a number; expected for example 1000 or 20%");
    match text.ends_with('%') {
        true => parse_part(text).map(CountOrPart::Part),
        false => text.parse().map(CountOrPart::Count).map_err(|_| wrong()),
    }
}

/// Reads 2%, 0.5 %; as a part of 1.
fn parse_part(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is not a percentage; expected for example 2%");
    let number = text.strip_suffix('%').ok_or_else(wrong)?.trim();
    let percent: f64 = number.parse().map_err(|_| wrong())?;
    if percent.is_finite() && percent >= 0.0 { Ok(percent / 100.0) } else { Err(wrong()) }
}

/// Reads 1000/s; the unit may be left out.
fn parse_rate(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text).trim();
    number.parse().map_err(|_| format!("`{text}` is not a rate; expected for example 1000/s"))
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
