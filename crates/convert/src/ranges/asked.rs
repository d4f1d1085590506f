//! Questions about a trace: by its index if there is one, else in a pass over its events. The answers are the same.

use std::path::Path;

use heapscribe_analyze::answer::Timeline;
use heapscribe_analyze::input::{Chosen, History};
use heapscribe_analyze::moments::{NoteMoment, of_name};
use heapscribe_analyze::{
    Extent, HeapOverTime, Highest, LostInChunks, Options, add_samples, chunk_damage, extent, heap_within,
    highest, lost_in_chunks, over_time,
};
use heapscribe_diagnostics::Problem;
use heapscribe_index::{Amount, Events, Index, Key, KeyFilter, Question, Span};
use heapscribe_wire::head::LossReason;

use super::index_file::{IndexOptions, open_or_make};
use crate::file_source::FileSource;

/// Events that a part of the timeline is made of at most: less than a second of reading.
pub(super) const EVENTS_AT_ONCE: u64 = 20_000_000;
/// Damaged chunks that are described, each of which is read once more for that.
const DAMAGE_MAX: usize = 1000;

/// A trace that is asked for ranges.
pub struct Ranges<'h, H> {
    history: &'h H,
    events: Events<'h, H>,
    index: Option<Index<FileSource>>,
    extent: Extent,
}

impl<'h, H: History> Ranges<'h, H> {
    /// Opens the index of a trace at `path`, and makes it if there is none; where there is no place for it, or none is
    /// wanted, each question is a pass over all events. `progress` is told how many of how many events are done.
    ///
    /// # Errors
    /// Of a ring or a rest: what it lacks is in no range.
    pub fn open(
        history: &'h H,
        path: &Path,
        options: &IndexOptions,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Ranges<'h, H>, Problem> {
        let extent = extent(history);
        if history.session().window_mono_ns > extent.begin_ns {
            let what =
                format!("{} lacks the first events of its recording: it has no ranges", path.display());
            return Err(Problem::new(
                what,
                "look at all of it: remove --from, --to, --live-at and --born-in",
            ));
        }
        let index = match options.is_wanted {
            // That it cannot be written is no reason not to answer.
            true => open_or_make(history, path, options, progress).ok().flatten(),
            false => None,
        };
        Ok(Ranges { history, events: Events::new(history), index, extent })
    }

