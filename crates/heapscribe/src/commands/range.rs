//! Ranges of a trace: which moments its flags mean, and the figures of stacks in them.

use std::path::Path;

use anyhow::Result;
use heapscribe_analyze::Options;
use heapscribe_analyze::answer::{Answer, Dropped, Process, Stack};
use heapscribe_analyze::estimate::Sampling;
use heapscribe_analyze::events::Rates;
use heapscribe_analyze::input::{Choice, Chosen, History, Recording};
use heapscribe_analyze::losses::{counted, problems};
use heapscribe_analyze::measure::Measure;
use heapscribe_analyze::moments::{NoteKind, NoteMoment};
use heapscribe_convert::Opened;
use heapscribe_convert::file_source::FileSource;
use heapscribe_convert::ranges::{ByKey, IndexOptions, RangeStacks, Ranges};
use heapscribe_diagnostics::Problem;
use heapscribe_index::{Death, Question, Span};
use heapscribe_units::duration;
use heapscribe_views::losses::causes;
use heapscribe_views::range::{FIGURES, RangeTimes};
use heapscribe_wire::head::DROP_COUNTERS;

use crate::cli::{Moment, RangeArgs};
use crate::progress::IndexBar;

pub(super) type Of<'r> = Ranges<'r, Recording<'r, FileSource>>;

/// The range that was asked for.
pub(super) struct Range {
    /// In which time something happens.
    pub(super) time: Span,
    /// When blocks are born.
    born: Span,
    /// When they are freed, where that is a choice of its own.
    freed: Option<Span>,
    live_at_ns: Option<u64>,
}

/// Which end of a range a moment is, if it is one: a section has two.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Begin,
    End,
    /// It is no range, and the end of the trace is right before the processes end, with which their blocks go.
    Live,
}

impl Range {
    /// The range that flags mean.
    pub(super) fn of(args: &RangeArgs, ranges: &Of<'_>) -> Result<Range, Problem> {
        let at = |moment: &Option<Moment>, place| {
            moment.as_ref().map(|moment| moment_ns(moment, place, ranges)).transpose()
        };
        let span = |from: Option<u64>, to: Option<u64>, what: &str| {
            let span = Span { from_ns: from.unwrap_or(0), to_ns: to.unwrap_or(u64::MAX) };
            checked(span, what, ranges)
        };
        let both = |moments: &Option<(Moment, Moment)>, what| {
            let ends = moments.clone().map_or((None, None), |(from, to)| (Some(from), Some(to)));
            span(at(&ends.0, Place::Begin)?, at(&ends.1, Place::End)?, what)
        };
        let (from, to) = (at(&args.from, Place::Begin)?, at(&args.to, Place::End)?);
        let freed = args.freed_in.is_some().then(|| both(&args.freed_in, "the range of --freed-in"));
        Ok(Range {
            time: span(from, to, "the range from --from to --to")?,
            born: both(&args.born_in, "the range of --born-in")?,
            freed: freed.transpose()?,
            live_at_ns: at(&args.live_at, Place::Live)?,
        })
    }

    /// Blocks that were born in both times.
    pub(super) fn born_in_time(&self) -> Span {
        self.born.and(&self.time)
    }

    /// Those of its blocks that a measure is of.
    pub(super) fn question(&self, measure: Measure) -> Result<Question, Problem> {
        let born = self.born_in_time();
        match (measure, self.live_at_ns) {
            (Measure::Temporary, _) => {
                let what = "temporary blocks are not counted by ranges";
                Err(Problem::new(what, "choose another --metric, or remove the range"))
            }
            (Measure::Leaked, _) if self.freed.is_some() => {
                let what = "what was freed is not leaked";
                Err(Problem::new(what, "choose another --metric, or remove --freed-in"))
            }
            (_, Some(ns)) => Ok(Question::generation(born, ns)),
            (Measure::Peak, None) => {
                let what = "the peak is a moment, and not one of each range";
                Err(Problem::new(what, "use --live-at peak, or --metric allocated or leaked"))
            }
            (Measure::Leaked, None) => Ok(Question { born, death: Death::NotUntil(last_ns(&self.time)) }),
            (Measure::Allocated | Measure::Count, None) => {
                Ok(Question { born, death: self.freed.map_or(Death::Any, Death::In) })
            }
        }
    }
}

