//! The way through the events of a process, for all questions at once: each chunk alone, in any order. A
//! chunk begins with the sections that its thread is in; where marks are asked for, they are looked for first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use heapscribe_formats::{RuleViolation, Why};
use heapscribe_wire::ids::{NameId, StackId};
use heapscribe_wire::record::{Event, Note};
use rayon::prelude::*;

use super::question::{Place, Question};
use crate::events::{CallRow, HeapCall, OpenSections, Scale};
use crate::input::{ChunkFacts, Clock, EventsInOrder, History, NumberedChunk};
use crate::sampling::Rates;
use crate::stacks::{Definitions, StackTable};

/// The chunks of one process and what is needed to read them.
pub(super) struct CallPass<'a, H> {
    pub(super) history: &'a H,
    pub(super) rates: &'a Rates<'a, H>,
    pub(super) chunks: &'a [NumberedChunk],
    pub(super) clock: &'a Clock,
    /// The call that a rule stopped the process at. Its event is the one of these ticks, unless that found no room.
    pub(super) broke: Option<RuleViolation>,
}

/// The calls that were found to a question.
#[derive(Clone, Debug, Default)]
pub(super) struct CallSums {
    pub(super) entered: u64,
    pub(super) rows: StackTable<CallRow>,
}

/// Marks of a name.
#[derive(Clone, Copy, Debug)]
struct FirstMark {
    first_ticks: u64,
    count: u64,
}

/// Marks by the number of their name.
type FirstMarks = BTreeMap<u32, FirstMark>;

/// A question in the numbers of a process.
struct Asked {
    /// Names of sections; none where sections do not matter.
    sections: Option<BTreeSet<u32>>,
    /// From these ticks on ...
    from_ticks: u64,
    /// ... to before these.
    to_ticks: u64,
    /// Threads that have a name and do not belong to it.
    others: BTreeSet<u32>,
    /// Whether a thread whose name is not known does.
    nameless: bool,
    /// Threads that have a name.
    named: BTreeSet<u32>,
    entered: u64,
}

impl Asked {
    fn is_of(&self, thread: u32) -> bool {
        if self.named.contains(&thread) { !self.others.contains(&thread) } else { self.nameless }
    }

    /// Of a call that a process was stopped at it is known that it was in one section, not whether in others.
    fn is_about(&self, broke: &RuleViolation) -> bool {
        let is_inside = |names: &BTreeSet<u32>| broke.why == Why::Section && names.contains(&broke.name.0);
        self.is_of(broke.thread.0)
            && (self.from_ticks..self.to_ticks).contains(&broke.ticks)
            && self.sections.as_ref().is_none_or(is_inside)
    }

    fn may_be_in(&self, chunk: &ChunkFacts) -> bool {
        self.is_of(chunk.thread) && chunk.last_ticks >= self.from_ticks && chunk.begin_ticks < self.to_ticks
    }
}

