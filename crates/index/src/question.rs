//! Questions: a rectangle of birth and death.
//!
//! | question | born | dies |
//! |---|---|---|
//! | live at `t` | until `t` | after `t` |
//! | live at the end | any | not until the end |
//! | allocated from `a` to `b` | from `a` to `b` | any |
//! | freed from `a` to `b` | any | from `a` to `b` |
//! | a generation: born from `a` to `b`, still live at `c` | from `a` to `b` | after `c` |
//! | never freed, of those born from `a` to `b` | from `a` to `b` | not until the end |
//! | allocated and freed from `a` to `b` | from `a` to `b` | from `a` to `b` |

/// A stretch of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Its first moment, ns.
    pub from_ns: u64,
    /// The first moment after it, ns; `u64::MAX` for all that follows.
    pub to_ns: u64,
}

impl Span {
    /// All of it.
    pub const ALL: Span = Span { from_ns: 0, to_ns: u64::MAX };

    /// Until a moment, and with it.
    pub const fn until(ns: u64) -> Span {
        Span { from_ns: 0, to_ns: ns.saturating_add(1) }
    }

    /// Whether there is no moment in it.
    pub const fn is_empty(&self) -> bool {
        self.from_ns >= self.to_ns
    }

    /// Whether a moment lies in it.
    #[inline(always)]
    pub const fn contains(&self, ns: u64) -> bool {
        self.from_ns <= ns && ns < self.to_ns
    }

    /// What two of them share.
    #[must_use]
    pub fn and(&self, other: &Span) -> Span {
        Span { from_ns: self.from_ns.max(other.from_ns), to_ns: self.to_ns.min(other.to_ns) }
    }
}

/// When a block dies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Death {
    /// At any time, or never.
    Any,
    /// In this time.
    In(Span),
    /// After this moment, or never; its process lives at that moment. That it is born by then is for
    /// [`Question::born`] to say.
    After(u64),
    /// The same, whether or not its process has ended by then: what is leaked counts.
    NotUntil(u64),
}

/// A question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question {
    /// When blocks are born.
    pub born: Span,
    /// When they die.
    pub death: Death,
}

impl Question {
    /// Blocks that are live at a moment, after all that happens in it.
    pub fn live_at(ns: u64) -> Question {
        Question::generation(Span::ALL, ns)
    }

    /// A generation: blocks that are born in this time and live at a moment. [`Question::END`] is right before the
    /// processes end, with which their blocks go: what is live then is what is never freed.
    pub fn generation(born: Span, ns: u64) -> Question {
        match ns {
            Question::END => Question::never_freed(born),
            ns => Question { born: born.and(&Span::until(ns)), death: Death::After(ns) },
        }
    }

    /// The moment right before the processes end.
    pub const END: u64 = u64::MAX;

    /// Blocks that are allocated in this time.
    pub const fn allocated(in_time: Span) -> Question {
        Question { born: in_time, death: Death::Any }
    }

    /// Blocks that are born in this time and never freed.
    pub const fn never_freed(born: Span) -> Question {
        Question { born, death: Death::NotUntil(u64::MAX) }
    }

    /// Blocks that are freed in this time.
    pub const fn freed(in_time: Span) -> Question {
        Question { born: Span::ALL, death: Death::In(in_time) }
    }
}
