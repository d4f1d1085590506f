//! The annotations of a chunk, event by event. A chunk begins with the sections that its thread is in.

use heapscribe_wire::ids::{NameId, StackId};
use heapscribe_wire::record::Note;

use super::sums::{MarkSums, MarkTable, SectionTable};
use crate::events::{CallRow, HeapCall, OpenSections};

/// Goes along with the events of a chunk.
#[derive(Debug)]
pub(crate) struct AnnotationPass<'a> {
    marks: &'a mut MarkTable,
    sections: &'a mut SectionTable,
    open: OpenSections,
    /// The stack of the last event, if it was a call.
    last: Option<StackId>,
}

impl<'a> AnnotationPass<'a> {
    /// Before the first event of a chunk.
    pub(crate) fn new(marks: &'a mut MarkTable, sections: &'a mut SectionTable) -> AnnotationPass<'a> {
        AnnotationPass { marks, sections, open: OpenSections::default(), last: None }
    }

    /// Whether the thread is in any section.
    #[inline(always)]
    pub(crate) fn is_in_section(&self) -> bool {
        self.open.is_any()
    }

    /// Takes a note.
    #[cold]
    pub(crate) fn note(&mut self, note: Note, name: NameId, ticks: u64) {
        match note {
            Note::Mark => {
                let new = MarkSums { count: 0, first_ticks: ticks, last_ticks: ticks };
                let mark = self.marks.entry(name.0).or_insert(new);
                mark.count += 1;
                // Chunks of other threads may be summed before this one and be later.
                mark.first_ticks = mark.first_ticks.min(ticks);
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
    pub(crate) fn called(&mut self, call: Option<&HeapCall>, ticks: u64) {
        self.last = call.map(|call| call.stack);
        if let Some(call) = call {
            self.each_row(call.stack, |row| row.take(call, ticks));
        }
    }

    /// The call of the event right before took so long.
    #[cold]
    pub(crate) fn took(&mut self, ns: u64) {
        if let Some(stack) = self.last.take() {
            self.each_row(stack, |row| row.took(ns));
        }
    }

    /// A stack's row in each section that the thread is in.
    fn each_row(&mut self, stack: StackId, mut add: impl FnMut(&mut CallRow)) {
        for name in self.open.names() {
            add(self.sections.entry(name.0).or_default().stacks.row(stack));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sums::Annotations;
    use super::*;
    use crate::events::Scale;
    use heapscribe_wire::record::{Call, Event};

    /// `a` begins section 1, `A` ends it, `+` is a block of 10 bytes, `>` a section 1 that began 100 ticks
    /// ago, `!` mark 9; each a tick. Of sections: begun, ended, ticks, bytes pass.
    fn check(script: &str, expected: &[(u32, u64, u64, u64, u64)]) -> MarkTable {
        let (mut marks, mut sections) = (MarkTable::new(), SectionTable::new());
        let mut pass = AnnotationPass::new(&mut marks, &mut sections);
        for (ticks, step) in (1000..).zip(script.bytes()) {
            let number = |base: u8| NameId(u32::from(step - base) + 1);
            match step {
                b'+' => {
                    let (call, stack) = (Call::Malloc, StackId(7));
                    let event = Event::Alloc { call, size_bytes: 10, stack, align_log2: 0 };
                    pass.called(HeapCall::of(&event, &Scale::new(1), ticks).as_ref(), ticks);
                }
                b'>' => pass.note(Note::GoesOn { age_ticks: 100 }, NameId(1), ticks),
                b'!' => pass.note(Note::Mark, NameId(9), ticks),
                b'a'..=b'z' => pass.note(Note::Begin, number(b'a'), ticks),
                _ => pass.note(Note::End, number(b'A'), ticks),
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
    fn a_mark_of_a_chunk_that_is_summed_later_may_be_the_first() {
        let (mut marks, mut sections) = (MarkTable::new(), SectionTable::new());
        for ticks in [500, 300, 900] {
            AnnotationPass::new(&mut marks, &mut sections).note(Note::Mark, NameId(9), ticks);
        }
        let mark = marks[&9];
        assert_eq!((mark.count, mark.first_ticks, mark.last_ticks), (3, 300, 900));
    }

    #[test]
    fn marks_are_counted_over_chunks_in_any_order() {
        let of_marks = |marks| Annotations { marks, ..Annotations::default() };
        let (mut all, earlier) = (of_marks(check("!", &[])), of_marks(check("!!", &[])));
        all.merge(earlier);
        let mark = all.marks[&9];
        assert_eq!((mark.count, mark.first_ticks, mark.last_ticks), (3, 1000, 1001));
        assert_eq!(all.moments(), [1000, 1001]);
    }
}
