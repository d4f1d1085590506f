//! `heapscribe report`: explains a trace, in sentences or as JSON.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use heapscribe_analyze::Recording;
use heapscribe_analyze::answer::Answer;
use heapscribe_analyze::snapshot::{self, Snapshot};
use serde::Serialize;

use super::limits::{TOP, TOP_JSON};
use super::resolver::resolver;
use super::{output, partial, report_go, report_memory, report_messages, report_profile, report_range};
use crate::cli::{ReportArgs, ReportMessagesArgs, reject_parts};
use crate::message;
use heapscribe_convert::heaplog::LogTally;
use heapscribe_convert::memtrace::Tally;
use heapscribe_convert::{Input, Kind, Opened};
use heapscribe_diagnostics::Problem;
use heapscribe_formats::detect::Format;
use heapscribe_symbols::NamedStacks;
use heapscribe_symbols::Resolver;
use heapscribe_units::duration;
use heapscribe_views::check::calls::{RuleOutcome, of_recording};
use heapscribe_views::coverage::Explained;
use heapscribe_views::live::Largest;
use heapscribe_views::messages::correlation::{self, Asked, MessageCorrelation};
use heapscribe_views::own::Folded;
use heapscribe_views::text::brief::{self, Brief};
use heapscribe_views::text::findings::describe;
use heapscribe_views::text::heading;
use heapscribe_views::text::live::{self, LiveReport};
use heapscribe_views::text::report::Report;
use heapscribe_views::{json, text};

/// A message log beside a trace, and what of it could not be read, by file.
type Compared = (MessageCorrelation, Vec<(PathBuf, Vec<String>)>);

/// A report, with the parts that only some formats have.
#[derive(Serialize)]
struct WithTally<'a, R> {
    #[serde(flatten)]
    report: R,
    #[serde(skip_serializing_if = "Option::is_none")]
    memtrace: Option<&'a Tally>,
    #[serde(skip_serializing_if = "Option::is_none")]
    heaphook: Option<&'a LogTally>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<&'a MessageCorrelation>,
    coverage: Option<json::coverage::CoverageJson>,
}

/// Runs the command.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode> {
    args.names.apply();
    let input = Input::open(&args.trace)?;
    if input.kind() == Kind::AosPart {
        return report_messages::run(args);
    }
    reject_parts(&args.trace, &args.messages.more)?;
    if input.kind() == Kind::File(Format::Go) {
        args.choice.reject(&args.trace, "a Go trace")?;
        args.range.reject(&args.trace, "a Go trace")?;
        return report_go::run(args, input);
    }
    let trace = input.into_sums(args.salvage.into())?;
    let resolver = resolver(&args.symbols, &[&trace])?;
    if let Some(sums) = &trace.profile {
        return report_profile::run(args, sums, &resolver);
    }
    let mut out = output::text(args.json);
    if snapshot::is_one(&*trace) || args.memory {
        reject_messages(args)?;
        args.choice.reject(&args.trace, "a snapshot")?;
        args.range.reject(&args.trace, "a snapshot")?;
        if args.memory {
            return report_memory::run(args, &trace, &resolver, &mut out);
        }
        let problems = report_live(args, &snapshot::analyze(&*trace), &resolver, &mut out)?;
        return Ok(partial::exit_code(&args.trace, &problems, trace.is_complete()));
    }
    if args.range.is_any() {
        return report_range::run(args, &trace, &resolver, &mut out);
    }
    let answer = trace.analyze_of(&args.choice.choice())?;
    let kept = match answer.rules.is_empty() {
        true => Vec::new(),
        false => of_recording(&Recording::new(&*trace), &answer.rules),
    };
    let beside = beside(args, &trace)?;
    let messages = beside.as_ref().map(|(beside, _)| beside);
    let shown = args.trace.to_string_lossy();
    let folded = Folded(args.fold.clone());
    let explained = Explained::of(&answer, &resolver);
    let (answer, trace, shown, folded) = (&answer, &trace, &*shown, &folded);
    let parts = Parts { answer, kept: &kept, trace, messages, explained, shown, folded };
    if args.json {
        print_json(&mut out, &parts, args.top.unwrap_or(TOP_JSON), &resolver)?;
    } else {
        print_text(&mut out, args, &parts, &resolver)?;
    }
    out.flush()?;
    if let Some((beside, problems)) = &beside {
        warn(beside);
        let problems: Vec<_> = problems.iter().map(|(path, what)| (path.as_path(), what.clone())).collect();
        if !problems.is_empty() && answer.problems.is_empty() && trace.is_complete() {
            return Ok(partial::exit_code_of_files(&problems));
        }
    }
    Ok(partial::exit_code(&args.trace, &answer.problems, trace.is_complete()))
}

/// Prints the first screen, or all.
fn print_text(out: &mut dyn Write, args: &ReportArgs, parts: &Parts<'_>, resolver: &Resolver) -> Result<()> {
    let Parts { answer, kept, trace, messages, shown, folded, .. } = *parts;
    let part = args.choice.in_words();
    // What was asked for besides is printed in whole.
    let is_full = args.full || messages.is_some();
    let report = Report {
        answer,
        outcomes: kept,
        top: args.top.unwrap_or(if is_full { TOP } else { brief::TOP }),
        trace: shown,
        part: &part,
        coverage: parts.explained.as_ref(),
        width: super::output::columns(),
    };
    let names = NamedStacks::look_up(&answer.tree, report.wanted(), resolver);
    let findings = describe(answer, &names, shown, folded);
    if is_full {
        report.print(out, &names, &findings, folded)?;
        tables_beside(out, &snapshot::analyze(&**trace))?;
        tallies(out, trace)?;
    } else {
        let mut beside = Vec::new();
        tallies(&mut beside, trace)?;
        let beside = String::from_utf8_lossy(&beside);
        let brief = Brief { report: &report, findings: &findings, folded, beside: &beside };
        brief.print(out, &names)?;
    }
    if let Some(messages) = messages {
        text::correlation::print(out, messages, shown, args.top.unwrap_or(TOP))?;
    }
    Ok(())
}

