//! `heapscribe convert` to the formats of other tools that show heaps and profiles: what is asked of a trace for them.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use heapscribe_analyze::answer::Answer;
use heapscribe_analyze::input::{Choice, Chosen, History as _};
use heapscribe_analyze::measure::Measure;
use heapscribe_analyze::moments;
use heapscribe_analyze::selection::Split;
use heapscribe_analyze::{Options, snapshot};
use heapscribe_convert::ranges::Ranges;
use heapscribe_convert::stack_levels::StackLevels;
use heapscribe_convert::{Input, Opened, analyze_selection, heaptrack};
use heapscribe_diagnostics::Problem;
use heapscribe_formats::{Evicted, Process};
use heapscribe_views::exports::chrome_trace::NamedNote;
use heapscribe_views::exports::{ExportedStacks, chrome_trace, dhat, massif, speedscope};

use super::convert_one::{exit_code, note_early_times, one};
use super::flame_picture::Form;
use super::output::create;
use super::resolver::resolver;
use super::{convert_profiles, convert_tables, flame, partial, range};
use crate::cli::{ConvertArgs, ConvertTo, Metric};
use crate::message;

/// Moments of the heap in a massif file: as many as massif has at most.
const MASSIF_STEPS: u32 = 100;

/// Runs the command.
pub(super) fn run(args: &ConvertArgs, input: Input) -> Result<ExitCode> {
    let trace = match args.to {
        ConvertTo::Folded | ConvertTo::Speedscope | ConvertTo::Pprof | ConvertTo::Otlp => {
            input.into_sums(args.salvage.into())?
        }
        _ => input.into_trace(args.salvage.into())?,
    };
    note_early_times(args, &trace);
    if let Some(format) = args.to.table_format() {
        return convert_tables::run(args, &trace, format);
    }
    reject_tables(args)?;
    note_estimates(args, &trace);
    match args.to {
        ConvertTo::Heaptrack => return to_heaptrack(args, &trace),
        ConvertTo::Dhat => return to_dhat(args, &trace),
        ConvertTo::Massif => return to_massif(args, &trace),
        ConvertTo::Pprof | ConvertTo::Otlp => return convert_profiles::run(args, &trace),
        _ => {}
    }
    let (answer, measures) = answer(args, &trace)?;
    let resolver = resolver(&args.symbols, &[&trace])?;
    let mut out = create(args.output())?;
    let written = || format!("cannot write {}", args.output().display());
    match args.to {
        ConvertTo::Folded => {
            let measure = folded_measure(args, &measures)?;
            let widths = answer.stacks.iter().map(|stack| (stack.node, measure.of(stack)));
            let graph = flame::graph(&answer.tree, &answer.processes, widths, &resolver, false, Form::Folded);
            graph.lines().iter().try_for_each(|line| writeln!(out, "{line}")).with_context(written)?;
        }
        ConvertTo::Speedscope => {
            let titles: Vec<_> = measures.iter().map(|of| (*of, title(*of, args))).collect();
            let stacks = ExportedStacks::look_up(&answer, &resolver);
            out.write_all(&speedscope::file(&stacks, &titles)?).with_context(written)?;
        }
        _ => chrome_trace::write(&answer, &notes(args, &trace)?, &mut out).with_context(written)?,
    }
    out.flush().with_context(written)?;
    Ok(partial::exit_code_of(&args.trace, &answer, trace.is_complete()))
}

/// Says that figures are estimates, of formats that cannot say it themselves.
fn note_estimates(args: &ConvertArgs, trace: &Opened) {
    let is_mute = matches!(args.to, ConvertTo::Folded | ConvertTo::Dhat | ConvertTo::Pprof | ConvertTo::Otlp);
    if is_mute && trace.profile.is_none() && range::is_sampled(&trace.recording()) {
        let shown = args.trace.display();
        message::note(&format!(
            "figures are estimates from samples, and this format cannot mark them as such; {shown} says how sure they are"
        ));
    }
}

/// Refuses flags of exports where nothing is exported.
pub(super) fn reject_part(args: &ConvertArgs) -> Result<(), Problem> {
    reject_tables(args)?;
    if !args.part.range().is_any() && args.metric.is_none() {
        return Ok(());
    }
    let what = "this format holds the events of the whole time, not figures of a part of it".to_owned();
    Err(Problem::new(what, "remove --range, --live-at and --metric; `heapscribe subsample` cuts a trace"))
}

