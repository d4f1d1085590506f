//! `heapscribe check`: checks a trace against rules, and prints text, JSON or JUnit XML.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use heapscribe_analyze::answer::{Answer, NodeId};
use heapscribe_analyze::diff::{self, Paths, Side};
use heapscribe_analyze::gathered::Gathered;
use heapscribe_analyze::input::{History, ProcessFacts, SessionFacts};
use heapscribe_analyze::selection::Split;
use heapscribe_analyze::snapshot;
use heapscribe_analyze::{Options, Recording};
use heapscribe_formats::model::Evicted;

use super::check_calls::{origin_ns, the_busiest_second, the_slowest_calls};
use super::check_findings;
use super::check_format::for_build_server;
use super::check_rules::rules;
use super::resolver::resolver;
use super::{output, partial};
use crate::cli::CheckArgs;
use crate::exit;
use crate::message;
use heapscribe_convert::{Input, Opened, analyze_selection};
use heapscribe_formats::Unrecorded;

use heapscribe_diagnostics::Problem;
use heapscribe_symbols::Resolver;
use heapscribe_symbols::{NamedStacks, lossy};
use heapscribe_views::check::calls::{ForbiddenCalls, forbidden};
use heapscribe_views::check::rule::{Limited, Rule};
use heapscribe_views::check::subject::Subject;
use heapscribe_views::check::suppress::{Kind, Suppressions};
use heapscribe_views::check::unrecorded::{self, UnrecordedSubject};
use heapscribe_views::check::{Checked, Finding, Verdict, Whose, baseline, evicted, judge};
use heapscribe_views::{json, junit, text};

/// Runs the command.
pub(crate) fn run(args: &CheckArgs) -> Result<ExitCode> {
    let suppressions = suppressions(args.suppressions.as_deref())?;
    let suppressions = if args.count_runtime { suppressions } else { suppressions.with_runtime() };
    let trace = open(&args.trace, args)?;
    if rules_of(args, &trace).is_empty() {
        let what =
            "there are no rules, on the command line or in the trace; add one, for example --max-leaked 0\n";
        message::refused(&clap::Error::raw(clap::error::ErrorKind::MissingRequiredArgument, what));
    }
    let resolver = resolver(&args.symbols, &[&trace])?;
    let mut checked = check(args, &trace, suppressions, &resolver);
    if let Some(path) = &args.baseline {
        let baseline = Baseline { path, trace: open(path, args)? };
        compare(args, &baseline, &trace, &resolver, &mut checked);
    }
    let wanted = checked.findings.iter().flat_map(|finding| &finding.culprits).map(|culprit| culprit.stack);
    let names = NamedStacks::look_up(checked.gathered.tree(), wanted, &resolver);
    if let Some(path) = &args.junit {
        let write = || fs::write(path, junit::document(&checked, &names)?);
        write().with_context(|| format!("cannot write {}", path.display()))?;
    }
    // A reader that has seen enough (`| grep -q`) changes no verdict: a broken rule passed by a race.
    print(args, &checked, &names).or_else(|e| if message::is_broken_pipe(&e) { Ok(()) } else { Err(e) })?;
    Ok(match checked.verdict() {
        Verdict::Holds => partial::exit_code(&args.trace, &checked.problems, trace.is_complete()),
        Verdict::Undecided => {
            partial::hint_at_rest(&args.trace, trace.is_complete());
            exit::partial()
        }
        Verdict::Broken => exit::broken(),
    })
}

fn print(args: &CheckArgs, checked: &Checked, names: &NamedStacks<'_>) -> Result<()> {
    let mut out = output::text(args.json);
    if args.json {
        serde_json::to_writer(&mut out, &json::check::object(checked, names))?;
        writeln!(out)?;
    } else {
        text::check::print(&mut out, checked, names, super::output::columns())?;
        out.write_all(for_build_server(args.format, checked, names).as_bytes())?;
    }
    Ok(out.flush()?)
}

fn suppressions(path: Option<&Path>) -> Result<Suppressions> {
    let Some(path) = path else { return Ok(Suppressions::default()) };
    let text = fs::read(path).map_err(|e| {
        let what = format!("cannot read {}: {e}", path.display());
        Problem::new(what, "a suppressions file has lines like leak:PATTERN, as for LeakSanitizer")
    })?;
    Suppressions::parse(&lossy(&text)).map_err(|(line, why)| {
        let what = format!("{}:{line}: {why}", path.display());
        Problem::new(
            what,
            "a line must be leak:PATTERN, as for LeakSanitizer, alloc:PATTERN, or a comment (#)",
        )
        .into()
    })
}