impl<H: History> CallPass<'_, H> {
    /// What there is to each question.
    pub(super) fn run(
        &self,
        questions: &[Question<'_>],
        definitions: &Definitions,
        problems: &mut Vec<String>,
    ) -> Vec<CallSums> {
        let of_marks = questions.iter().any(|question| matches!(question.place, Place::After(_)));
        let marks = if of_marks { self.marks() } else { FirstMarks::new() };
        let asked: Vec<Asked> =
            questions.iter().map(|question| self.asked(question, definitions, &marks)).collect();
        let has_event = AtomicBool::new(false);
        let none =
            || Matches { answers: asked.iter().map(|_| CallSums::default()).collect(), problems: Vec::new() };
        let Matches { mut answers, problems: mut unread } = self
            .chunks
            .par_iter()
            .with_min_len(16)
            .filter(|chunk| {
                !chunk.facts.is_made_up && asked.iter().any(|asked| asked.may_be_in(&chunk.facts))
            })
            .fold(
                || (H::Scratch::default(), none()),
                |(mut scratch, mut found), chunk| {
                    let end = match self.history.events(chunk.number, &mut scratch) {
                        Ok(events) => {
                            self.add_chunk(&chunk.facts, events, &asked, &has_event, &mut found.answers)
                        }
                        Err(why) => Some(why),
                    };
                    found.problems.extend(end);
                    (scratch, found)
                },
            )
            .map(|(_, found)| found)
            .reduce(none, Matches::merge);
        for (answer, asked) in answers.iter_mut().zip(&asked) {
            answer.entered += asked.entered;
            let is_missing = !has_event.load(Ordering::Relaxed);
            if let Some(broke) = self.broke.filter(|broke| is_missing && asked.is_about(broke)) {
                answer.rows.row(broke.stack).take(&HeapCall::refused(&broke), broke.ticks);
            }
        }
        unread.sort();
        problems.append(&mut unread);
        answers
    }

    fn asked(&self, question: &Question<'_>, definitions: &Definitions, marks: &FirstMarks) -> Asked {
        let numbers = |wanted: &[u8]| -> BTreeSet<u32> {
            let of_name = definitions.names.iter().filter(|(_, name)| *name == wanted);
            of_name.map(|(number, _)| *number).collect()
        };
        let threads = definitions.threads.iter();
        let others = threads.filter(|(_, _, name)| !(question.threads)(name)).map(|(id, ..)| *id);
        let mut asked = Asked {
            sections: None,
            from_ticks: 0,
            to_ticks: u64::MAX,
            others: others.collect(),
            nameless: (question.threads)(b""),
            named: definitions.threads.iter().map(|(id, ..)| *id).collect(),
            entered: 0,
        };
        match question.place {
            Place::Section(name) => asked.sections = Some(numbers(name)),
            Place::After(name) => {
                let of_name: Vec<_> = numbers(name).iter().filter_map(|n| marks.get(n).copied()).collect();
                asked.entered = of_name.iter().map(|mark| mark.count).sum();
                let first = of_name.iter().map(|mark| mark.first_ticks).min();
                asked.from_ticks = first.map_or(u64::MAX, |first| first.saturating_add(1));
            }
            Place::During(from_ns, to_ns) => {
                asked.from_ticks = self.clock.first_tick_at(from_ns);
                asked.to_ticks = self.clock.first_tick_at(to_ns);
                asked.entered = 1;
            }
            Place::Anywhere => {
                let threads: BTreeSet<u32> = self.chunks.iter().map(|chunk| chunk.facts.thread).collect();
                asked.entered = threads.iter().filter(|thread| asked.is_of(**thread)).count() as u64;
            }
        }
        asked
    }

    /// When each mark was first.
    fn marks(&self) -> FirstMarks {
        let of_chunk = |(mut scratch, mut marks): (H::Scratch, FirstMarks), chunk: &NumberedChunk| {
            if let Ok(events) = self.history.events(chunk.number, &mut scratch) {
                find_marks(&chunk.facts, events, &mut marks);
            }
            (scratch, marks)
        };
        let each =
            self.chunks.par_iter().with_min_len(16).fold(<(H::Scratch, FirstMarks)>::default, of_chunk);
        each.map(|(_, marks)| marks).reduce(FirstMarks::new, |mut all, other| {
            for (name, theirs) in other {
                let mark = all.entry(name).or_insert(FirstMark { count: 0, ..theirs });
                mark.first_ticks = mark.first_ticks.min(theirs.first_ticks);
                mark.count += theirs.count;
            }
            all
        })
    }

    /// Takes the calls of a chunk; why it ended before its end.
    fn add_chunk(
        &self,
        chunk: &ChunkFacts,
        events: impl EventsInOrder,
        asked: &[Asked],
        has_event: &AtomicBool,
        answers: &mut [CallSums],
    ) -> Option<String> {
        let broke = self.broke.filter(|broke| broke.thread.0 == chunk.thread);
        let mean_of = |rate| self.rates.mean(chunk.process, rate);
        let (mut ticks, mut scale, mut open) =
            (chunk.begin_ticks, Scale::new(chunk.thread), OpenSections::default());
        let mut of_thread: Vec<Taker<'_>> = asked
            .iter()
            .zip(answers)
            .filter(|(asked, _)| asked.may_be_in(chunk))
            .map(|(asked, answer)| Taker { asked, answer, last: None })
            .collect();
        for item in events {
            let (dt, event) = match item {
                Ok(found) => found,
                Err(bad) => return Some(format!("{bad}; the rest of a chunk is left out")),
            };
            if scale.follow(&event, mean_of) {
                continue;
            }
            ticks = ticks.wrapping_add(dt);
            match event {
                Event::Note { note, name } => {
                    open.note(note, name, ticks, |_, _| ());
                    of_thread.iter_mut().for_each(|taker| taker.noted(note, name));
                }
                Event::Took { units } => {
                    let ns = self.clock.units_ns(units);
                    of_thread.iter_mut().for_each(|taker| taker.took(ns));
                }
                event => {
                    let mut call = HeapCall::of(&event, &scale, ticks);
                    if let (Some(call), Some(broke)) = (&mut call, broke.filter(|broke| broke.ticks == ticks))
                    {
                        // Of a free, too, it is known here who called.
                        call.stack = broke.stack;
                        has_event.store(true, Ordering::Relaxed);
                    }
                    of_thread.iter_mut().for_each(|taker| taker.called(call.as_ref(), ticks, &open));
                }
            }
        }
        None
    }
}