fn reject_tables(args: &ConvertArgs) -> Result<(), Problem> {
    if !args.tables.is_any() {
        return Ok(());
    }
    let what = "this format has no tables";
    Err(Problem::new(what, "remove --events, --label, --service and --service-version, or use --to parquet"))
}

/// What is known of the stacks, and which figures of them.
fn answer(args: &ConvertArgs, trace: &Opened) -> Result<(Answer, Vec<Measure>)> {
    let (choice, part) = (choice(args), args.part.range());
    let options = Options { splits_processes: true, ..Options::default() };
    if let Some(sums) = &trace.profile {
        part.reject(&args.trace, "a profile")?;
        convert_profiles::reject_choice(args)?;
        return Ok((sums.answer.clone(), sums.measures()));
    }
    if let Some(snapshot) = snapshot_of(trace) {
        if !args.to.has_ranges() {
            return Err(no_time(&args.trace).into());
        }
        part.reject(&args.trace, "a snapshot")?;
        return Ok((snapshot, vec![Measure::Leaked]));
    }
    if part.is_any() && !args.to.has_ranges() {
        return Err(whole_time(args).into());
    }
    let of_range = [Measure::Allocated, Measure::Leaked];
    let answer = range::analyze_measures(trace, &args.trace, &choice, &part, of_range, &options)?;
    let measures = match (part.is_any(), part.live_at.is_some()) {
        (false, _) => {
            vec![Measure::Peak, Measure::Leaked, Measure::Allocated, Measure::Count, Measure::Temporary]
        }
        (true, true) => vec![Measure::Leaked, Measure::Count],
        (true, false) => vec![Measure::Allocated, Measure::Count, Measure::Leaked],
    };
    Ok((answer, measures))
}

fn snapshot_of(trace: &Opened) -> Option<Answer> {
    let first = snapshot::is_one(&**trace).then(|| snapshot::analyze(&**trace).into_iter().next()).flatten();
    first.map(|snapshot| snapshot.to_answer())
}

fn choice(args: &ConvertArgs) -> Choice {
    Choice {
        pids: args.pid.into_iter().collect(),
        programs: args.process.iter().cloned().collect(),
        ..Choice::default()
    }
}

/// The one figure of a format that has room for one.
fn folded_measure(args: &ConvertArgs, known: &[Measure]) -> Result<Measure, Problem> {
    let default = known.first().copied().unwrap_or(Measure::Leaked);
    match args.metric.map(Metric::measure) {
        None => Ok(default),
        // What is live at a moment is the peak's figure of that moment.
        Some(Measure::Peak) if default == Measure::Leaked => Ok(Measure::Leaked),
        Some(measure) if known.contains(&measure) => Ok(measure),
        Some(measure) => {
            let what = format!("the figure `{}` is not known of this part of the trace", measure.name());
            let names: Vec<_> = known.iter().map(|measure| measure.name()).collect();
            Err(Problem::new(what, format!("choose --metric {}", names.join(" or "))))
        }
    }
}

/// What a figure is called.
fn title(measure: Measure, args: &ConvertArgs) -> &'static str {
    match measure {
        Measure::Peak => "Bytes live at the peak of the heap",
        Measure::Leaked if args.part.range().live_at.is_some() => "Bytes live at the moment",
        Measure::Count if args.part.range().live_at.is_some() => "Blocks live at the moment",
        Measure::Leaked => "Bytes not freed until the end",
        Measure::Allocated => "Bytes allocated",
        Measure::Count => "Allocations",
        Measure::Temporary => "Blocks freed before the next allocation",
    }
}

/// Marks and sections of all processes, by name.
fn notes(args: &ConvertArgs, trace: &Opened) -> Result<Vec<NamedNote>> {
    let recording = trace.recording();
    let index = args.part.range().index();
    let Ok(ranges) = Ranges::open(&recording, &args.trace, &index, &mut |_, _| {}) else {
        return Ok(Vec::new());
    };
    let chosen = trace.chosen(&choice(args))?;
    let mut names: Vec<Vec<u8>> = (0..recording.processes().len())
        .flat_map(|process| moments::names(&recording, process).into_values())
        .collect();
    names.sort_unstable();
    names.dedup();
    let named = |name: Vec<u8>| {
        let moments = ranges.notes(&name).into_iter();
        moments.map(move |moment| NamedNote { name: name.clone(), moment })
    };
    let all = names.into_iter().flat_map(named);
    let mut all: Vec<_> = all.filter(|note| chosen.has(note.moment.process, note.moment.thread)).collect();
    all.sort_by_key(|note| note.moment);
    Ok(all)
}