    /// When the recording begins, and how long it is.
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// The recording.
    pub fn history(&self) -> &'h H {
        self.history
    }

    pub(super) fn events(&self) -> &Events<'h, H> {
        &self.events
    }

    /// Its index, if it has one.
    pub fn index(&self) -> Option<&Index<FileSource>> {
        self.index.as_ref()
    }

    /// The moment when all processes together held most, as `report` has it.
    pub fn peak(&self) -> Highest {
        self.heap_of_index().map_or_else(|| highest(self.history, &Options::default()), |heap| heap.peak)
    }

    /// The heap over time, with what was measured of processes, as `report` has it; without an index in a pass over
    /// all events.
    pub fn heap(&self) -> HeapOverTime {
        let mut heap = self.heap_of_index().unwrap_or_else(|| over_time(self.history, &Options::default()));
        add_samples(&mut heap.timeline, &self.history.processes(), self.extent.begin_ns);
        heap
    }

    /// The heap over a part of the time, ns from the start, in as many steps as that of all of it has; none where so many
    /// events would have to be read that nobody would wait for them, and without an index.
    pub fn heap_within(&self, from_ns: u64, to_ns: u64) -> Option<Timeline> {
        let peak = self.heap_of_index()?.peak;
        let time = self.span(Some(from_ns), Some(to_ns));
        if time.is_empty() || self.events.count(&time) > EVENTS_AT_ONCE {
            return None;
        }
        let processes = self.history.processes();
        let mut before_bytes = vec![0; processes.len()];
        if let Some(before_ns) = time.from_ns.checked_sub(1) {
            for (key, amount) in self.ask(&Question::live_at(before_ns)).sums {
                before_bytes[key.process as usize] += amount.bytes;
            }
        }
        let part = (time.from_ns, time.to_ns);
        let mut heap = heap_within(self.history, part, &before_bytes, peak, &Options::default());
        add_samples(&mut heap, &processes, self.extent.begin_ns);
        Some(heap)
    }

    fn heap_of_index(&self) -> Option<HeapOverTime> {
        self.index.as_ref()?.heap().ok()
    }

    /// All marks and ends of sections of a name, by time; without an index in a pass over all events.
    pub fn notes(&self, name: &[u8]) -> Vec<NoteMoment> {
        let noted = self.index.as_ref().and_then(|index| index.notes(name).ok().flatten());
        noted.unwrap_or_else(|| of_name(self.history, name))
    }

    /// What is missing among the events of chunks, in those too that could not be read for an answer so far, as they were
    /// damaged after the index was made; without an index in a pass over all events.
    pub fn lost_in_chunks(&self) -> LostInChunks {
        let known = self.index.as_ref().and_then(|index| index.lost_in_chunks().ok());
        let mut lost = known.unwrap_or_else(|| lost_in_chunks(self.history));
        let chunks = self.history.chunks();
        for number in self.events.unread() {
            let Some(facts) = chunks.get(number).filter(|_| !lost.damaged().contains(&number)) else {
                continue;
            };
            if let Some(damage) = chunk_damage(self.history, number, facts, &mut H::Scratch::default()) {
                lost.add(facts.process, LossReason::Damaged as u8, damage.events);
                lost.add_damaged(number);
            }
        }
        lost
    }

    /// What is wrong with these chunks, in words.
    pub fn damage(&self, lost: &LostInChunks) -> Vec<String> {
        let (chunks, mut scratch) = (self.history.chunks(), H::Scratch::default());
        let of_chunk = |number: &usize| {
            Some(chunk_damage(self.history, *number, chunks.get(*number)?, &mut scratch)?.what)
        };
        let mut damage: Vec<String> = lost.damaged().iter().take(DAMAGE_MAX).filter_map(of_chunk).collect();
        let more = lost.damaged().len().saturating_sub(DAMAGE_MAX);
        damage.extend((more > 0).then(|| format!("{more} more chunks are damaged")));
        damage
    }

    /// The names of all marks and sections, if the index has them.
    pub fn note_names(&self) -> Option<Vec<Vec<u8>>> {
        self.index.as_ref()?.note_names().ok().flatten()
    }

    /// The answer, by key.
    pub fn ask(&self, question: &Question) -> ByKey {
        let mut answer = ByKey::default();
        self.ask_each(std::slice::from_ref(question), &mut |_, by_key| answer = by_key);
        answer
    }

    /// The answers to several questions, each given with its number; by the index what they share is read once.
    pub fn ask_each(&self, questions: &[Question], take: &mut dyn FnMut(usize, ByKey)) {
        let mut answered = 0;
        if let Some(index) = &self.index {
            let key = |number: heapscribe_index::KeyId| index.keys()[number.0 as usize];
            // Of a damaged one the rest is a pass each.
            let _ = index.ask_each(questions, &self.events, &mut |number, sums| {
                answered = number + 1;
                take(number, ByKey { sums: sums.iter().map(|(n, amount)| (key(n), amount)).collect() });
            });
        }
        for (number, question) in questions.iter().enumerate().skip(answered) {
            take(number, self.pass(question));
        }
    }

    /// The totals of the answers to several questions, of the keys that are wanted; of all where none are told.
    pub fn totals(&self, questions: &[Question], filter: Option<KeyFilter<'_>>) -> Vec<Amount> {
        let by_index =
            self.index.as_ref().and_then(|index| index.totals(questions, filter, &self.events).ok());
        by_index.unwrap_or_else(|| {
            let total = |question| {
                let mut answer = self.pass(question);
                answer.sums.retain(|(key, _)| filter.is_none_or(|is_wanted| is_wanted(key)));
                answer.total()
            };
            questions.iter().map(total).collect()
        })
    }

    /// The answer for these processes and threads; threads are those that allocated.
    pub fn ask_of(&self, question: &Question, chosen: &Chosen) -> ByKey {
        let by_thread = chosen.processes.iter().any(|(_, threads)| threads.is_some());
        let is_coarse = self.index.as_ref().is_some_and(Index::is_coarse);
        let mut answer = if by_thread && is_coarse { self.pass(question) } else { self.ask(question) };
        answer.sums.retain(|(key, _)| match key.thread {
            Key::ANY_THREAD => chosen.processes.iter().any(|(process, _)| *process == key.process as usize),
            thread => chosen.has(key.process as usize, thread),
        });
        answer
    }

    fn pass(&self, question: &Question) -> ByKey {
        ByKey { sums: self.events.ask(question).into_iter().collect() }
    }

    /// Moments of the recording as CLOCK_MONOTONIC ns.
    pub fn span(&self, from_ns: Option<u64>, to_ns: Option<u64>) -> Span {
        let at = |ns: u64| self.extent.begin_ns.saturating_add(ns);
        Span { from_ns: from_ns.map_or(0, at), to_ns: to_ns.map_or(u64::MAX, at) }
    }
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ByKey {
    /// Blocks and bytes, by process, stack, thread and class of size; each key once.
    pub sums: Vec<(Key, Amount)>,
}

impl ByKey {
    /// All of it.
    pub fn total(&self) -> Amount {
        let mut total = Amount::default();
        self.sums.iter().for_each(|(_, amount)| total.add(*amount));
        total
    }
}
