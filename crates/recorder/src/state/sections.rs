//! The sections that a thread is in: those that it has begun and not yet ended.

use core::cell::Cell;

use heapscribe_wire::ids::NameId;
use heapscribe_wire::limits::SECTIONS_MAX;

/// A section that a thread is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Open {
    /// Its name; not known when nothing was recorded as it began.
    pub name: NameId,
    /// When it began.
    pub begin_ticks: u64,
}

/// A thread's sections, the outermost first. Zeroes are a thread in none.
#[derive(Debug, Default)]
pub(crate) struct Sections {
    open: [Cell<Open>; SECTIONS_MAX],
    depth: Cell<usize>,
    /// Sections inside these for which there is no room: their ends are known by their number.
    beyond: Cell<u64>,
}

impl Sections {
    /// In none.
    pub(crate) fn clear(&self) {
        self.depth.set(0);
        self.beyond.set(0);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.depth.get() as u64 + self.beyond.get()
    }

    /// Those that are followed, the outermost first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Open> {
        self.open.iter().take(self.depth.get()).map(Cell::get)
    }

    /// One begins. False when there is no room.
    pub(crate) fn begin(&self, name: NameId, begin_ticks: u64) -> bool {
        let depth = self.depth.get();
        let place = if self.beyond.get() == 0 { self.open.get(depth) } else { None };
        match place {
            Some(place) => {
                place.set(Open { name, begin_ticks });
                self.depth.set(depth + 1);
                true
            }
            None => {
                self.beyond.set(self.beyond.get() + 1);
                false
            }
        }
    }

    /// Whether the end of one of this name is recorded: it is followed, and its name is known.
    pub(crate) fn is_open(&self, name: NameId) -> bool {
        self.beyond.get() == 0 && !self.is_innermost_unknown() && self.find(name).is_some()
    }

    fn is_innermost_unknown(&self) -> bool {
        self.iter().last().is_some_and(|open| open.name == NameId::default())
    }

    fn find(&self, name: NameId) -> Option<usize> {
        let is_it = |open: &Cell<Open>| open.get().name == name && name != NameId::default();
        self.open.iter().take(self.depth.get()).rposition(is_it)
    }

    /// The innermost of a name ends, and what is inside it; or the innermost, when nothing was recorded as
    /// that began. An end without a begin is none.
    pub(crate) fn end(&self, name: NameId) {
        if let Some(less) = self.beyond.get().checked_sub(1) {
            self.beyond.set(less);
        } else if self.is_innermost_unknown() {
            self.depth.set(self.depth.get().saturating_sub(1));
        } else if let Some(at) = self.find(name) {
            self.depth.set(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a` and `A` are begin and end of section 1, a dot is a begin while nothing is recorded.
    fn check(script: &str, open: &[u32]) {
        let sections = Sections::default();
        for step in script.bytes() {
            match step {
                b'.' => drop(sections.begin(NameId(0), 0)),
                b'a'..=b'z' => drop(sections.begin(NameId(u32::from(step - b'a') + 1), 7)),
                _ => sections.end(NameId(u32::from(step - b'A') + 1)),
            }
        }
        let names: Vec<u32> = sections.iter().map(|open| open.name.0).collect();
        assert_eq!(names, open, "{script}");
    }

    #[test]
    fn ends_meet_their_begins() {
        check("", &[]);
        check("ab", &[1, 2]);
        check("abBA", &[]);
        check("aaA", &[1]);
        check("abcA", &[]);
        check("abX", &[1, 2]);
        check("XabB", &[1]);
        check("a.A", &[1]);
        check("a.AA", &[]);
    }

    #[test]
    fn what_is_too_deep_ends_where_it_began() {
        let (deep, ends) = ("a".repeat(SECTIONS_MAX), "Z".repeat(3));
        check(&format!("{deep}zzz{ends}"), &[1; SECTIONS_MAX]);
        check(&format!("{deep}zzz{ends}A"), &[1; SECTIONS_MAX - 1]);
        let sections = Sections::default();
        assert!((0..SECTIONS_MAX).all(|_| sections.begin(NameId(1), 0)));
        assert!(!sections.begin(NameId(1), 0));
        assert_eq!(sections.count(), SECTIONS_MAX as u64 + 1);
        assert!(!sections.is_open(NameId(1)));
    }
}