fn open(path: &Path, args: &CheckArgs) -> Result<Opened> {
    let trace = Input::open(path)?.into_trace(args.salvage.into())?;
    if snapshot::is_one(&*trace) {
        let what = format!("{} is a snapshot, and rules need a full recording", path.display());
        return Err(Problem::new(what, "check a trace written by `heapscribe record`").into());
    }
    Ok(trace)
}

/// The rules of the command line and those of the recording.
fn rules_of(args: &CheckArgs, trace: &Opened) -> Vec<Rule> {
    let of_recording = trace.session().map(|session| session.rules.clone());
    rules(args, &of_recording.unwrap_or_default())
}

/// What is missing from a trace, so that no rule can be decided.
fn gaps(trace: &Opened, problems: &[String]) -> Vec<String> {
    let mut gaps = Vec::new();
    if !trace.is_complete() {
        gaps.push("the recording is incomplete".to_owned());
    }
    if trace.memtrace.as_ref().is_some_and(|tally| tally.sample_rate < 1.0) {
        gaps.push("a sampled memtrace file does not say how exact its figures are".to_owned());
    }
    gaps.extend(problems.first().cloned());
    gaps
}

/// The programs that are not in a trace.
fn unrecorded_of(trace: &Opened) -> Unrecorded {
    trace.session_end().map(|end| end.unrecorded.clone()).unwrap_or_default()
}

/// Indices of the processes that rules are about.
fn chosen<H: History>(split: &Split<'_, H>, wanted: Option<&str>) -> Vec<usize> {
    let is_wanted = |facts: &ProcessFacts| wanted.is_none_or(|wanted| facts.is_program(wanted));
    let processes = split.processes().iter().enumerate();
    processes.filter(|(_, facts)| is_wanted(facts)).map(|(number, _)| number).collect()
}

/// File name of a program.
fn program(exe: &[u8]) -> String {
    let path = lossy(exe);
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("program").to_owned()
}

/// All rules but those of the baseline.
fn check(args: &CheckArgs, trace: &Opened, suppressions: Suppressions, resolver: &Resolver) -> Checked {
    let recording = Recording::new(trace);
    let split = Split::new(&recording);
    let numbers = chosen(&split, args.process.as_deref());
    let mut problems = [recording.problems(), trace.problems.clone()].concat();
    let (rules, gaps) = (rules_of(args, trace), gaps(trace, &problems));
    let mut gathered = Gathered::default();
    let mut subjects: Vec<Subject> = Vec::new();
    for number in &numbers {
        let alone = split.only(&[*number]);
        let answer = analyze_selection(&alone, &Options { timeline_steps: 1, ..Options::default() });
        // All of its stacks, so that they have the numbers that they have in a report.
        gathered.nodes(&answer.tree);
        let mut subject = Subject::new(&answer, args.top, &mut gathered);
        if trace.heaplog.is_some() {
            subject = subject.of_heaphook();
        }
        subject.problems.splice(0..0, gaps.iter().cloned());
        if args.max_alloc_rate.is_some() {
            the_busiest_second(&alone, &mut subject, args.top, &mut gathered);
        }
        if let Some(limit_ns) = args.max_latency {
            the_slowest_calls(&alone, &mut subject, limit_ns, args.top, &mut gathered);
        }
        subjects.push(subject);
    }
    let session = recording.session();
    let gone = (session.evicted.processes > 0).then_some(&session.evicted);
    if let Some(gone) = gone {
        let mut subject = evicted::subject(gone, args.process.is_none(), &mut gathered);
        subject.problems.splice(0..0, gaps.iter().cloned());
        subjects.push(subject);
    }
    // Of several processes the peak is that of what was live in all of them at one time.
    let is_of_peak = |rule: &Rule| matches!(rule, Rule::Max(Limited::Peak, _));
    let together = (subjects.len() > 1 && rules.iter().any(is_of_peak)).then(|| {
        let all = if args.process.is_none() { split.whole() } else { split.only(&numbers) };
        let answer = analyze_selection(&all, &Options { timeline_steps: 1, ..Options::default() });
        let mut subject = Subject::together(&answer, args.top, &mut gathered);
        if args.process.is_some() {
            subject = subject.or_evicted(&session.evicted);
        }
        subject.problems.splice(0..0, gaps.iter().cloned());
        subject
    });
    let (mut forbade, unread) = forbidden(&split.only(&numbers), &rules, &mut gathered);
    problems.extend(unread);
    let processes = whose(&split, &session, &numbers).into_iter().chain(gone.map(of_evicted)).collect();
    let mut checked =
        Checked { suppressions, problems, gathered, ..unjudged(args, trace, &session, processes) };
    let of_leaks = rules.iter().any(|rule| matches!(rule, Rule::Max(limited, _) if limited.is_of_leaks()));
    suppress(&mut checked, &mut subjects, &mut forbade, of_leaks, resolver);
    let unrecorded =
        unrecorded::subjects(&unrecorded_of(trace), args.process.as_deref(), &mut checked.processes);
    let subjects = Subjects { recorded: &subjects, together: together.as_ref(), unrecorded: &unrecorded };
    checked.findings = judged(&rules, &subjects, &forbade, args.top);
    let last = subjects.recorded.len().saturating_sub(1);
    checked.findings.extend(gone.iter().flat_map(|gone| evicted::no_calls(&rules, last, gone)));
    let answer = || {
        let selection = if args.process.is_none() { split.whole() } else { split.only(&numbers) };
        analyze_selection(&selection, &Options::default())
    };
    let counted = (&mut checked, !of_leaks);
    let found = check_findings::judged(&rules, answer, &gaps, args.top, counted, resolver);
    checked.findings.extend(found);
    checked
}

