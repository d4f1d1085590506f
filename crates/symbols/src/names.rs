//! What is asked of a file and what it answers: modules, functions at an address, and why a name is missing.

use std::collections::HashMap;
use std::fmt;

/// A module as it was recorded.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Module {
    /// Its path when it ran.
    pub path: String,
    /// Its GNU build id; empty when it has none.
    pub build_id: Vec<u8>,
}

/// A function at an address: the one whose code it is, or one that was inlined into it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceFrame {
    /// Its name, as the source has it.
    pub function: Option<String>,
    /// The source file.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
    /// Whether its code lies inside the function that follows.
    pub inlined: bool,
}

/// Why a module has no names, or only the names of functions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LookupFailure {
    /// It never was a file: the kernel's page, code made at run time.
    NotAFile,
    /// The file is not there any more.
    Missing,
    /// There is another file of that name now.
    Changed,
    /// The file is there, but is no ELF file that can be read.
    Unreadable(String),
    /// Functions are known from the symbol table, lines are not.
    NoDebugInfo,
}

impl std::error::Error for LookupFailure {}

impl fmt::Display for LookupFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LookupFailure::NotAFile => f.write_str("is not a file"),
            LookupFailure::Missing => f.write_str("no longer exists"),
            LookupFailure::Changed => f.write_str("has changed since the recording"),
            LookupFailure::Unreadable(why) => write!(f, "cannot be read: {why}"),
            LookupFailure::NoDebugInfo => f.write_str("has no debug information"),
        }
    }
}

/// What is known about the addresses asked for in one module.
#[derive(Debug, Default)]
pub struct Names {
    /// For each address the functions there, the innermost first; the last one is not inlined.
    pub(crate) frames: HashMap<u64, Vec<SourceFrame>>,
    /// What stood in the way.
    pub failure: Option<LookupFailure>,
}

impl Names {
    /// Functions at the address, the innermost first; empty when nothing is known.
    pub fn at(&self, address: u64) -> &[SourceFrame] {
        self.frames.get(&address).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn none(failure: LookupFailure) -> Names {
        Names { frames: HashMap::new(), failure: Some(failure) }
    }
}
