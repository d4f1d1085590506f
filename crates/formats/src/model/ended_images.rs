//! What is known of processes of which a ring has evicted everything: figures that are no sums over their events.
//! What of one process is at least or at most so much lets a rule decide about each of them.

/// A number that is not known.
pub const UNKNOWN: u64 = u64::MAX;

/// Processes that have ended and of which nothing else is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EndedImages {
    /// How many of them these figures are about; in traces of earlier versions none.
    pub images: u64,
    /// When the first of them was created, CLOCK_MONOTONIC ns.
    pub first_mono_ns: u64,
    /// Blocks that they never freed, at least.
    pub leaked_blocks_min: u64,
    /// The same at most; [`UNKNOWN`] where nobody knows.
    pub leaked_blocks_max: u64,
    /// Bytes of these blocks, at least.
    pub leaked_bytes_min: u64,
    /// The same at most, or [`UNKNOWN`].
    pub leaked_bytes_max: u64,
    /// The most blocks that one of them may never have freed, or [`UNKNOWN`].
    pub one_leaked_blocks: u64,
    /// The most bytes of that kind, or [`UNKNOWN`].
    pub one_leaked_bytes: u64,
    /// The most blocks that one of them allocated, or [`UNKNOWN`].
    pub one_allocated_blocks: u64,
    /// The most bytes of that kind, or [`UNKNOWN`].
    pub one_allocated_bytes: u64,
    /// The highest of their own peaks that are known, bytes.
    pub one_peak_bytes: u64,
    /// The most that all of them may have held at a time, bytes: their own peaks, added up where they may have lived at the same
    /// time; [`UNKNOWN`] where one is not known.
    pub peaks_bytes: u64,
    /// Events that were lost.
    pub lost_events: u64,
    /// How many of them had sampled blocks: what these never freed is not known.
    pub sampled: u64,
}

impl EndedImages {
    /// The fields in the order of the file.
    pub(crate) fn fields(&self) -> [u64; 14] {
        [
            self.images,
            self.first_mono_ns,
            self.leaked_blocks_min,
            self.leaked_blocks_max,
            self.leaked_bytes_min,
            self.leaked_bytes_max,
            self.one_leaked_blocks,
            self.one_leaked_bytes,
            self.one_allocated_blocks,
            self.one_allocated_bytes,
            self.one_peak_bytes,
            self.peaks_bytes,
            self.lost_events,
            self.sampled,
        ]
    }

    /// Of the fields in the order of the file.
    pub(crate) fn of_fields(fields: [u64; 14]) -> EndedImages {
        let [images, first_mono_ns, rest @ ..] = fields;
        let [leaked_blocks_min, leaked_blocks_max, leaked_bytes_min, leaked_bytes_max, rest @ ..] = rest;
        let [one_leaked_blocks, one_leaked_bytes, one_allocated_blocks, one_allocated_bytes, rest @ ..] =
            rest;
        let [one_peak_bytes, peaks_bytes, lost_events, sampled] = rest;
        EndedImages {
            images,
            first_mono_ns,
            leaked_blocks_min,
            leaked_blocks_max,
            leaked_bytes_min,
            leaked_bytes_max,
            one_leaked_blocks,
            one_leaked_bytes,
            one_allocated_blocks,
            one_allocated_bytes,
            one_peak_bytes,
            peaks_bytes,
            lost_events,
            sampled,
        }
    }

    /// Adds others, which lived at another time than these (`apart`), or may have lived at the same. What is not known of one
    /// of them is not known of all: it is the largest number.
    pub fn merge(&mut self, other: &EndedImages, apart: bool) {
        let together = self.peaks_bytes.saturating_add(other.peaks_bytes);
        self.peaks_bytes = if apart { self.peaks_bytes.max(other.peaks_bytes) } else { together };
        let firsts = [self.first_mono_ns, other.first_mono_ns].into_iter().filter(|ns| *ns != 0);
        self.first_mono_ns = firsts.min().unwrap_or(0);
        for (sum, n) in [
            (&mut self.images, other.images),
            (&mut self.leaked_blocks_min, other.leaked_blocks_min),
            (&mut self.leaked_blocks_max, other.leaked_blocks_max),
            (&mut self.leaked_bytes_min, other.leaked_bytes_min),
            (&mut self.leaked_bytes_max, other.leaked_bytes_max),
            (&mut self.lost_events, other.lost_events),
            (&mut self.sampled, other.sampled),
        ] {
            *sum = sum.saturating_add(n);
        }
        for (most, n) in [
            (&mut self.one_leaked_blocks, other.one_leaked_blocks),
            (&mut self.one_leaked_bytes, other.one_leaked_bytes),
            (&mut self.one_allocated_blocks, other.one_allocated_blocks),
            (&mut self.one_allocated_bytes, other.one_allocated_bytes),
            (&mut self.one_peak_bytes, other.one_peak_bytes),
        ] {
            *most = n.max(*most);
        }
    }
}