/// Explains snapshots; returns their problems.
fn report_live(
    args: &ReportArgs,
    snapshots: &[Snapshot],
    resolver: &Resolver,
    out: &mut dyn Write,
) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for snapshot in snapshots {
        if args.json {
            let largest = Largest::of(snapshot, args.top.unwrap_or(TOP_JSON));
            let names = NamedStacks::look_up(&snapshot.tree, largest.nodes(), resolver);
            serde_json::to_writer(&mut *out, &json::live::LiveReport::new(snapshot, &largest, &names))?;
            writeln!(out)?;
        } else {
            let path = args.trace.to_string_lossy();
            let report = LiveReport {
                snapshot,
                top: args.top.unwrap_or(TOP),
                path: &path,
                width: super::output::columns(),
            };
            report.print(&mut texts, &NamedStacks::look_up(&snapshot.tree, report.wanted(), resolver))?;
        }
    }
    output::first_screen(out, &texts, args.full || args.top.is_some())?;
    out.flush()?;
    Ok(snapshots.iter().flat_map(|snapshot| &snapshot.problems).cloned().collect())
}

/// What only a file of another format has.
fn tallies(out: &mut dyn Write, trace: &Opened) -> Result<()> {
    if let Some(tally) = &trace.memtrace {
        text::tally::memtrace(out, tally)?;
    }
    if let Some(tally) = &trace.heaplog {
        text::tally::heaplog(out, tally)?;
    }
    Ok(())
}

/// Live tables of a recording of events.
fn tables_beside(out: &mut dyn Write, snapshots: &[Snapshot]) -> Result<()> {
    if !snapshots.is_empty() {
        heading(out, "Tables of live blocks")?;
        snapshots.iter().try_for_each(|snapshot| live::summary(out, snapshot))?;
    }
    Ok(())
}

/// `--messages` needs events, which a snapshot does not have.
fn reject_messages(args: &ReportArgs) -> Result<(), Problem> {
    if args.messages.messages.is_empty() {
        return Ok(());
    }
    let what = format!("{} is a snapshot, and --messages needs a full recording", args.trace.display());
    Err(Problem::new(what, "record the program with `heapscribe record` while it handles messages"))
}

/// A message log beside the trace, when there is one, and what of it could not be read.
fn beside(args: &ReportArgs, trace: &Opened) -> Result<Option<Compared>> {
    let ReportMessagesArgs { messages, reading, .. } = &args.messages;
    if messages.is_empty() {
        return Ok(None);
    }
    let choice = args.choice.choice();
    let chosen = (!choice.is_all()).then(|| trace.chosen(&choice)).transpose()?;
    let asked = Asked { chosen, pids: choice.pids, in_words: args.choice.in_words() };
    correlation::compare(trace, messages, reading.on_damage.into(), asked).map(Some)
}

/// Warns about what makes the figures for messages useless.
fn warn(beside: &MessageCorrelation) {
    let apart_ns = beside.clocks_apart_ns.filter(|_| !beside.clocks_agree);
    warn_of_messages(apart_ns, beside.messages == 0);
}

/// The same for who has only these: how far clocks that disagree are apart, and whether there is no message.
pub(super) fn warn_of_messages(clocks_apart_ns: Option<u64>, is_none: bool) {
    if let Some(apart_ns) = clocks_apart_ns {
        let apart = duration(apart_ns);
        message::warning(&format!(
            "the wall clocks of trace and messages differ by {apart}: unless the clock was set in between, they \
             come from different boots or machines, and the figures for messages are wrong"
        ));
    }
    if is_none {
        message::warning("no message was handled during the recording");
    }
}

/// What a report as JSON is made of.
struct Parts<'a> {
    answer: &'a Answer,
    kept: &'a [RuleOutcome],
    trace: &'a Opened,
    messages: Option<&'a MessageCorrelation>,
    /// How much of the growth of memory is explained.
    explained: Option<Explained>,
    /// The trace's path, for the commands to type next.
    shown: &'a str,
    folded: &'a Folded,
}

fn print_json(out: &mut dyn Write, parts: &Parts<'_>, top: usize, resolver: &Resolver) -> Result<()> {
    let Parts { answer, kept, trace, messages, shown, folded, .. } = *parts;
    let stacks = json::report::chosen(answer, Some(top));
    let of_calls = json::annotations::wanted(answer).chain(json::latency::wanted(answer));
    let of_calls = of_calls.chain(json::mappings::wanted(answer));
    let nodes = json::findings::wanted(answer).chain(of_calls);
    let names = NamedStacks::look_up(&answer.tree, nodes, resolver);
    let findings = json::findings::findings(answer, &names, shown, folded);
    let long_lived = json::findings::of_long_lived(answer, &names, folded);
    let report = json::report::Report::new(answer, (kept, findings, long_lived), &stacks, &names);
    let coverage = parts.explained.as_ref().map(Into::into);
    let (memtrace, heaphook) = (trace.memtrace.as_ref(), trace.heaplog.as_ref());
    serde_json::to_writer(&mut *out, &WithTally { report, memtrace, heaphook, messages, coverage })?;
    writeln!(out)?;
    Ok(())
}
