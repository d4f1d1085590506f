//! How long calls take, and where a program must make none.

use clap::Args;
use heapscribe_formats::RealTimeRules;
use heapscribe_wire::mode::Mode;
use heapscribe_wire::rules::RULE_NAME_BYTES_MAX;

use heapscribe_diagnostics::Problem;

/// What is wanted for programs that have no time to lose.
#[derive(Clone, Debug, Args)]
pub(crate) struct RealTimeArgs {
    /// Tell also how long the heap took for each recorded call
    #[arg(long)]
    pub(crate) latency: bool,

    /// A section (heapscribe_section_begin) in which the program must not call the heap; may be given
    /// several times. `report` and `check` say which calls did
    #[arg(long, value_name = "SECTION", value_parser = parse_name)]
    rt_section: Vec<String>,

    /// From this mark on (heapscribe_mark, `ctl PID mark`) the program must not call the heap
    /// [without =MARK: initialized]
    #[arg(long, value_name = "MARK", num_args = 0..=1, require_equals = true,
          default_missing_value = "initialized", value_parser = parse_name)]
    rt_after_init: Option<String>,

    /// Only threads of this name hold to these rules, or of one that fits it: `*` stands for anything, `?`
    /// for one character; may be given several times. Alone: such threads must not call the heap at all
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    rt_thread: Vec<String>,

    /// Stop the program with SIGABRT at the first call that breaks the rules
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
    let (rules, only) = (args.rules(), "leave --rt-section, --rt-after-init and --rt-thread away, or");
    if !rules.is_empty() && mode != Mode::Full {
        let what = "rules of real time are about every call, and --sample and --mode off leave calls out";
        return Err(Problem::new(what, format!("{only} record every block")));
    }
    if is_memtrace && (args.latency || !rules.is_empty()) {
        let what = "a memtrace file has no place for how long calls took, nor for rules of real time";
        return Err(Problem::new(
            what,
            "leave --format away: `heapscribe convert` makes a memtrace file later",
        ));
    }
    if args.rt_abort && rules.is_empty() {
        let hint = "give --rt-section, --rt-after-init or --rt-thread, too";
        return Err(Problem::new("--rt-abort without a rule that a call could break", hint));
    }
    Ok(())
}

fn parse_name(text: &str) -> Result<String, String> {
    match text.len() {
        0 => Err("a name has at least one character".to_owned()),
        1..=RULE_NAME_BYTES_MAX => Ok(text.to_owned()),
        more => Err(format!("a name of {more} bytes; at most {RULE_NAME_BYTES_MAX} are possible")),
    }
}
