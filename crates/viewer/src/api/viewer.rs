//! A recording that is looked at: opened once, asked often, by several requests at a time.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use heapscribe_analyze::answer::Amount;
use heapscribe_analyze::input::{History as _, ProcessFacts, Recording};
use heapscribe_analyze::snapshot;
use heapscribe_convert::Opened;
use heapscribe_convert::file_source::FileSource;
use heapscribe_convert::ranges::{IndexOptions, Ranges};
use heapscribe_index::Index;
use heapscribe_symbols::Resolver;
use heapscribe_views::messages::correlation::EachMessage;

use super::analysis::Analysis;
use super::answered::{Answered, NoAnswer, by_question, of_whole, totals};
use super::ask::{Ask, Base, Blocks};
use super::bands::{self, Bands};
use super::messages::MessageRows;
use super::over_time::OverTime;
use super::pages::{Pages, has_pages};
use super::stacks::Stacks;
use crate::model::{Merged, Reshaped, Shape};

/// Questions whose figures are kept: a page asks for several views of one, and goes back to the one before.
const KEPT_MAX: usize = 8;

/// Why nothing can be asked of ranges: of a snapshot or a profile, of a trace of Go, and of a ring.
const NO_TIMES: &str = "it has no times";
const NO_EVENTS: &str = "it has the heap over time and sums of the whole, but no events";
const NO_BEGIN: &str = "its first events are not in it, so who held what at earlier moments is not known";

/// A recording that is looked at.
pub struct Viewer<'r> {
    pub(super) trace: &'r Opened,
    pub(super) recording: &'r Recording<'r, FileSource>,
    /// What the trace is called in commands that are to be typed.
    pub(super) shown: String,
    pub(super) processes: Vec<ProcessFacts>,
    /// None of what has no times: a snapshot, or a ring that has lost its first events.
    pub(super) ranges: Option<Ranges<'r, Recording<'r, FileSource>>>,
    resolver: Resolver,
    over_time: OnceLock<OverTime>,
    /// The heap of each thread over time, once it was asked for.
    of_threads: OnceLock<Bands>,
    /// The pages of a snapshot, once they were asked for; none where it has none.
    pages: OnceLock<Option<Pages>>,
    analysis: OnceLock<Analysis>,
    stacks: OnceLock<Stacks>,
    kept: Mutex<Vec<(Blocks, Arc<Answered>)>>,
    /// The calls as they were drawn last, where that is otherwise than they were made.
    shaped: Mutex<Option<(Shape, bool, Arc<Reshaped>)>>,
    /// The recording that this one is compared with.
    pub(super) baseline: Option<Box<Viewer<'r>>>,
    pub(super) merged: OnceLock<Merged>,
    /// Whether stacks of several processes are kept apart: those of two recordings are not.
    splits_processes: bool,
    pub(super) is_live: bool,
    pub(super) messages: MessageRows,
}

impl<'r> Viewer<'r> {
    /// Opens the index of a trace, or makes it; `progress` is told how many of how many events are done.
    pub fn open(
        trace: &'r Opened,
        recording: &'r Recording<'r, FileSource>,
        path: &Path,
        resolver: Resolver,
        index: &IndexOptions,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Viewer<'r> {
        let is_snapshot = snapshot::is_one(&**trace) || trace.profile.is_some();
        // A ring that has lost its first events has no ranges, but all that `report` prints.
        let mut ranges = || Ranges::open(recording, path, index, progress).ok();
        Viewer {
            ranges: if is_snapshot { None } else { ranges() },
            trace,
            recording,
            shown: path.to_string_lossy().into_owned(),
            processes: recording.processes(),
            resolver,
            over_time: OnceLock::new(),
            of_threads: OnceLock::new(),
            pages: OnceLock::new(),
            analysis: OnceLock::new(),
            stacks: OnceLock::new(),
            kept: Mutex::default(),
            shaped: Mutex::default(),
            baseline: None,
            merged: OnceLock::new(),
            splits_processes: true,
            is_live: false,
            messages: MessageRows::default(),
        }
    }