/// A range with something in it. One that ends where it begins is of one moment, which --live-at is for, and of 326 ms
/// `--from 10s` had 0 of everything.
fn checked(span: Span, what: &str, ranges: &Of<'_>) -> Result<Span, Problem> {
    let (extent, empty) = (ranges.extent(), span.is_empty());
    let begin_ns = span.from_ns.saturating_sub(extent.begin_ns);
    let (what, hint) = if empty && span.from_ns == span.to_ns {
        let hint = "choose a later end, or see what is live at that moment with --live-at";
        (format!("{what} ends where it begins, so nothing is in it"), hint)
    } else if empty {
        (format!("{what} ends before it begins, so nothing is in it"), "swap the two moments")
    } else if begin_ns > extent.duration_ns {
        let [begin, end] = [begin_ns, extent.duration_ns].map(duration);
        let what = format!("{what} begins {begin} after the start, and the trace ends after {end}");
        (what, "choose an earlier begin, in time or as a part such as 50%")
    } else {
        return Ok(span);
    };
    Err(Problem::new(what, hint))
}

/// The last moment of a time, or that of all times.
const fn last_ns(time: &Span) -> u64 {
    if time.to_ns == u64::MAX { u64::MAX } else { time.to_ns.saturating_sub(1) }
}

/// A moment as CLOCK_MONOTONIC ns.
fn moment_ns(moment: &Moment, place: Place, ranges: &Of<'_>) -> Result<u64, Problem> {
    let extent = ranges.extent();
    let after = |ns: u64| extent.begin_ns.saturating_add(ns);
    match moment {
        Moment::Time(ns) if *ns >= extent.duration_ns && place == Place::Live => Ok(Question::END),
        Moment::Time(ns) => Ok(after(*ns)),
        // The end of a range is not in it, but the end of the trace is.
        Moment::Part(part) if *part >= 1.0 && place != Place::Begin => Ok(u64::MAX),
        Moment::Part(part) => Ok(after((extent.duration_ns as f64 * part) as u64)),
        Moment::Peak => Ok(after(ranges.peak().time_ns)),
        Moment::Mark(name, number) => {
            let all = ranges.notes(name.as_bytes());
            let mut marks = all.iter().filter(|note| note.kind == NoteKind::Mark);
            marks.nth(number - 1).map(|mark| mark.ns).ok_or_else(|| no_such("mark", name, *number))
        }
        Moment::Section(name, number) => {
            let notes = ranges.notes(name.as_bytes());
            section(&notes, *number, place).ok_or_else(|| no_such("section", name, *number))
        }
    }
}

/// The time between two moments, ns after the start. What is not a trace of ours has no names and no peak.
pub(super) fn time_of(
    from: &Option<Moment>,
    to: &Option<Moment>,
    trace: Option<(&Opened, &Path)>,
) -> Result<std::ops::Range<u64>, Problem> {
    let is_plain = |moment: &Option<Moment>| matches!(moment, None | Some(Moment::Time(_)));
    let plain = |moment: &Option<Moment>| match moment {
        Some(Moment::Time(ns)) => Some(*ns),
        _ => None,
    };
    let time = match trace {
        _ if is_plain(from) && is_plain(to) => plain(from).unwrap_or(0)..plain(to).unwrap_or(u64::MAX),
        Some((trace, path)) => {
            let recording = trace.recording();
            let index = IndexOptions { is_wanted: false, ..IndexOptions::default() };
            let ranges = Ranges::open(&recording, path, &index, &mut |_, _| {})?;
            let since = |moment: &Option<Moment>, place| {
                let ns = moment.as_ref().map(|moment| moment_ns(moment, place, &ranges)).transpose()?;
                let since =
                    |ns: u64| if ns == u64::MAX { ns } else { ns.saturating_sub(ranges.extent().begin_ns) };
                Ok::<_, Problem>(ns.map(since))
            };
            since(from, Place::Begin)?.unwrap_or(0)..since(to, Place::End)?.unwrap_or(u64::MAX)
        }
        None => {
            let what = "a memtrace file has no marks, no sections, and is not searched for its peak";
            return Err(Problem::new(what, "give times, such as --from 1.5s"));
        }
    };
    if time.is_empty() {
        let what = "--from is not before --to, so nothing would be left";
        return Err(Problem::new(what, "swap the two times"));
    }
    Ok(time)
}

