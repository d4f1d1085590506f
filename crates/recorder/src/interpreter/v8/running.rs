//! What a frame of JavaScript runs, by which kind of code.

/// What kind of code runs a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Kind {
    /// V8's interpreter: the frame has the bytecode that it is at.
    Interpreted,
    /// Code that was compiled.
    #[default]
    Compiled,
    /// No frame of JavaScript.
    Native,
    /// A builtin function, which has no source; or the interpreter's entry, before the first bytecode of a function.
    Builtin,
}

impl Kind {
    /// The number by which code that runs functions is noted.
    pub(super) const fn number(self) -> u64 {
        self as u64 + 1
    }

    pub(super) const fn from_number(number: u64) -> Option<Kind> {
        match number {
            1 => Some(Kind::Interpreted),
            2 => Some(Kind::Compiled),
            3 => Some(Kind::Native),
            4 => Some(Kind::Builtin),
            _ => None,
        }
    }
}

/// What a frame runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Running {
    pub kind: Kind,
    pub function: usize,
    /// Its bytecodes; of compiled code, what leads to it, hashed.
    pub code: usize,
    /// The offset of the bytecode that it is at; of compiled code, the address that this returns to.
    pub at: usize,
}
