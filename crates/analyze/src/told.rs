//! What a program says of itself: points that it came to, sections that its threads went through, and blocks
//! that it handed out from pools of its own. Summed like all else, each chunk alone: a chunk begins with the
//! sections that its thread is in.

use std::collections::{BTreeMap, BTreeSet};

use heapscribe_wire::ids::{NameId, StackId};
use heapscribe_wire::record::{Block, Note};

use crate::calls::{CallRow, OneCall};
use crate::counters::Row;
use crate::segment::Segment;
use crate::table::Table;
use crate::weight::Share;

/// What a process said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) marks: Marks,
    pub(crate) sections: Sections,
    pub(crate) pools: Pools,
}

/// By name.
pub(crate) type Marks = BTreeMap<u32, MarkSums>;
/// By name.
pub(crate) type Sections = BTreeMap<u32, SectionSums>;

/// Marks of one name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkSums {
    pub(crate) count: u64,
    pub(crate) first_ticks: u64,
    pub(crate) last_ticks: u64,
}

/// Sections of one name.
#[derive(Clone, Debug, Default)]
pub(crate) struct SectionSums {
    /// How many began.
    pub(crate) begun: u64,
    /// How many ended.
    pub(crate) ended: u64,
    /// How long those took together that ended.
    pub(crate) ticks: u64,
    pub(crate) longest_ticks: u64,
    /// The calls inside, by stack.
    pub(crate) stacks: Table<CallRow>,
}

/// What a process handed out itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pools {
    pub(crate) sums: PoolSums,
    pub(crate) segments: Vec<Segment>,
}

/// Sums over blocks of pools.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolSums {
    pub(crate) stacks: Table<Row>,
    /// Blocks given back that were not known.
    pub(crate) unknown: u64,
}

impl PoolSums {
    /// A block came.
    pub(crate) fn came(&mut self, stack: StackId, size_bytes: u64, share: Share) {
        self.stacks.row(stack).came(size_bytes, share);
    }

    /// A block went.
    pub(crate) fn went(&mut self, block: &Block, share: Share) {
        self.stacks.row(block.stack).went(block, share, false);
    }
}

impl Told {
    /// Adds what other chunks of the same process say.
    pub(crate) fn merge(&mut self, mut other: Told) {
        for (name, theirs) in other.marks {
            let mine = self.marks.entry(name).or_insert(MarkSums { count: 0, ..theirs });
            mine.count += theirs.count;
            mine.first_ticks = mine.first_ticks.min(theirs.first_ticks);
            mine.last_ticks = mine.last_ticks.max(theirs.last_ticks);
        }
        for (name, theirs) in other.sections {
            self.sections.entry(name).or_default().merge(theirs);
        }
        self.pools.sums.unknown += other.pools.sums.unknown;
        self.pools.sums.stacks.merge(other.pools.sums.stacks, Row::merge);
        self.pools.segments.append(&mut other.pools.segments);
    }
}

impl Told {
    /// The first and last moments of the marks, in the order of time.
    pub(crate) fn moments(&self) -> Vec<u64> {
        let mut moments: Vec<u64> =
            self.marks.values().flat_map(|mark| [mark.first_ticks, mark.last_ticks]).collect();
        moments.sort_unstable();
        moments.dedup();
        moments
    }
}

impl SectionSums {
    fn merge(&mut self, other: SectionSums) {
        self.begun += other.begun;
        self.ended += other.ended;
        self.ticks = self.ticks.saturating_add(other.ticks);
        self.longest_ticks = self.longest_ticks.max(other.longest_ticks);
        self.stacks.merge(other.stacks, CallRow::merge);
    }
}

/// The sections that a thread is in, with the ticks of their begin, the outermost first.
#[derive(Debug, Default)]
pub(crate) struct Open {
    sections: Vec<(NameId, u64)>,
}

/// Sections that are followed at a time; no recorder tells of more.
const OPEN_MAX: usize = heapscribe_wire::limits::SECTIONS_MAX;

impl Open {
    /// Takes a note; tells of each section that ends by it, with the ticks of its begin.
    pub(crate) fn note(&mut self, note: Note, name: NameId, ticks: u64, mut ended: impl FnMut(NameId, u64)) {
        match note {
            Note::Mark => {}
            Note::Begin => self.begin(name, ticks),
            Note::GoesOn { age_ticks } => self.begin(name, ticks.wrapping_sub(age_ticks)),
            Note::End => {
                let Some(at) = self.sections.iter().rposition(|(open, _)| *open == name) else { return };
                self.sections.drain(at..).for_each(|(name, begin_ticks)| ended(name, begin_ticks));
            }
        }
    }

    fn begin(&mut self, name: NameId, begin_ticks: u64) {
        if self.sections.len() < OPEN_MAX {
            self.sections.push((name, begin_ticks));
        }
    }

    /// Whether the thread is in a section of one of these names.
    pub(crate) fn is_in(&self, names: &BTreeSet<u32>) -> bool {
        self.sections.iter().any(|(name, _)| names.contains(&name.0))
    }
}

/// Goes along with the notes of a chunk.
#[derive(Debug)]
pub(crate) struct Inside<'a> {
    marks: &'a mut Marks,
    sections: &'a mut Sections,
    open: Open,
    /// The stack of the last event, if it was a call.
    last: Option<StackId>,
}

