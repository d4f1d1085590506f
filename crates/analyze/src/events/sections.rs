//! The sections that a thread is in, from one event of a chunk to the next.

use std::collections::BTreeSet;

use heapscribe_wire::ids::NameId;
use heapscribe_wire::record::Note;

/// The sections that a thread is in, with the ticks of their begin, the outermost first.
#[derive(Debug, Default)]
pub struct OpenSections {
    sections: Vec<(NameId, u64)>,
}

/// Sections that are followed at a time; no recorder follows more.
const OPEN_MAX: usize = heapscribe_wire::limits::SECTIONS_MAX;

impl OpenSections {
    /// Takes a note; calls `ended` for each section that ends by it, with the ticks of its begin.
    pub fn note(&mut self, note: Note, name: NameId, ticks: u64, mut ended: impl FnMut(NameId, u64)) {
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

    /// Whether the thread is in any section.
    #[inline(always)]
    pub(crate) fn is_any(&self) -> bool {
        !self.sections.is_empty()
    }

    /// The names of the sections, each once.
    pub(crate) fn names(&self) -> impl Iterator<Item = NameId> {
        let is_first = |at: usize, name: NameId| self.sections[..at].iter().all(|(outer, _)| *outer != name);
        let names = self.sections.iter().enumerate();
        names.filter(move |(at, (name, _))| is_first(*at, *name)).map(|(_, (name, _))| *name)
    }

    /// Whether the thread is in a section of one of these names.
    pub(crate) fn is_in(&self, names: &BTreeSet<u32>) -> bool {
        self.sections.iter().any(|(name, _)| names.contains(&name.0))
    }
}
