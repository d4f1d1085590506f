//! An index that was opened: what all questions need is in memory, sections of leaves are read when they are asked
//! for.

use heapscribe_analyze::moments::NoteMoment;
use heapscribe_analyze::{HeapOverTime, LostInChunks};
use heapscribe_formats::Source;
use heapscribe_wire::ids::StackId;

use crate::axis::{Axis, LEAVES_MAX};
use crate::file::{IndexError, Kind, SectionReader};
use crate::heap;
use crate::key::{Key, KeyFilter, Keys, SizeClass};
use crate::lost;
use crate::notes;
use crate::trace_id::TraceId;

/// An index.
#[derive(Debug)]
pub struct Index<S> {
    pub(crate) sections: SectionReader<S>,
    axis: Axis,
    pub(crate) keys: Keys,
    /// When each process ended, ns; 0 when that is not known.
    process_ends_ns: Vec<u64>,
}

impl<S: Source> Index<S> {
    /// Opens the index of this trace.
    ///
    /// # Errors
    /// When it is damaged, of another version, or of another trace: then it is to be made again.
    pub fn open(source: S, trace: &TraceId) -> Result<Index<S>, IndexError> {
        let sections = SectionReader::open(source)?;
        if !sections.rows::<2>(Kind::Trace, 0)?.iter().eq([trace.row()]) {
            return Err(IndexError::OtherTrace);
        }
        let begins_ns: Vec<u64> = sections.rows::<1>(Kind::Axis, 0)?.iter().map(|[ns]| ns).collect();
        let keys =
            sections.rows::<4>(Kind::Keys, 0)?.iter().map(|row| key(&row)).collect::<Option<Vec<Key>>>();
        let keys = keys.ok_or(IndexError::Damaged(0))?;
        let process_ends_ns = sections.rows::<1>(Kind::Processes, 0)?.iter().map(|[ns]| ns).collect();
        let axis = Axis::new(begins_ns);
        if axis.leaves() > LEAVES_MAX {
            return Err(IndexError::Damaged(0));
        }
        Ok(Index { sections, axis, keys: Keys::of(keys), process_ends_ns })
    }

    /// Its leaves.
    pub fn axis(&self) -> &Axis {
        &self.axis
    }

    /// The keys of its figures, by number.
    pub fn keys(&self) -> &[Key] {
        self.keys.all()
    }

    /// Whether memory did not suffice to keep all keys apart: some are of any size, any thread or an unknown stack.
    pub fn is_coarse(&self) -> bool {
        self.keys().iter().any(|key| key.size == SizeClass::ANY)
    }

    /// What is missing among the events of chunks.
    ///
    /// # Errors
    /// When the index is damaged.
    pub fn lost_in_chunks(&self) -> Result<LostInChunks, IndexError> {
        lost::read(&self.sections, self.process_ends_ns.len())
    }

    /// The heap over time, and its peak.
    ///
    /// # Errors
    /// When the index is damaged.
    pub fn heap(&self) -> Result<HeapOverTime, IndexError> {
        heap::read(&self.sections, self.process_ends_ns.len())
    }

    /// The names of all marks and sections; nothing where the index had no room for them.
    ///
    /// # Errors
    /// When the index is damaged.
    pub fn note_names(&self) -> Result<Option<Vec<Vec<u8>>>, IndexError> {
        notes::names(&self.sections)
    }

    /// All marks and ends of sections of a name, by time; nothing where the index had no room for them.
    ///
    /// # Errors
    /// When the index is damaged.
    pub fn notes(&self, name: &[u8]) -> Result<Option<Vec<NoteMoment>>, IndexError> {
        notes::of_name(&self.sections, name)
    }

    /// Whether a process had ended at a moment: what it held went with it.
    pub(crate) fn had_ended(&self, process: u32, ns: u64) -> bool {
        self.process_ends_ns.get(process as usize).is_some_and(|end_ns| *end_ns != 0 && *end_ns <= ns)
    }

    /// By number, which of its keys are wanted; none where all are.
    pub(crate) fn wanted(&self, filter: Option<KeyFilter<'_>>) -> Option<Vec<bool>> {
        filter.map(|is_wanted| self.keys().iter().map(is_wanted).collect())
    }

    /// Whether any process had ended at a moment.
    pub(crate) fn has_any_ended(&self, ns: u64) -> bool {
        (0..self.process_ends_ns.len() as u32).any(|process| self.had_ended(process, ns))
    }
}

fn key([process, stack, thread, size]: &[u64; 4]) -> Option<Key> {
    Some(Key {
        process: u32::try_from(*process).ok()?,
        stack: StackId(u32::try_from(*stack).ok()?),
        thread: u32::try_from(*thread).ok()?,
        size: SizeClass(u8::try_from(*size).ok()?),
    })
}