    /// Has the page ask for new looks.
    #[must_use]
    pub fn live(self) -> Viewer<'r> {
        Viewer { is_live: true, ..self }
    }

    /// Shows messages on the timeline.
    #[must_use]
    pub fn with_messages(self, each: &EachMessage) -> Viewer<'r> {
        let duration_ns = self.ranges.as_ref().map_or(0, |ranges| ranges.extent().duration_ns);
        Viewer { messages: MessageRows::of(each, duration_ns), ..self }
    }

    /// Compares it with an earlier recording.
    #[must_use]
    pub fn compared_with(self, baseline: Viewer<'r>) -> Viewer<'r> {
        let baseline = Some(Box::new(Viewer { splits_processes: false, ..baseline }));
        Viewer { splits_processes: false, baseline, ..self }
    }

    /// Answers what the page asks first, before it does: all names are looked up for that. For a thread of its own.
    pub fn prepare(&self) {
        // What cannot be answered yet is asked for again.
        let _ = self.answered(&Blocks::default());
    }

    /// Reads all events: findings, and where there is no index the heap over time. Until then the page shows what the
    /// index knows. For a thread of its own.
    pub fn analyze(&self) {
        if let Some(ranges) = &self.ranges {
            self.over_time.get_or_init(|| OverTime::of_ranges(ranges, &self.processes));
        }
        self.analysis.get_or_init(|| Analysis::of(self.trace, &self.shown, &self.resolver));
        if let Some(baseline) = &self.baseline {
            baseline.analyze();
        }
    }

    /// The heap over time: at once where there is an index.
    pub(super) fn over_time(&self) -> Result<&OverTime, NoAnswer> {
        match &self.ranges {
            Some(ranges) if ranges.index().is_some() => {
                Ok(self.over_time.get_or_init(|| OverTime::of_ranges(ranges, &self.processes)))
            }
            Some(_) => self.over_time.get().ok_or(NoAnswer::NotYet),
            None => {
                let answer = &self.analysis().ok_or(NoAnswer::NotYet)?.answer;
                Ok(self.over_time.get_or_init(|| OverTime::of_answer(answer)))
            }
        }
    }

    /// What can be asked of a range.
    pub(super) fn ranges(&self) -> Result<&Ranges<'r, Recording<'r, FileSource>>, NoAnswer> {
        let why = match &self.trace.profile {
            Some(sums) if !sums.answer.timeline.steps.is_empty() => NO_EVENTS,
            Some(_) => NO_TIMES,
            None if snapshot::is_one(&**self.trace) => NO_TIMES,
            None => NO_BEGIN,
        };
        self.ranges.as_ref().ok_or_else(|| NoAnswer::Refused(why.to_owned()))
    }

    /// The heap over time as bands: by processes or by threads.
    pub(super) fn bands(&self, by: Option<&str>) -> Result<Cow<'_, Bands>, NoAnswer> {
        let refused = |why: &str| NoAnswer::Refused(why.to_owned());
        let ranges = self.ranges()?;
        let of_threads = || bands::of_threads(ranges, &self.processes);
        match by {
            Some("processes") => Ok(Cow::Owned(bands::of_processes(ranges, &self.processes))),
            Some("threads") => Ok(Cow::Borrowed(self.of_threads.get_or_init(of_threads))),
            _ => Err(refused("`by` is `processes` or `threads`")),
        }
    }

    /// The pages of a snapshot.
    pub(super) fn pages(&self) -> Result<&Pages, NoAnswer> {
        let none = || NoAnswer::Refused("it has no pages: take a snapshot with --pages".to_owned());
        let read = || has_pages(self.trace).then(|| Pages::read(self.trace)).flatten();
        self.pages.get_or_init(read).as_ref().ok_or_else(none)
    }

    /// What is known of the whole recording, once it is.
    pub(super) fn analysis(&self) -> Option<&Analysis> {
        self.analysis.get()
    }

    /// The calls of all stacks, with their names.
    pub(super) fn stacks(&self) -> Result<&Stacks, NoAnswer> {
        let processes = &self.processes;
        match &self.ranges {
            Some(ranges) => {
                let splits = self.splits_processes && processes.len() > 1;
                let stacks = || Stacks::of_ranges(ranges, processes, splits, &self.resolver);
                Ok(self.stacks.get_or_init(stacks))
            }
            None => {
                let answer = &self.analysis().ok_or(NoAnswer::NotYet)?.answer;
                Ok(self.stacks.get_or_init(|| Stacks::of_whole(answer, &self.resolver)))
            }
        }
    }

    /// The calls in the shape that is asked for; none of the plain one.
    pub(super) fn shaped(&self, ask: &Ask) -> Result<Option<Arc<Reshaped>>, NoAnswer> {
        let (shape, is_merged) = (&ask.shape, ask.base == Base::Trace);
        if *shape == Shape::default() {
            return Ok(None);
        }
        let calls = self.calls(ask)?;
        let mut kept = self.shaped.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, of_merged, made)) = &*kept
            && (of, *of_merged) == (shape, is_merged)
        {
            return Ok(Some(made.clone()));
        }
        let made = Arc::new(Reshaped::new(calls, shape));
        *kept = Some((shape.clone(), is_merged, made.clone()));
        Ok(Some(made))
    }

    /// The figures of a question.
    pub(super) fn answered(&self, blocks: &Blocks) -> Result<Arc<Answered>, NoAnswer> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|(of, _)| of == blocks) {
            kept[at..].rotate_left(1);
            return Ok(kept[kept.len() - 1].1.clone());
        }
        drop(kept);
        let answered = self.computed(blocks)?;
        let answered = Arc::new(answered);
        kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT_MAX {
            kept.remove(0);
        }
        kept.push((blocks.clone(), answered.clone()));
        Ok(answered)
    }

    /// The totals of questions that ask for the same blocks in different ranges.
    pub(super) fn totals(&self, questions: &[Blocks]) -> Result<Vec<Amount>, NoAnswer> {
        let is_coarse =
            |ranges: &Ranges<'_, Recording<'_, FileSource>>| ranges.index().is_some_and(Index::is_coarse);
        let needs_events = |of: &Blocks, is_coarse| of.age_ns.is_some() || (of.thread.is_some() && is_coarse);
        match &self.ranges {
            Some(ranges) if !questions.iter().any(|of| needs_events(of, is_coarse(ranges))) => {
                totals(ranges, self.stacks()?, questions)
            }
            _ => questions.iter().map(|blocks| Ok(self.computed(blocks)?.own.total())).collect(),
        }
    }

    /// The figures of a question, not kept.
    fn computed(&self, blocks: &Blocks) -> Result<Answered, NoAnswer> {
        let stacks = self.stacks()?;
        match &self.ranges {
            Some(ranges) => {
                let peak_ns = || Ok(self.over_time()?.peak().time_ns);
                by_question(ranges, peak_ns, stacks, blocks)
            }
            None => of_whole(self.analysis().ok_or(NoAnswer::NotYet)?, stacks, blocks),
        }
    }
}
