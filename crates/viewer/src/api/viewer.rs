//! A recording that is looked at: opened once, asked often, by several requests at a time.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use heapscribe_analyze::answer::NodeId;
use heapscribe_analyze::input::{History as _, ProcessFacts, Recording};
use heapscribe_analyze::{placed, snapshot};
use heapscribe_convert::Opened;
use heapscribe_convert::file_source::FileSource;
use heapscribe_convert::ranges::{IndexOptions, Ranges};
use heapscribe_index::{Question, Span};
use heapscribe_symbols::Resolver;
use heapscribe_wire::ids::StackId;

use super::analysis::Analysis;
use super::answered::{Answered, NoAnswer, by_question, of_whole};
use super::ask::Blocks;
use crate::model::{Calls, labels};

/// Questions whose figures are kept: a page asks for several views of one, and goes back to the one before.
const KEPT_MAX: usize = 8;

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
    analysis: OnceLock<Analysis>,
    stacks: OnceLock<Stacks>,
    kept: Mutex<Vec<(Blocks, Arc<Answered>)>>,
}

/// The stacks of a recording and where they end in its calls.
pub(super) struct Stacks {
    pub(super) calls: Calls,
    /// By process and number; those of the whole answer are in its order instead, and this is empty.
    pub(super) wanted: Vec<(usize, StackId)>,
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
        let is_snapshot = snapshot::is_one(&**trace);
        // A ring that has lost its first events has no ranges, but all that `report` prints.
        let mut ranges = || Ranges::open(recording, path, index, progress).ok();
        Viewer {
            ranges: if is_snapshot { None } else { ranges() },
            trace,
            recording,
            shown: path.to_string_lossy().into_owned(),
            processes: recording.processes(),
            resolver,
            analysis: OnceLock::new(),
            stacks: OnceLock::new(),
            kept: Mutex::default(),
        }
    }

    /// Reads all events: what the peak was, the heap over time, findings. Until then the page shows what the index
    /// knows. For a thread of its own.
    pub fn analyze(&self) {
        self.analysis.get_or_init(|| Analysis::of(self.trace, &self.shown, &self.resolver));
    }

    /// What is known of the whole recording, once it is.
    pub(super) fn analysis(&self) -> Option<&Analysis> {
        self.analysis.get()
    }

    /// The calls of all stacks, with their names.
    pub(super) fn stacks(&self) -> Result<&Stacks, NoAnswer> {
        let Some(ranges) = &self.ranges else {
            let analysis = self.analysis().ok_or(NoAnswer::NotYet)?;
            return Ok(self.stacks.get_or_init(|| {
                let nodes: Vec<NodeId> = analysis.answer.stacks.iter().map(|stack| stack.node).collect();
                let labels = labels(&self.processes);
                let calls = Calls::new(&analysis.answer.tree, &nodes, &self.resolver, &labels);
                Stacks { calls, wanted: Vec::new() }
            }));
        };
        Ok(self.stacks.get_or_init(|| {
            let all = ranges.ask(&Question::allocated(Span::ALL));
            let wanted: BTreeSet<_> =
                all.sums.iter().map(|(key, _)| (key.process as usize, key.stack)).collect();
            let wanted: Vec<_> = wanted.into_iter().collect();
            let placed = placed::place(self.recording, &wanted, self.processes.len() > 1);
            let labels = labels(&self.processes);
            let calls = Calls::new(&placed.tree, &placed.nodes, &self.resolver, &labels);
            Stacks { calls, wanted }
        }))
    }

    /// The figures of a question.
    pub(super) fn answered(&self, blocks: &Blocks) -> Result<Arc<Answered>, NoAnswer> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|(of, _)| of == blocks) {
            kept[at..].rotate_left(1);
            return Ok(kept[kept.len() - 1].1.clone());
        }
        drop(kept);
        let stacks = self.stacks()?;
        let answered = match &self.ranges {
            Some(ranges) => {
                by_question(ranges, self.analysis().map(|analysis| &analysis.answer), stacks, blocks)?
            }
            None => of_whole(self.analysis().ok_or(NoAnswer::NotYet)?, stacks, blocks)?,
        };
        let answered = Arc::new(answered);
        kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT_MAX {
            kept.remove(0);
        }
        kept.push((blocks.clone(), answered.clone()));
        Ok(answered)
    }
}
