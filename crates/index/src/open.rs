//! An index that was opened: what all questions need is in memory, sections of leaves are read when they are asked
//! for.

use heapscribe_formats::Source;
use heapscribe_wire::ids::StackId;

use crate::amount::Amount;
use crate::axis::{Axis, LEAVES_MAX};
use crate::file::{IndexError, Kind, SectionReader};
use crate::key::{Key, Keys, SizeClass};
use crate::trace_id::TraceId;

/// An index.
#[derive(Debug)]
pub struct Index<S> {
    pub(crate) sections: SectionReader<S>,
    axis: Axis,
    pub(crate) keys: Keys,
    /// When each process ended, ns; 0 when that is not known.
    process_ends_ns: Vec<u64>,
    totals: Vec<LeafTotals>,
}

/// What a leaf allocated and freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LeafTotals {
    /// Allocated.
    pub born: Amount,
    /// Freed.
    pub died: Amount,
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
        let amount = |blocks: u64, bytes: u64| Amount { blocks: blocks as i64, bytes: bytes as i64 };
        let totals = |[born, born_bytes, died, died_bytes]: [u64; 4]| LeafTotals {
            born: amount(born, born_bytes),
            died: amount(died, died_bytes),
        };
        let totals: Vec<_> = sections.rows::<4>(Kind::Totals, 0)?.iter().map(totals).collect();
        let axis = Axis::new(begins_ns);
        if axis.leaves() > LEAVES_MAX || totals.len() != axis.leaves() as usize {
            return Err(IndexError::Damaged(0));
        }
        Ok(Index { sections, axis, keys: Keys::of(keys), process_ends_ns, totals })
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

    /// What each leaf allocated and freed.
    pub fn totals(&self) -> &[LeafTotals] {
        &self.totals
    }

    /// Whether a process had ended at a moment: what it held went with it.
    pub(crate) fn had_ended(&self, process: u32, ns: u64) -> bool {
        self.process_ends_ns.get(process as usize).is_some_and(|end_ns| *end_ns != 0 && *end_ns <= ns)
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