/// The begin or end of a section: it ends on the thread on which it began. One that never ended lasts until the end.
fn section(notes: &[NoteMoment], number: usize, place: Place) -> Option<u64> {
    let begin = notes.iter().filter(|note| note.kind == NoteKind::Begin).nth(number - 1)?;
    if place != Place::End {
        return Some(begin.ns);
    }
    let mut depth = 0;
    let on_thread = |note: &&NoteMoment| {
        (note.process, note.thread) == (begin.process, begin.thread) && note.ns >= begin.ns
    };
    for note in notes.iter().filter(on_thread) {
        match note.kind {
            NoteKind::Begin => depth += 1,
            NoteKind::End => depth -= 1,
            NoteKind::Mark => continue,
        }
        if depth == 0 {
            return Some(note.ns.saturating_add(1));
        }
    }
    Some(u64::MAX)
}

fn no_such(what: &str, name: &str, number: usize) -> Problem {
    let nth = if number > 1 { format!(" number {number}") } else { String::new() };
    let hint = format!("list the {what}s of the trace with `heapscribe report TRACE --full`");
    Problem::new(format!("the trace has no {what} `{name}`{nth}"), hint)
}

/// Opens a trace for questions about ranges.
pub(super) fn open<'r>(
    args: &RangeArgs,
    path: &Path,
    recording: &'r Recording<'r, FileSource>,
) -> Result<Of<'r>, Problem> {
    let bar = IndexBar::new();
    let ranges = Ranges::open(recording, path, &args.index(), &mut |done, of| bar.set(done, of))?;
    bar.finish();
    if ranges.index().is_some_and(heapscribe_index::Index::is_coarse) {
        crate::message::note(
            "the index is coarse, as memory did not suffice: some stacks are counted as unknown; use more --index-memory",
        );
    }
    Ok(ranges)
}

/// What commands that look at one figure of each stack see of a trace: that figure in the range, or all of it.
pub(super) fn analyze_of(
    trace: &Opened,
    path: &Path,
    choice: &Choice,
    args: &RangeArgs,
    measure: Measure,
) -> Result<Answer> {
    analyze_with(trace, path, choice, args, measure, &Options::default())
}

/// The same, answered as the options say.
pub(super) fn analyze_with(
    trace: &Opened,
    path: &Path,
    choice: &Choice,
    args: &RangeArgs,
    measure: Measure,
    options: &Options,
) -> Result<Answer> {
    analyze_measures(trace, path, choice, args, [measure], options)
}

/// The same of several figures: of a range each stack has these and no others.
pub(super) fn analyze_measures<const N: usize>(
    trace: &Opened,
    path: &Path,
    choice: &Choice,
    args: &RangeArgs,
    measures: [Measure; N],
    options: &Options,
) -> Result<Answer> {
    if !args.is_any() {
        return Ok(trace.analyze_with(choice, options)?);
    }
    let recording = trace.recording();
    let ranges = open(args, path, &recording)?;
    let chosen = trace.chosen(choice)?;
    let range = Range::of(args, &ranges)?;
    let mut answers = [const { None }; N];
    for (answer, measure) in answers.iter_mut().zip(measures) {
        *answer = Some(ranges.ask_of(&range.question(measure)?, &chosen));
    }
    let answers = answers.map(Option::unwrap_or_default);
    let figures = RangeStacks::new(&recording, answers.each_ref(), options.splits_processes);
    let session = recording.session();
    let stack = |(node, amounts): &(_, [_; N])| {
        let mut stack = Stack { node: *node, ..Stack::default() };
        measures.iter().zip(amounts).for_each(|(measure, amount)| measure.set(&mut stack, *amount));
        stack
    };
    let mut missing = without_stacks(&ranges, &chosen);
    missing.problems.extend(figures.problems);
    Ok(Answer {
        command: session.command,
        host: session.host,
        begin_mono_ns: ranges.extent().begin_ns,
        begin_real_ns: session.begin_real_ns,
        duration_ns: ranges.extent().duration_ns,
        complete: true,
        stacks: figures.stacks.iter().map(stack).collect(),
        tree: figures.tree,
        sampling: is_sampled(&recording).then(Sampling::default),
        ..missing
    })
}

