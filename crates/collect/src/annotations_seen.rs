//! Sections that end and marks that are reached, as chunks pass by: what `record --memory-map at=sections` waits for. A chunk
//! that is still being filled passes several times, with more events each time; what was seen of it is not seen again.

use std::collections::BTreeMap;

use heapscribe_analyze::events::OpenSections;
use heapscribe_formats::model::{ChunkInfo, ProcessIndex, SectionLeft};
use heapscribe_wire::ids::ThreadId;
use heapscribe_wire::record::{Event, Events, Note};

/// Sections of a process that are remembered between two looks; of more there are no figures.
const SECTIONS_MAX: usize = 4096;

/// What is waited for, and what was seen of it.
#[derive(Debug, Default)]
pub(crate) struct AnnotationsSeen {
    /// Whether sections that end are waited for.
    pub(crate) sections: bool,
    /// Whether marks are.
    pub(crate) marks: bool,
    images: BTreeMap<u32, Image>,
}

#[derive(Debug, Default)]
struct Image {
    /// Events that were seen of chunks that are still being filled, by thread and sequence.
    open: BTreeMap<(u32, u64), usize>,
    ended: Vec<SectionLeft>,
    has_mark: bool,
}

impl AnnotationsSeen {
    /// Whether chunks are to be looked into before they are full.
    pub(crate) fn wants_open(&self) -> bool {
        self.sections || self.marks
    }

    /// The events of a chunk, all that there are so far.
    pub(crate) fn chunk(&mut self, process: ProcessIndex, info: &ChunkInfo, payload: &[u8], is_open: bool) {
        if !self.wants_open() {
            return;
        }
        let image = self.images.entry(process.0).or_default();
        let key = (info.thread, info.sequence);
        let before = image.open.remove(&key).unwrap_or(0);
        let (mut ticks, mut seen, mut sections) = (info.begin_ticks, 0, OpenSections::default());
        for (since, event) in Events::new(payload).map_while(Result::ok) {
            ticks = ticks.wrapping_add(since);
            seen += 1;
            let Event::Note { note, name } = event else { continue };
            let is_new = seen > before;
            image.has_mark |= is_new && self.marks && note == Note::Mark;
            sections.note(note, name, ticks, |name, begin_ticks| {
                if is_new && self.sections && image.ended.len() < SECTIONS_MAX {
                    let thread = ThreadId(info.thread);
                    let end_ticks = ticks;
                    image.ended.push(SectionLeft {
                        name,
                        thread,
                        begin_ticks,
                        end_ticks,
                        ..SectionLeft::default()
                    });
                }
            });
        }
        if is_open {
            image.open.insert(key, seen);
        }
    }

    /// The sections of a process that have ended since it was last asked; `None` where nothing has happened that is waited
    /// for.
    pub(crate) fn take(&mut self, process: ProcessIndex) -> Option<Vec<SectionLeft>> {
        let image = self.images.get_mut(&process.0)?;
        let has_mark = std::mem::take(&mut image.has_mark);
        (has_mark || !image.ended.is_empty()).then(|| std::mem::take(&mut image.ended))
    }

    /// A process has ended.
    pub(crate) fn ended(&mut self, process: ProcessIndex) {
        self.images.remove(&process.0);
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_wire::ids::NameId;
    use heapscribe_wire::limits::EVENT_BYTES_MAX;

    use super::*;

    /// `a` begins section 1, `A` ends it, `!` is a mark, `.` a rate; a tick each.
    fn payload(script: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        for letter in script.chars() {
            let note = |note| Event::Note { note, name: NameId(1) };
            let event = match letter {
                'a' => note(Note::Begin),
                'A' => note(Note::End),
                '>' => note(Note::GoesOn { age_ticks: 50 }),
                _ => note(Note::Mark),
            };
            let mut at = [0; EVENT_BYTES_MAX];
            let n = event.encode(1, &mut at);
            bytes.extend_from_slice(&at[..n]);
        }
        bytes
    }

    /// Chunks of thread 7 as sequence, whether they are open, and events; begins and ends of sections after each.
    fn check(chunks: &[(u64, bool, &str)], expected: &[Option<&[(u64, u64)]>], marks: bool) {
        let mut seen = AnnotationsSeen { sections: true, marks, ..AnnotationsSeen::default() };
        for ((sequence, is_open, script), expected) in chunks.iter().zip(expected) {
            let info = ChunkInfo { thread: 7, sequence: *sequence, begin_ticks: 100, ..ChunkInfo::default() };
            seen.chunk(ProcessIndex(3), &info, &payload(script), *is_open);
            let taken = seen.take(ProcessIndex(3));
            let ended =
                taken.map(|of| of.iter().map(|of| (of.begin_ticks, of.end_ticks)).collect::<Vec<_>>());
            assert_eq!(ended.as_deref(), *expected, "{script}");
        }
    }

    #[test]
    fn what_was_seen_of_an_open_chunk_is_not_seen_again() {
        check(
            &[(1, true, "aA"), (1, true, "aAa"), (1, true, "aAaA"), (1, false, "aAaA"), (2, false, ">A")],
            &[Some(&[(101, 102)]), None, Some(&[(103, 104)]), None, Some(&[(51, 102)])],
            false,
        );
    }

    #[test]
    fn marks_count_where_they_are_waited_for() {
        check(&[(1, true, "!"), (1, true, "!!"), (1, false, "!!")], &[Some(&[]), Some(&[]), None], true);
        check(&[(1, true, "!"), (1, true, "!a")], &[None, None], false);
    }
}