fn to_heaptrack(args: &ConvertArgs, trace: &Opened) -> Result<ExitCode> {
    reject_no_events(args, trace)?;
    let resolver = resolver(&args.symbols, &[trace])?;
    let process = one(args, trace)?;
    let problems = heaptrack::to::convert(trace, process, &resolver, create(args.output())?)?;
    Ok(exit_code(args, trace, process, &problems))
}

fn to_massif(args: &ConvertArgs, trace: &Opened) -> Result<ExitCode> {
    reject_no_events(args, trace)?;
    let options = Options { timeline_steps: MASSIF_STEPS, ..Options::default() };
    let answer = answer_of_one(trace, one(args, trace)?, &options);
    let resolver = resolver(&args.symbols, &[trace])?;
    let stacks = ExportedStacks::look_up(&answer, &resolver);
    let mut out = create(args.output())?;
    let written = massif::write(&stacks, &mut out).and_then(|()| out.flush());
    written.with_context(|| format!("cannot write {}", args.output().display()))?;
    Ok(partial::exit_code(&args.trace, &answer.problems, trace.is_complete()))
}

/// What one process did.
fn answer_of_one(trace: &Opened, process: &Process, options: &Options) -> Answer {
    let recording = trace.recording();
    let split = Split::new(&recording);
    let chosen = Chosen { processes: vec![(process.index.0 as usize, None)] };
    let mut answer = analyze_selection(&split.chosen(chosen), options);
    answer.problems.splice(0..0, recording.problems());
    answer.problems.extend_from_slice(&trace.problems);
    answer
}

fn to_dhat(args: &ConvertArgs, trace: &Opened) -> Result<ExitCode> {
    reject_no_events(args, trace)?;
    let process = one(args, trace)?;
    let mut answer = answer_of_one(trace, process, &Options::default());
    if answer.evicted != Evicted::default() {
        return Err(lacks_first_events(&args.trace).into());
    }
    let resolver = resolver(&args.symbols, &[trace])?;
    let stacks = ExportedStacks::look_up(&answer, &resolver);
    let groups = dhat::groups(&stacks);
    let end_mono_ns = answer.begin_mono_ns.saturating_add(answer.duration_ns);
    let end_ns = end_mono_ns.saturating_sub(trace.start_mono_ns());
    let levels = StackLevels::of(trace, process, &answer.tree, &groups, end_ns);
    let pid = process.info.as_ref().map_or(0, |info| info.pid);
    let file = dhat::file(&stacks, pid, &groups, &levels)?;
    std::fs::write(args.output(), file)
        .with_context(|| format!("cannot write {}", args.output().display()))?;
    answer.problems.extend(levels.problems);
    Ok(partial::exit_code(&args.trace, &answer.problems, trace.is_complete()))
}

fn reject_no_events(args: &ConvertArgs, trace: &Opened) -> Result<(), Problem> {
    match snapshot::is_one(&**trace) {
        true => Err(no_time(&args.trace)),
        false if args.part.range().is_any() => Err(whole_time(args)),
        false => Ok(()),
    }
}

fn no_time(trace: &Path) -> Problem {
    let what = format!("{} is a snapshot: a moment, of which there is no time to show", trace.display());
    Problem::new(what, "convert it with --to folded, speedscope or pprof")
}

fn whole_time(args: &ConvertArgs) -> Problem {
    let shown = args.trace.display();
    Problem::new(
        "this format holds the whole time, not figures of a part of it",
        format!("cut the trace first: heapscribe subsample {shown} --from 1s --to 2s -o part.hst"),
    )
}

fn lacks_first_events(trace: &Path) -> Problem {
    let what =
        format!("{} lacks the first events of its recording, which DHAT's figures need", trace.display());
    Problem::new(what, "convert it with --to folded, speedscope or pprof")
}
