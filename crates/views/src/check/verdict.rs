//! The outcome of a rule: holds, broken or undecided, with the stacks that break it.

use heapscribe_analyze::answer::{Amount, NodeId};
use heapscribe_analyze::calls::StackCalls;
use heapscribe_analyze::estimate::Figure;
use heapscribe_analyze::findings::Finding as Analyzed;
use heapscribe_analyze::gathered::Gathered;

use super::rule::Rule;
use super::suppress::Suppressions;
use super::unit::Unit;

/// The outcome of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The trace breaks it nowhere.
    Holds,
    /// The trace breaks it.
    Broken,
    /// The trace cannot decide it.
    Undecided,
}

impl Verdict {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Broken => "broken",
            Verdict::Undecided => "undecided",
        }
    }
}

/// A process as findings name it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Whose {
    /// Its pid.
    pub pid: u32,
    /// File name of its program.
    pub program: String,
    /// Which process of this program it is, from 1.
    pub nth: usize,
    /// The zero of its times, CLOCK_MONOTONIC ns: the begin of the recording, as in reports.
    pub begin_mono_ns: u64,
}

/// What a stack contributes to a verdict.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Evidence {
    /// Blocks that it held or asked for.
    Blocks(Amount),
    /// Calls where there should be none.
    Calls(StackCalls),
    /// How much more it has than in the baseline, and what it has now.
    Grew(i128, Amount),
}

/// A stack that speaks against a rule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Culprit {
    /// In the tree of what was gathered.
    pub stack: NodeId,
    /// What it contributes.
    pub what: Evidence,
    /// Whether that is an estimate.
    pub is_estimated: bool,
}

/// A finding as reports have it, in words.
#[derive(Clone, PartialEq, Debug)]
pub struct Reason {
    /// The finding itself.
    pub finding: Analyzed,
    /// What was seen.
    pub summary: String,
    /// What to try.
    pub remedy: String,
    /// The stack with most of it.
    pub culprit: Option<Culprit>,
}

impl Reason {
    /// `leak (high; confidence: medium): Never freed: ...`.
    pub fn line(&self) -> String {
        let Analyzed { kind, severity, confidence, .. } = &self.finding;
        let (kind, severity, confidence) = (kind.name(), severity.name(), confidence.name());
        format!("{kind} ({severity}; confidence: {confidence}): {}", self.summary)
    }
}

/// The outcome of a rule in a process, or in all of them.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// Index of the process; none for all together.
    pub process: Option<usize>,
    /// Its outcome.
    pub verdict: Verdict,
    /// The figure of the process, where there is one, in `unit`.
    pub found: Option<Figure>,
    /// Whether a range of that figure contains the truth for certain, because something is missing; else it is
    /// that of an estimate.
    pub is_bounded: bool,
    /// The limit of that figure, in `unit`.
    pub limit: f64,
    /// What the figure and the limit are measured in.
    pub unit: Unit,
    /// Remarks, and why it is undecided.
    pub why: Vec<String>,
    /// The worst first; none where the rule holds.
    pub culprits: Vec<Culprit>,
    /// How many there are besides.
    pub more: usize,
    /// The findings that break a rule which forbids them, the worst first.
    pub reasons: Vec<Reason>,
}

impl Finding {
    /// All that is remarked on it, a line each: what it forbids and was found, and `why`.
    pub fn remarks(&self) -> Vec<String> {
        self.reasons.iter().map(Reason::line).chain(self.why.iter().cloned()).collect()
    }
}

/// All that was found out.
pub struct Checked {
    /// Path of the trace.
    pub trace: String,
    /// ns since 1970 at the begin of the recording; 0 when it is not known.
    pub begin_real_ns: u64,
    /// Name of the machine; empty when it is not known.
    pub host: String,
    /// Its processes.
    pub processes: Vec<Whose>,
    /// The outcome of each rule in each process.
    pub findings: Vec<Finding>,
    /// The suppressions, with what each suppressed.
    pub suppressions: Suppressions,
    /// The file of the suppressions.
    pub suppressions_file: String,
    /// What could not be read, in words.
    pub problems: Vec<String>,
    /// Whether the trace has times.
    pub has_times: bool,
    /// The stacks of the culprits.
    pub gathered: Gathered,
}

impl Checked {
    /// How many rules came to a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }

    /// Of all of them: what is broken is broken, whatever else is not known.
    pub fn verdict(&self) -> Verdict {
        let is_any = |verdict| self.count(verdict) > 0;
        match (is_any(Verdict::Broken), is_any(Verdict::Undecided)) {
            (true, _) => Verdict::Broken,
            (false, true) => Verdict::Undecided,
            _ => Verdict::Holds,
        }
    }

    /// Whose a finding is: `app`, `app #2`, `all processes`.
    pub fn whose(&self, finding: &Finding) -> String {
        match finding.process.and_then(|process| self.processes.get(process)) {
            Some(whose) if whose.nth > 1 => format!("{} #{}", whose.program, whose.nth),
            Some(whose) => whose.program.clone(),
            None => "all processes".to_owned(),
        }
    }
}
