//! Names of code addresses: what was looked up in the files of a recording, so that it can be read where they are not.

use std::sync::Arc;

/// What is known of some addresses in a module's file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModuleSymbols {
    /// The module's path.
    pub path: Vec<u8>,
    /// Its GNU build id; empty when it has none.
    pub build_id: Vec<u8>,
    /// What stood in the way of more.
    pub source: SymbolSource,
    /// The addresses that were looked up, also those without a name.
    pub addresses: Vec<AddressSymbols>,
}

/// What the names of a module were looked up in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum SymbolSource {
    /// Its debug information: functions, files, lines.
    #[default]
    DebugInfo,
    /// Its symbol table alone: functions, but no lines.
    SymbolTable,
    /// Nothing: it never was a file.
    NoFile,
    /// Nothing: the file was missing.
    Missing,
    /// Nothing: there was another file of that name.
    Changed,
    /// Nothing: it could not be read, for this reason.
    Unreadable(Arc<str>),
}

/// The functions at an address in a module's file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AddressSymbols {
    /// The address.
    pub address: u64,
    /// The innermost first; the last one is not inlined.
    pub frames: Vec<SymbolFrame>,
}

/// A function at an address. Texts are shared: a block has each of them once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SymbolFrame {
    /// Its name, as the source has it.
    pub function: Option<Arc<str>>,
    /// The source file.
    pub file: Option<Arc<str>>,
    /// The line in it.
    pub line: Option<u32>,
    /// Whether its code lies inside the function that follows.
    pub inlined: bool,
}