/// What is known before any rule is judged.
fn unjudged(args: &CheckArgs, trace: &Opened, session: &SessionFacts, processes: Vec<Whose>) -> Checked {
    Checked {
        trace: args.trace.to_string_lossy().into_owned(),
        begin_real_ns: session.begin_real_ns,
        processes,
        host: session.host.clone(),
        findings: Vec::new(),
        suppressions: Suppressions::default(),
        suppressions_file: args.suppressions.as_ref().map_or(String::new(), |p| p.to_string_lossy().into()),
        problems: Vec::new(),
        has_times: trace.heaplog.is_none(),
        gathered: Gathered::default(),
    }
}

fn whose<H: History>(split: &Split<'_, H>, session: &SessionFacts, numbers: &[usize]) -> Vec<Whose> {
    let mut all: Vec<Whose> = Vec::new();
    for number in numbers {
        let facts = &split.processes()[*number];
        let program = program(&facts.exe);
        let nth = all.iter().filter(|other| other.program == program).count() + 1;
        all.push(Whose { pid: facts.pid, program, nth, begin_mono_ns: origin_ns(session, facts) });
    }
    all
}

/// Processes of which a ring has left sums only, as one.
fn of_evicted(gone: &Evicted) -> Whose {
    Whose { program: evicted::name(gone), nth: 1, ..Whose::default() }
}

/// Applies suppressions, which needs the names of all frames.
fn suppress(
    checked: &mut Checked,
    subjects: &mut [Subject],
    forbade: &mut [Vec<ForbiddenCalls>],
    of_leaks: bool,
    resolver: &Resolver,
) {
    let Checked { suppressions, gathered, .. } = checked;
    let of_leaks = of_leaks && suppressions.has(Kind::Leak);
    let of_calls = suppressions.has(Kind::Alloc);
    let leaks = || subjects.iter().flat_map(|subject| &subject.leaks).map(|leak| leak.stack);
    let called = || forbade.iter().flatten().flat_map(|of| &of.stacks).map(|(calls, _)| calls.node);
    let wanted: Vec<NodeId> = leaks().filter(|_| of_leaks).chain(called().filter(|_| of_calls)).collect();
    let names = NamedStacks::look_up(gathered.tree(), wanted, resolver);
    if of_leaks {
        subjects.iter_mut().for_each(Subject::doubt_leaks_of_no_stack);
    }
    for leak in subjects.iter_mut().flat_map(|subject| &mut subject.leaks).filter(|_| of_leaks) {
        leak.suppressed = suppressions.find(Kind::Leak, &names.frames(leak.stack));
        if let Some(by) = leak.suppressed {
            suppressions.used(by, leak.amount);
        }
    }
    for (calls, by) in forbade.iter_mut().flatten().flat_map(|of| &mut of.stacks).filter(|_| of_calls) {
        *by = suppressions.find(Kind::Alloc, &names.frames(calls.node));
    }
    judge::passed(forbade).for_each(|(by, amount)| suppressions.used(by, amount));
}