/// Takes the events of a chunk for one question.
struct Taker<'a> {
    asked: &'a Asked,
    answer: &'a mut CallSums,
    /// The stack of the event before this one, if it was a call that belongs to the question.
    last: Option<StackId>,
}

impl Taker<'_> {
    fn noted(&mut self, note: Note, name: NameId) {
        let is_one = self.asked.sections.as_ref().is_some_and(|names| names.contains(&name.0));
        self.answer.entered += u64::from(note == Note::Begin && is_one);
        self.last = None;
    }

    #[inline(always)]
    fn called(&mut self, call: Option<&HeapCall>, ticks: u64, open: &OpenSections) {
        let is_inside = self.asked.sections.as_ref().is_none_or(|names| open.is_in(names));
        let is_asked = is_inside && (self.asked.from_ticks..self.asked.to_ticks).contains(&ticks);
        let call = call.filter(|_| is_asked);
        if let Some(call) = call {
            self.answer.rows.row(call.stack).take(call, ticks);
        }
        self.last = call.map(|call| call.stack);
    }

    fn took(&mut self, ns: u64) {
        if let Some(stack) = self.last.take() {
            self.answer.rows.row(stack).took(ns);
        }
    }
}

fn find_marks(chunk: &ChunkFacts, events: impl EventsInOrder, marks: &mut FirstMarks) {
    let mut ticks = chunk.begin_ticks;
    for item in events {
        // What is no event ends the chunk, and the pass over calls says so.
        let Ok((dt, event)) = item else { return };
        ticks = ticks.wrapping_add(dt);
        if let Event::Note { note: Note::Mark, name } = event {
            let mark = marks.entry(name.0).or_insert(FirstMark { first_ticks: ticks, count: 0 });
            mark.first_ticks = mark.first_ticks.min(ticks);
            mark.count += 1;
        }
    }
}

/// What is found to all questions, and what could not be read.
#[derive(Default)]
struct Matches {
    answers: Vec<CallSums>,
    problems: Vec<String>,
}

impl Matches {
    fn merge(mut self, mut other: Matches) -> Matches {
        for (mine, theirs) in self.answers.iter_mut().zip(other.answers) {
            mine.entered += theirs.entered;
            mine.rows.merge(theirs.rows, CallRow::merge);
        }
        self.problems.append(&mut other.problems);
        self
    }
}
