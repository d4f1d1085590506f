//! Whether a trace keeps rules. A rule is judged for each process by itself, and the verdict is one of three:
//! it holds, it is broken, or the trace cannot tell - because events are missing, because the recording ended
//! too early, or because the range of an estimate reaches over the limit. What cannot be told never passes.
//!
//! The way: [`rule`] says what is asked for, [`subject`] gathers the figures of each process, [`calls`] those
//! of places where there must be no calls, [`judge`] holds them against the limits, [`baseline`] compares with
//! an older trace. [`suppress`] takes out what someone lets stay.

pub(crate) mod baseline;
pub(crate) mod calls;
pub(crate) mod judge;
pub(crate) mod junit;
mod pattern;
pub(crate) mod rule;
pub(crate) mod subject;
pub(crate) mod suppress;

use heapscribe_analyze::answer::{Amount, NodeId};
use heapscribe_analyze::calls::StackCalls;
use heapscribe_analyze::estimate::Figure;
use heapscribe_analyze::gathered::Gathered;

use self::rule::{Rule, Unit};
use self::suppress::Suppressions;

/// What became of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Holds,
    Broken,
    /// The trace cannot tell.
    Undecided,
}

impl Verdict {
    /// In a word.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Broken => "broken",
            Verdict::Undecided => "undecided",
        }
    }
}

/// A process, as rules speak of it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Whose {
    pub(crate) pid: u32,
    /// File name of its program.
    pub(crate) program: String,
    /// Which process of this program it is, from 1.
    pub(crate) nth: usize,
    /// What its times are told from, CLOCK_MONOTONIC ns: the begin of the recording, as in reports.
    pub(crate) begin_mono_ns: u64,
}

/// What a stack has to do with a verdict.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum What {
    /// Blocks that it held or asked for.
    Blocks(Amount),
    /// Calls where there should be none.
    Calls(StackCalls),
    /// How much more it has than in the baseline, and what it has now.
    Grew(i128, Amount),
}

/// A stack that speaks against a rule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Culprit {
    /// In the tree of what was gathered.
    pub(crate) stack: NodeId,
    pub(crate) what: What,
}

/// What became of a rule in a process, or in all of them.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Finding {
    pub(crate) rule: Rule,
    /// Index of the process; none for all together.
    pub(crate) process: Option<usize>,
    pub(crate) verdict: Verdict,
    /// What was found, where there was something to look at.
    pub(crate) found: Option<Figure>,
    /// What it was held against.
    pub(crate) limit: f64,
    pub(crate) unit: Unit,
    /// What there is to say besides, and why it is not decided.
    pub(crate) why: Vec<String>,
    /// The worst first; none where the rule holds.
    pub(crate) culprits: Vec<Culprit>,
    /// How many there are besides.
    pub(crate) more: usize,
}

/// All that was found out.
pub(crate) struct Checked {
    pub(crate) trace: String,
    /// ns since 1970 at the begin of the recording; 0 when it is not known.
    pub(crate) begin_real_ns: u64,
    pub(crate) host: String,
    pub(crate) processes: Vec<Whose>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) suppressions: Suppressions,
    /// The file of the suppressions.
    pub(crate) suppressions_file: String,
    /// What could not be read, in words.
    pub(crate) problems: Vec<String>,
    /// Whether the trace tells when things were.
    pub(crate) has_times: bool,
    /// The stacks of the culprits.
    pub(crate) gathered: Gathered,
}

impl Checked {
    /// How many rules came to a verdict.
    pub(crate) fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }

    /// Of all of them: what is broken is broken, whatever else is not known.
    pub(crate) fn verdict(&self) -> Verdict {
        let is_any = |verdict| self.count(verdict) > 0;
        match (is_any(Verdict::Broken), is_any(Verdict::Undecided)) {
            (true, _) => Verdict::Broken,
            (false, true) => Verdict::Undecided,
            _ => Verdict::Holds,
        }
    }

    /// Whose a finding is: `app`, `app #2`, `all processes`.
    pub(crate) fn whose(&self, finding: &Finding) -> String {
        match finding.process.and_then(|process| self.processes.get(process)) {
            Some(whose) if whose.nth > 1 => format!("{} #{}", whose.program, whose.nth),
            Some(whose) => whose.program.clone(),
            None => "all processes".to_owned(),
        }
    }
}
