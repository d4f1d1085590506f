//! Annotations of the program: marks and sections are events in the thread's chunk, snapshots are files.

use core::sync::atomic::Ordering;

use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::NameId;
use heapscribe_wire::mode::Mode;
use heapscribe_wire::record::{Event, Note};

use super::entry_token::Entered;
use crate::events::{self, Reservation};
use crate::{real_time_rules, snapshot};

impl Entered {
    /// The program has reached a point.
    pub fn mark(&self, name: Option<&[u8]>) {
        if let Some(name) = name {
            real_time_rules::mark(name, self.session);
        }
        if !self.is_off()
            && let Some(name) = self.name(name)
            && let Some(place) = events::reserve(self.thread, self.session)
        {
            self.write(place, Note::Mark, name);
        }
    }

    /// A section of this thread begins.
    pub fn section_begin(&self, name: Option<&[u8]>) {
        let sections = &self.thread.sections;
        let is_off = self.is_off();
        if is_off && sections.count() == 0 {
            return;
        }
        let name = if is_off { None } else { self.name(name) };
        // Room first: a new chunk begins with the sections that are open.
        let place = name.and_then(|_| events::reserve(self.thread, self.session));
        let begin_ticks = place.as_ref().map_or_else(|| self.session.ticks(), |place| place.now);
        let fits = sections.begin(name.unwrap_or_default(), begin_ticks);
        self.words().sections.set(sections.count());
        match (name, place) {
            _ if !fits => self.session.head.count_loss(LossReason::SectionDepth),
            (Some(name), Some(place)) => self.write(place, Note::Begin, name),
            _ => {}
        }
    }

    /// The innermost section of this name ends, and those inside it.
    pub fn section_end(&self, name: Option<&[u8]>) {
        let sections = &self.thread.sections;
        let known = name.and_then(|name| self.session.names.find(name));
        let recorded = known.filter(|name| sections.is_open(*name));
        let place = recorded.and_then(|name| Some((events::reserve(self.thread, self.session)?, name)));
        sections.end(known.unwrap_or_default());
        self.words().sections.set(sections.count());
        if let Some((place, name)) = place {
            self.write(place, Note::End, name);
        }
    }

    /// Takes a snapshot of this name. It is counted when there is none.
    #[cold]
    pub fn snapshot(&self, name: Option<&[u8]>) {
        if snapshot::take(name, self.thread, self.session).is_none() {
            self.session.head.count_loss(LossReason::Snapshot);
        }
    }

    pub(super) fn is_off(&self) -> bool {
        self.session.head.mode.load(Ordering::Relaxed) == Mode::Off.to_word()
    }

    fn name(&self, name: Option<&[u8]>) -> Option<NameId> {
        let number = name.and_then(|name| {
            self.session.names.find_or_define(name, &self.session.definitions, &self.session.lock)
        });
        if number.is_none() {
            self.session.head.count_loss(LossReason::NameTable);
        }
        number
    }

    /// Notes are of no rate: the one in force stays.
    fn write(&self, place: Reservation<'_>, note: Note, name: NameId) {
        place.write(&Event::Note { note, name }, self.thread.chunk_rate.get());
    }
}