/// Whom rules are about.
struct Subjects<'a> {
    /// Processes.
    recorded: &'a [Subject],
    /// All of them, where that is another figure.
    together: Option<&'a Subject>,
    /// Programs of which nothing is known.
    unrecorded: &'a [UnrecordedSubject],
}

/// Findings by rule, and for each rule by process; where that is another figure, of all `together`.
fn judged(
    rules: &[Rule],
    subjects: &Subjects<'_>,
    forbade: &[Vec<ForbiddenCalls>],
    top: usize,
) -> Vec<Finding> {
    let is_nobody_known = subjects.recorded.is_empty() && subjects.unrecorded.is_empty();
    let of_rule = |(rule, forbade): (&Rule, &Vec<ForbiddenCalls>)| match rule {
        Rule::NoCalls(..) => judge::no_calls(rule, forbade, subjects.recorded, top),
        Rule::Max(limited, _) if is_nobody_known => {
            vec![judge::undecided(rule, None, limited.unit(), "no matching process was recorded")]
        }
        Rule::Max(..) => {
            let all = subjects.together.filter(|_| matches!(rule, Rule::Max(Limited::Peak, _)));
            let of_all = all.and_then(|all| judge::limit(rule, None, all, top));
            let recorded = subjects.recorded.iter().enumerate();
            recorded.filter_map(|(n, subject)| judge::limit(rule, n, subject, top)).chain(of_all).collect()
        }
        Rule::Grew(..) | Rule::NoFindings(_) => Vec::new(),
    };
    let of_unrecorded = |rule: &Rule| unrecorded::findings(rule, subjects.unrecorded);
    rules.iter().zip(forbade).flat_map(|of| [of_rule(of), of_unrecorded(of.0)].concat()).collect()
}

/// The older trace that a trace is compared with.
struct Baseline<'a> {
    path: &'a Path,
    trace: Opened,
}

/// The rules of the baseline.
fn compare(
    args: &CheckArgs,
    baseline: &Baseline<'_>,
    new: &Opened,
    resolver: &Resolver,
    checked: &mut Checked,
) {
    let paths = [baseline.path, &args.trace].map(|path| path.to_string_lossy());
    let [old, new] = [(&baseline.trace, &paths[0]), (new, &paths[1])].map(|(trace, path)| {
        let (answer, problems) = whole(trace, args.process.as_deref());
        let unrecorded = unrecorded::gaps(&unrecorded_of(trace), args.process.as_deref());
        let why = gaps(trace, &problems).into_iter().chain(unrecorded).map(|why| format!("{path}: {why}"));
        (answer, why.collect::<Vec<_>>())
    });
    let mut gaps = [old.1, new.1].concat();
    let mut answers = [old.0, new.0];
    gaps.extend(baseline::gaps(&answers, [&paths[0], &paths[1]]));
    let trees = answers.each_ref().map(|answer| answer.tree.clone());
    let names: Vec<NamedStacks<'_>> = (0..2)
        .map(|n| NamedStacks::look_up(&trees[n], answers[n].stacks.iter().map(|stack| stack.node), resolver))
        .collect();
    for (answer, names) in answers.iter_mut().zip(&names) {
        baseline::let_stay(answer, names, &checked.suppressions);
    }
    let mut paths = Paths::default();
    let sides: Vec<Side<'_>> =
        (0..2).map(|n| super::diff::side(&answers[n], &names[n], &mut paths, false)).collect();
    for rule in &rules(args, &Default::default()) {
        let Rule::Grew(measure, _) = rule else { continue };
        let diff = diff::diff(&sides[0], &sides[1], *measure);
        let finding = baseline::grew(rule, &diff, &answers, &gaps, args.top, &mut checked.gathered);
        checked.findings.extend(finding);
    }
}

/// All processes that rules are about, as one, and what is wrong with the trace.
fn whole(trace: &Opened, process: Option<&str>) -> (Answer, Vec<String>) {
    let recording = Recording::new(trace);
    let split = Split::new(&recording);
    let chosen = split.only(&chosen(&split, process));
    let answer = analyze_selection(&chosen, &Options { timeline_steps: 1, ..Options::default() });
    (answer, [recording.problems(), trace.problems.clone()].concat())
}
