//! Annotations of a program: where it is.

/// In the call bits of a note's tag: not an annotation, events are missing.
pub(super) const LOST: u8 = 0;
const MARK: u8 = 1;
const BEGIN: u8 = 2;
const END: u8 = 3;
const GOES_ON: u8 = 4;

/// An annotation of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// It has reached a point.
    Mark,
    /// A section of its thread begins.
    Begin,
    /// The innermost section of the name ends on its thread, and with it those inside.
    End,
    /// A section that began in an earlier chunk goes on.
    GoesOn {
        /// Ticks from its begin to this event.
        age_ticks: u64,
    },
}

impl Note {
    /// The call bits of its tag.
    pub const fn bits(self) -> u8 {
        match self {
            Note::Mark => MARK,
            Note::Begin => BEGIN,
            Note::End => END,
            Note::GoesOn { .. } => GOES_ON,
        }
    }

    /// The note of these call bits, whose age is still to be read.
    pub const fn from_bits(bits: u8) -> Option<Note> {
        match bits {
            MARK => Some(Note::Mark),
            BEGIN => Some(Note::Begin),
            END => Some(Note::End),
            GOES_ON => Some(Note::GoesOn { age_ticks: 0 }),
            _ => None,
        }
    }
}
