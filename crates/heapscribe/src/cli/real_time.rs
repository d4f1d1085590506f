//! Real-time rules: how long calls take, and where a program must make none.

use clap::Args;
use heapscribe_formats::RealTimeRules;
use heapscribe_wire::mode::Mode;
use heapscribe_wire::real_time_rules::RULE_NAME_BYTES_MAX;

use heapscribe_diagnostics::Problem;

/// What is recorded for real-time programs.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Real-time programs")]
pub(crate) struct RealTimeArgs {
    /// Measure how long each recorded call took
    #[arg(long)]
    pub(crate) latency: bool,

    /// Forbid heap calls inside this section (see heapscribe_section_begin); can be given several times
    ///
    /// `report` and `check` show the calls that broke the rule.
    #[arg(long, value_name = "SECTION", value_parser = parse_name)]
    rt_section: Vec<String>,

    /// Forbid heap calls after this mark (see heapscribe_mark and `ctl PID mark`) [without =MARK: initialized]
    #[arg(long, value_name = "MARK", num_args = 0..=1, require_equals = true,
          default_missing_value = "initialized", value_parser = parse_name)]
    rt_after_init: Option<String>,

    /// Apply the rules only to threads with this name (* and ? are wildcards); can be given several times
    ///
    /// Without --rt-section and --rt-after-init, these threads must not call the heap at all.
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    rt_thread: Vec<String>,

    /// Stop the program with SIGABRT at the first call that breaks a rule
    #[arg(long)]
    pub(crate) rt_abort: bool,
}

impl RealTimeArgs {
    /// Where the program must not call the heap.
    pub(crate) fn rules(&self) -> RealTimeRules {
        let bytes = |names: &[String]| names.iter().map(|name| name.as_bytes().to_vec()).collect();
        RealTimeRules {
            sections: bytes(&self.rt_section),
            after_mark: self.rt_after_init.as_ref().map(|mark| mark.as_bytes().to_vec()),
            threads: bytes(&self.rt_thread),
        }
    }
}

/// Rejects options that rules of real time and latencies cannot be recorded with.
pub(crate) fn reject_conflicts(args: &RealTimeArgs, mode: Mode, is_memtrace: bool) -> Result<(), Problem> {
    let (rules, only) = (args.rules(), "remove --rt-section, --rt-after-init and --rt-thread, or");
    if !rules.is_empty() && mode != Mode::Full {
        let what = "real-time rules need every call, but --sample and --mode off leave calls out";
        return Err(Problem::new(what, format!("{only} record every block")));
    }
    if is_memtrace && (args.latency || !rules.is_empty()) {
        let what = "the memtrace format cannot store latencies or real-time rules";
        return Err(Problem::new(what, "remove --format, and use `heapscribe convert` later"));
    }
    if args.rt_abort && rules.is_empty() {
        let hint = "add --rt-section, --rt-after-init or --rt-thread";
        return Err(Problem::new("--rt-abort needs a rule", hint));
    }
    Ok(())
}

fn parse_name(text: &str) -> Result<String, String> {
    match text.len() {
        0 => Err("a name needs at least one character".to_owned()),
        1..=RULE_NAME_BYTES_MAX => Ok(text.to_owned()),
        more => Err(format!("the name has {more} bytes; the maximum is {RULE_NAME_BYTES_MAX}")),
    }
}
