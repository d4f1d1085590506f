//! What sections there are, and where.

/// What a section has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Which trace it is of: length, and sums over it.
    Trace = 0,
    /// First moments of leaves.
    Axis = 1,
    /// Ends of processes.
    Processes = 2,
    /// Keys by number.
    Keys = 3,
    /// The peak, and where the timeline begins and how long its steps are.
    Peak = 4,
    /// By key, what was allocated in a leaf.
    Born = 5,
    /// By leaf of birth and key, what was freed in a leaf.
    Died = 6,
    /// Each block of a leaf that was freed in a later one; a leaf may have several such sections.
    Survivors = 7,
    /// By class of lifetimes and key, what was freed in the leaf of its birth.
    Young = 8,
    /// By key, what was allocated in a step.
    StepBorn = 9,
    /// By step of birth and key, what was freed in a step.
    StepDied = 10,
    /// The steps of the timeline.
    Steps = 11,
    /// By step of the timeline and process, what that did.
    ProcessSteps = 12,
    /// Names of marks and sections.
    NoteNames = 13,
    /// Marks and ends of sections of a name.
    Notes = 14,
    /// By process and reason, how many events are missing in chunks.
    Lost = 15,
    /// Numbers of the chunks that could not be read, or not to their end.
    Damaged = 16,
    /// By class of lifetimes and key, what was born in a step and freed; a step may have several such sections.
    StepAges = 17,
    /// By leaf of birth and class of lifetimes, what was freed, of all keys.
    Ages = 18,
    /// By leaf, what was allocated, of all keys.
    Allocated = 19,
    /// By leaf of death, in a step, and leaf of birth, what was freed, of all keys.
    Deaths = 20,
}

impl Kind {
    const ALL: [Kind; 21] = [
        Kind::Trace,
        Kind::Axis,
        Kind::Processes,
        Kind::Keys,
        Kind::Peak,
        Kind::Born,
        Kind::Died,
        Kind::Survivors,
        Kind::Young,
        Kind::StepBorn,
        Kind::StepDied,
        Kind::Steps,
        Kind::ProcessSteps,
        Kind::NoteNames,
        Kind::Notes,
        Kind::Lost,
        Kind::Damaged,
        Kind::StepAges,
        Kind::Ages,
        Kind::Allocated,
        Kind::Deaths,
    ];

    /// The kind of this number.
    pub(super) fn of(number: u64) -> Option<Kind> {
        Kind::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

/// A section in the directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// What it has.
    pub(crate) kind: Kind,
    /// The leaf or step it is of.
    pub(crate) number: u32,
    /// Where its bytes begin.
    pub(crate) offset: u64,
    /// How many there are.
    pub(crate) stored_bytes: u64,
    /// How many they become.
    pub(crate) raw_bytes: u64,
}
