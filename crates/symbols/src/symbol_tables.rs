//! Names that were looked up before, where the files were: embedded in a trace, or in a bundle beside it.
//!
//! A module is known by its build id, and by its path only where it has none, as in a call tree.

use std::collections::HashMap;
use std::sync::Arc;

use heapscribe_formats::{AddressSymbols, ModuleSymbols, SymbolFrame, SymbolSource};

use crate::names::{LookupFailure, Module, Names, SourceFrame};

/// Names of addresses, by module.
#[derive(Debug, Default)]
pub struct SymbolTables {
    modules: HashMap<Vec<u8>, Arc<Table>>,
}

/// What is known of one module.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    failure: Option<LookupFailure>,
    frames: HashMap<u64, Vec<SymbolFrame>>,
}

impl SymbolTables {
    /// Adds what is known of a module. What is there already stays.
    pub fn add(&mut self, symbols: ModuleSymbols) {
        let failure = failure_of(symbols.source);
        let table = self.modules.entry(key(&symbols.path, &symbols.build_id));
        let table =
            table.or_insert_with(|| Arc::new(Table { failure: failure.clone(), frames: HashMap::new() }));
        let table = Arc::make_mut(table);
        table.failure = table.failure.take().and(failure);
        for AddressSymbols { address, frames } in symbols.addresses {
            table.frames.entry(address).or_insert(frames);
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }

    /// What is known of a module.
    pub(crate) fn of(&self, module: &Module) -> Option<Arc<Table>> {
        self.modules.get(&key(module.path.as_bytes(), &module.build_id)).cloned()
    }
}

/// What tells modules apart.
fn key(path: &[u8], build_id: &[u8]) -> Vec<u8> {
    let (kind, name) = if build_id.is_empty() { (b'p', path) } else { (b'i', build_id) };
    [&[kind], name].concat()
}

impl Table {
    /// Why it has no better names.
    pub(crate) fn failure(&self) -> Option<&LookupFailure> {
        self.failure.as_ref()
    }

    /// Whether it names anything.
    pub(crate) fn has_names(&self) -> bool {
        self.frames.values().any(|frames| !frames.is_empty())
    }

    /// The addresses that were not looked up for it.
    pub(crate) fn unknown(&self, addresses: &[u64]) -> Vec<u64> {
        addresses.iter().copied().filter(|address| !self.frames.contains_key(address)).collect()
    }

    /// Names for addresses.
    pub(crate) fn names(&self, addresses: &[u64]) -> Names {
        let frames = addresses.iter().filter_map(|address| {
            let frames = self.frames.get(address).filter(|frames| !frames.is_empty())?;
            Some((*address, frames.iter().map(source_frame).collect()))
        });
        Names { frames: frames.collect(), failure: self.failure.clone() }
    }
}

fn source_frame(frame: &SymbolFrame) -> SourceFrame {
    let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned);
    SourceFrame {
        function: text(&frame.function),
        file: text(&frame.file),
        line: frame.line,
        inlined: frame.inlined,
    }
}

fn failure_of(source: SymbolSource) -> Option<LookupFailure> {
    match source {
        SymbolSource::DebugInfo => None,
        SymbolSource::SymbolTable => Some(LookupFailure::NoDebugInfo),
        SymbolSource::NoFile => Some(LookupFailure::NotAFile),
        SymbolSource::Missing => Some(LookupFailure::Missing),
        SymbolSource::Changed => Some(LookupFailure::Changed),
        SymbolSource::Unreadable(why) => Some(LookupFailure::Unreadable(why.to_string())),
    }
}