impl<'a> Inside<'a> {
    /// Before the first event of a chunk.
    pub(crate) fn new(marks: &'a mut Marks, sections: &'a mut Sections) -> Inside<'a> {
        Inside { marks, sections, open: Open::default(), last: None }
    }

    /// Whether the thread is in any section.
    #[inline(always)]
    pub(crate) fn is_any(&self) -> bool {
        !self.open.sections.is_empty()
    }

    /// Takes a note.
    #[cold]
    pub(crate) fn note(&mut self, note: Note, name: NameId, ticks: u64) {
        match note {
            Note::Mark => {
                let new = MarkSums { count: 0, first_ticks: ticks, last_ticks: ticks };
                let mark = self.marks.entry(name.0).or_insert(new);
                mark.count += 1;
                mark.last_ticks = mark.last_ticks.max(ticks);
            }
            Note::Begin => self.sections.entry(name.0).or_default().begun += 1,
            Note::GoesOn { .. } | Note::End => {}
        }
        let sections = &mut self.sections;
        self.open.note(note, name, ticks, |name, begin_ticks| {
            let took = ticks.saturating_sub(begin_ticks);
            let section = sections.entry(name.0).or_default();
            section.ended += 1;
            section.ticks = section.ticks.saturating_add(took);
            section.longest_ticks = section.longest_ticks.max(took);
        });
    }

    /// A call belongs to each section that the thread is in, once to those of one name.
    #[cold]
    pub(crate) fn called(&mut self, call: Option<&OneCall>, ticks: u64) {
        self.last = call.map(|call| call.stack);
        if let Some(call) = call {
            self.each_row(call.stack, |row| row.take(call, ticks));
        }
    }

    /// The call of the event right before was so long in the heap.
    #[cold]
    pub(crate) fn took(&mut self, ns: u64) {
        if let Some(stack) = self.last.take() {
            self.each_row(stack, |row| row.took(ns));
        }
    }

    /// A stack's row in each section that the thread is in.
    fn each_row(&mut self, stack: StackId, mut add: impl FnMut(&mut CallRow)) {
        let open = &self.open.sections;
        for (at, (name, _)) in open.iter().enumerate() {
            if open[..at].iter().all(|(outer, _)| outer != name) {
                add(self.sections.entry(name.0).or_default().stacks.row(stack));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Scale;
    use heapscribe_wire::record::{Call, Event};

    /// `a` begins section 1, `A` ends it, `+` is a block of 10 bytes, `>` a section 1 that began 100 ticks
    /// ago, `!` mark 9; each a tick. Of sections: begun, ended, ticks, bytes inside.
    fn check(script: &str, expected: &[(u32, u64, u64, u64, u64)]) -> Marks {
        let (mut marks, mut sections) = (Marks::new(), Sections::new());
        let mut inside = Inside::new(&mut marks, &mut sections);
        for (ticks, step) in (1000..).zip(script.bytes()) {
            let number = |base: u8| NameId(u32::from(step - base) + 1);
            match step {
                b'+' => {
                    let (call, stack) = (Call::Malloc, StackId(7));
                    let event = Event::Alloc { call, size_bytes: 10, stack, align_log2: 0 };
                    inside.called(OneCall::of(&event, &Scale::new(1), ticks).as_ref(), ticks);
                }
                b'>' => inside.note(Note::GoesOn { age_ticks: 100 }, NameId(1), ticks),
                b'!' => inside.note(Note::Mark, NameId(9), ticks),
                b'a'..=b'z' => inside.note(Note::Begin, number(b'a'), ticks),
                _ => inside.note(Note::End, number(b'A'), ticks),
            }
        }
        let figures = sections.iter().map(|(name, s)| {
            let bytes = s.stacks.rows().iter().map(|(_, calls)| calls.bytes).sum();
            (*name, s.begun, s.ended, s.ticks, bytes)
        });
        assert_eq!(figures.collect::<Vec<_>>(), expected, "{script}");
        marks
    }

    #[test]
    fn blocks_belong_to_the_sections_around_them() {
        check("+a+A+", &[(1, 1, 1, 2, 10)]);
        check("a+b+B+A", &[(1, 1, 1, 6, 30), (2, 1, 1, 2, 10)]);
        check("a+a+A+A", &[(1, 2, 2, 8, 30)]);
        check("ab+A", &[(1, 1, 1, 3, 10), (2, 1, 1, 2, 10)]);
        check("aB+A", &[(1, 1, 1, 3, 10)]);
    }

    #[test]
    fn a_section_goes_on_from_one_chunk_to_the_next() {
        check(">+A", &[(1, 0, 1, 102, 10)]);
        check("a+", &[(1, 1, 0, 0, 10)]);
        check("A", &[]);
    }

    #[test]
    fn marks_are_counted_over_chunks_in_any_order() {
        let told = |marks| Told { marks, ..Told::default() };
        let (mut all, earlier) = (told(check("!", &[])), told(check("!!", &[])));
        all.merge(earlier);
        let mark = all.marks[&9];
        assert_eq!((mark.count, mark.first_ticks, mark.last_ticks), (3, 1000, 1001));
        assert_eq!(all.moments(), [1000, 1001]);
    }
}