/// What processes are called by, and what is missing of those that are chosen.
pub(super) fn without_stacks(ranges: &Of<'_>, chosen: &Chosen) -> Answer {
    let (in_chunks, begin_ns) = (ranges.lost_in_chunks(), ranges.extent().begin_ns);
    let (mut answer, mut dropped) = (Answer::default(), [0u64; DROP_COUNTERS]);
    for (number, facts) in ranges.history().processes().into_iter().enumerate() {
        let since = |ns: u64| ns.saturating_sub(begin_ns);
        let mut process =
            Process { pid: facts.pid, exe: facts.exe, command: facts.command, ..Process::default() };
        if chosen.processes.iter().any(|(of, _)| *of == number) {
            (process.is_unfinished, process.gap_at) = (facts.is_unfinished, facts.gap_at);
            process.off = facts.off.iter().map(|(from, to)| (since(*from), since(*to))).collect();
            let (counters, lost) = counted(&facts.drops, &in_chunks.of(number));
            answer.totals.lost_events = answer.totals.lost_events.saturating_add(lost);
            let sums = dropped.iter_mut().zip(&counters);
            sums.for_each(|(sum, count)| *sum = sum.saturating_add(*count));
        }
        answer.processes.push(process);
    }
    answer.problems = ranges.history().problems();
    answer.problems.extend(ranges.damage(&in_chunks));
    answer.problems.extend(problems(answer.totals.lost_events, &dropped));
    answer.dropped = Dropped::list(&dropped);
    answer
}

/// All figures of a range, for the report.
pub(super) struct Reported {
    pub(super) figures: RangeStacks<FIGURES>,
    pub(super) times: RangeTimes,
    pub(super) duration_ns: u64,
    pub(super) is_estimated: bool,
    /// Why figures are not exact.
    pub(super) causes: Vec<String>,
    pub(super) problems: Vec<String>,
}

/// Asks for them.
pub(super) fn report_of(trace: &Opened, path: &Path, choice: &Choice, args: &RangeArgs) -> Result<Reported> {
    let recording = trace.recording();
    let ranges = open(args, path, &recording)?;
    let chosen = trace.chosen(choice)?;
    let range = Range::of(args, &ranges)?;
    let ask = |born, death| ranges.ask_of(&Question { born, death }, &chosen);
    let live = |born, ns| ranges.ask_of(&Question::generation(born, ns), &chosen);
    let born_in_time = range.born_in_time();
    let live_at_end = || match range.live_at_ns {
        Some(ns) => live(born_in_time, ns),
        None => live(range.born, last_ns(&range.time)),
    };
    let live_at_begin = || match range.time.from_ns.checked_sub(1) {
        Some(ns) => live(range.born, ns),
        None => ByKey::default(),
    };
    let answers = match range.freed {
        // All of its blocks were allocated and freed, and it is of no moment.
        Some(freed) => {
            let freed = ask(range.born, Death::In(freed));
            [freed.clone(), freed, ByKey::default(), ByKey::default(), ByKey::default()]
        }
        None => [
            ask(born_in_time, Death::Any),
            ask(range.born, Death::In(range.time)),
            ask(born_in_time, Death::NotUntil(last_ns(&range.time))),
            live_at_begin(),
            live_at_end(),
        ],
    };
    let figures = RangeStacks::new(&recording, answers.each_ref(), false);
    let begin_ns = ranges.extent().begin_ns;
    let since = |ns: u64| (ns != 0 && ns != u64::MAX).then(|| ns.saturating_sub(begin_ns));
    let mut missing = without_stacks(&ranges, &chosen);
    missing.problems.extend_from_slice(&figures.problems);
    missing.problems.extend_from_slice(&trace.problems);
    Ok(Reported {
        times: RangeTimes {
            from_ns: since(range.time.from_ns),
            to_ns: since(range.time.to_ns),
            born_from_ns: since(range.born.from_ns),
            born_to_ns: since(range.born.to_ns),
            freed: range.freed.map(|freed| (since(freed.from_ns), since(freed.to_ns))),
            live_at_ns: range
                .live_at_ns
                .map(|ns| ns.saturating_sub(begin_ns).min(ranges.extent().duration_ns)),
        },
        duration_ns: ranges.extent().duration_ns,
        is_estimated: is_sampled(&recording),
        causes: causes(&missing),
        figures,
        problems: missing.problems,
    })
}

/// Whether blocks were sampled, at least for some time.
pub(super) fn is_sampled<H: History>(history: &H) -> bool {
    let processes = history.processes().len();
    let rates = Rates::new(history, processes);
    (0..processes).any(|process| rates.has_any(process))
}
