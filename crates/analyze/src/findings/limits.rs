//! From where on something is a finding. All thresholds are here, and `docs/guide/findings.md` lists them.

/// A threshold, as the documentation lists it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threshold {
    /// Its name.
    pub name: &'static str,
    /// Its value, in the unit that its name ends in.
    pub value: u64,
}

macro_rules! thresholds {
    ($($(#[doc = $text:literal])+ $name:ident = $value:expr;)*) => {
        $($(#[doc = $text])+ pub(crate) const $name: u64 = $value;)*

        /// All thresholds, by kind of finding.
        pub const THRESHOLDS: &[Threshold] =
            &[$(Threshold { name: stringify!($name), value: $name },)*];
    };
}

thresholds! {
    /// Findings of one kind, at most; those that cost most are listed.
    FINDINGS_OF_KIND = 3;
    /// Stacks of one finding, at most.
    STACKS_OF_FINDING = 3;

    /// A stack grows when it rises in so many of the eight steps of the second half of its process's life, ...
    GROWTH_RISING_STEPS = 6;
    /// ... by so many bytes in all, ...
    GROWTH_BYTES = 16 << 10;
    /// ... by such a part of what it holds at the end, ...
    GROWTH_PERCENT = 10;
    /// ... of which so much is never freed, ...
    GROWTH_LEFT_PERCENT = 50;
    /// ... and the process lived so long.
    GROWTH_LIFE_MS = 100;

    /// Less than this, left by the program in all, is no leak.
    LEAK_BYTES = 1;

    /// The heap rises to a burst within such a part of the recording, and falls within as much, ...
    BURST_TIME_PERCENT = 10;
    /// ... by such a part of the peak, ...
    BURST_RISE_PERCENT = 25;
    /// ... at least by so many bytes, ...
    BURST_RISE_BYTES = 64 << 10;
    /// ... of which such a part is freed again.
    BURST_FALL_PERCENT = 50;
    /// A process that lived less than this has no bursts.
    BURST_LIFE_MS = 20;
    /// What was live before the rise was merely there when it is such a part of the peak.
    BURST_THERE_PERCENT = 10;

    /// So many blocks of one caller that were freed before its thread allocated again are temporaries in a loop, ...
    TEMPORARY_BLOCKS = 10_000;
    /// ... if they are such a part of its blocks.
    TEMPORARY_PERCENT = 50;

    /// A realloc grows by a small step when it adds less than such a part of the size; ...
    SMALL_STEP_PERCENT = 10;
    /// ... so many of one caller are worth reserving, ...
    SMALL_STEPS = 250;
    /// ... if they may have copied so many bytes.
    SMALL_STEPS_COPIED_BYTES = 1 << 20;

    /// A block of this size is large; ...
    LATE_FREE_BLOCK_BYTES = 64 << 10;
    /// ... it is freed late after such a part of its process's life, ...
    LATE_FREE_AGE_PERCENT = 50;
    /// ... in the last part of it; ...
    LATE_FREE_END_PERCENT = 5;
    /// ... and a caller's late blocks are such a part of the peak.
    LATE_FREE_PEAK_PERCENT = 10;

    /// So many blocks of one caller freed by other threads, ...
    FOREIGN_FREE_BLOCKS = 1_000;
    /// ... if they are such a part of those that it freed.
    FOREIGN_FREE_PERCENT = 50;

    /// Resident memory without files is far above the heap by so many bytes, ...
    RESIDENT_EXCESS_BYTES = 16 << 20;
    /// ... if that is such a part of it.
    RESIDENT_EXCESS_PERCENT = 50;
    /// ... for such a part of the recording.
    RESIDENT_EXCESS_LASTS_PERCENT = 10;

    /// Resident memory without files is above what one heap took at its peak by so many bytes, ...
    ARENAS_BYTES = 16 << 20;
    /// ... which is such a part of it, and arenas of threads can have kept all but so many bytes of it.
    ARENAS_PERCENT = 25;

    /// A caller's blocks waste by rounding, or by their alignment, so many bytes at the peak, ...
    ROUNDING_BYTES = 256 << 10;
    /// ... and such a part of what the heap takes for them.
    ROUNDING_PERCENT = 40;

    /// Samples are too coarse when the 95 % interval of the peak is wider than such a part of it, ...
    SAMPLING_WIDTH_PERCENT = 50;
    /// ... or when the peak rests on fewer samples than this.
    SAMPLING_SAMPLES = 30;

    /// A section holds memory when blocks that only it allocates are such a part of the peak or of what is left, ...
    SECTION_PERCENT = 25;
    /// ... and so many bytes.
    SECTION_BYTES = 64 << 10;

    /// A finding is of medium severity when it is about such a part of the peak or of all calls, and ...
    MEDIUM_PERCENT = 5;
    /// ... of high severity from such a part on.
    HIGH_PERCENT = 25;
    /// Of fewer bytes than this no finding is more than low.
    MEDIUM_BYTES = 64 << 10;
    /// Of fewer bytes than this no finding is high.
    HIGH_BYTES = 1 << 20;
}
