//! What of a trace of ours a memtrace file has no place for, counted while it is written: a figure for each kind, so that
//! nobody takes the file for the whole.

use heapscribe_units::counted;
use heapscribe_wire::record::{Event, Note};

/// Events, and parts of events, that are not in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct LeftOut {
    aligned: u64,
    failed: u64,
    marks: u64,
    sections: u64,
    unknown_frees: u64,
}

impl LeftOut {
    /// Takes an event of the heap.
    pub(super) fn event(&mut self, event: &Event) {
        match event {
            Event::Alloc { align_log2: 1.., .. } => self.aligned += 1,
            Event::Failed { .. } => self.failed += 1,
            Event::Note { note: Note::Mark, .. } => self.marks += 1,
            Event::Note { note: Note::Begin, .. } => self.sections += 1,
            Event::UnknownFree { .. } | Event::UnknownRealloc { .. } => self.unknown_frees += 1,
            _ => {}
        }
    }

    /// In words; none when all is in the file.
    pub(super) fn in_words(&self) -> Option<String> {
        let all = [
            (self.aligned, "alignment"),
            (self.failed, "refused call"),
            (self.marks, "mark"),
            (self.sections, "section"),
            (self.unknown_frees, "free of unknown blocks"),
        ];
        let named = all.iter().filter(|(n, _)| *n > 0).map(|(n, what)| match *what {
            "free of unknown blocks" if *n > 1 => format!("{} of unknown blocks", counted(*n, "free")),
            what => counted(*n, what),
        });
        let named: Vec<_> = named.collect();
        (!named.is_empty())
            .then(|| format!("left out, as memtrace has no place for them: {}", named.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_wire::ids::{NameId, StackId};
    use heapscribe_wire::record::Call;

    use super::*;

    fn check(events: &[Event], expected: Option<&str>) {
        let mut left_out = LeftOut::default();
        events.iter().for_each(|event| left_out.event(event));
        assert_eq!(left_out.in_words().as_deref(), expected);
    }

    #[test]
    fn each_kind_is_counted() {
        let alloc = |align_log2| Event::Alloc {
            call: Call::Malloc,
            size_bytes: 8,
            stack: StackId::UNKNOWN,
            align_log2,
        };
        let note = |note| Event::Note { note, name: NameId(1) };
        check(&[], None);
        check(&[alloc(0), note(Note::End), note(Note::GoesOn { age_ticks: 3 })], None);
        check(
            &[alloc(6), alloc(12), note(Note::Mark), note(Note::Begin), note(Note::Begin), note(Note::End)],
            Some("left out, as memtrace has no place for them: 2 alignments, 1 mark, 2 sections"),
        );
    }
}
