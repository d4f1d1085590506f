//! One module's addresses looked up: debug information first, the symbol table for what it leaves open.

use std::collections::HashMap;
use std::path::Path;

use addr2line::Loader;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

use crate::debug_file::DebugFile;
use crate::demangle::demangle;
use crate::elf::{self, ElfFile};
use crate::names::{LookupFailure, Names, SourceFrame};
use crate::progress::Progress;
use crate::{mini_debug_info, split_dwarf};

/// A file that is open for looking up: its debug information and its symbol table.
pub(super) struct SymbolFile {
    loader: Option<Loader>,
    table: SymbolTable,
}

impl SymbolFile {
    /// Opens a file and the one that has its debug information.
    pub(super) fn open(file: &ElfFile, debug: Option<&DebugFile>) -> SymbolFile {
        let debug_info = debug.filter(|debug| split_dwarf::leads_to_files(&debug.path));
        let loader = debug_info.and_then(|d| Loader::new_with_sup(&d.path, d.shared.as_ref()).ok());
        let mut table = SymbolTable::default();
        table.read(&file.path);
        if let Some(separate) = debug.filter(|d| d.path != file.path) {
            table.read(&separate.path);
        }
        table.sort();
        SymbolFile { loader, table }
    }

    /// Names for addresses in it.
    pub(super) fn names(&self, addresses: &[u64], progress: &dyn Progress) -> Names {
        let frames: HashMap<_, _> = addresses
            .iter()
            .inspect(|_| progress.advance())
            .map(|&address| (address, frames_at(address, self.loader.as_ref(), &self.table)))
            .filter(|(_, frames)| !frames.is_empty())
            .collect();
        Names { frames, failure: self.loader.is_none().then_some(LookupFailure::NoDebugInfo) }
    }
}

fn frames_at(address: u64, loader: Option<&Loader>, table: &SymbolTable) -> Vec<SourceFrame> {
    let mut frames = loader.map(|l| dwarf_frames(address, l)).unwrap_or_default();
    let symbol = || table.function_at(address).map(demangle);
    match frames.last_mut() {
        Some(outer) if outer.function.is_none() => outer.function = symbol(),
        // Debug information of lines only has `load` for `shop::load`.
        Some(outer) if outer.function.as_deref().is_some_and(|name| !name.contains("::")) => {
            let whole = symbol().filter(|symbol| is_path_to(symbol, outer.function.as_deref()));
            outer.function = whole.or_else(|| outer.function.take());
        }
        Some(_) => {}
        None => {
            frames.extend(symbol().map(|name| SourceFrame { function: Some(name), ..SourceFrame::default() }))
        }
    }
    frames
}

/// Whether a symbol names the same function, with the path to it. Of a lambda, which debug information calls
/// `operator()`, the symbol's short name ends with the lambda.
fn is_path_to(symbol: &str, function: Option<&str>) -> bool {
    let symbol = crate::short::short(symbol);
    if function == Some("operator()") && crate::short::is_lambda(&symbol) {
        return true;
    }
    function.is_some_and(|function| symbol.strip_suffix(function).is_some_and(|path| path.ends_with("::")))
}

/// The functions at an address, the innermost first. What does not parse counts as not there.
fn dwarf_frames(address: u64, loader: &Loader) -> Vec<SourceFrame> {
    let mut found = Vec::new();
    let Ok(mut frames) = loader.find_frames(address) else { return found };
    while let Ok(Some(frame)) = frames.next() {
        let name = frame.function.as_ref().and_then(|f| f.raw_name().ok().map(|raw| demangle(&raw)));
        let location = frame.location;
        found.push(SourceFrame {
            function: name,
            file: location.as_ref().and_then(|l| l.file).map(clean_path),
            line: location.and_then(|l| l.line).filter(|line| *line > 0),
            inlined: true,
        });
    }
    if let Some(outer) = found.last_mut() {
        outer.inlined = false;
    }
    found.retain(|frame| frame.function.is_some() || frame.file.is_some() || !frame.inlined);
    if found.iter().all(|frame| frame.function.is_none() && frame.file.is_none()) {
        Vec::new()
    } else {
        found
    }
}

/// `/src/./a/../b.c` as people write it: `/src/b.c`.
fn clean_path(path: &str) -> String {
    use std::path::Component;
    let mut clean = std::path::PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if clean.file_name().is_some_and(|name| name != "..") => {
                clean.pop();
            }
            _ => clean.push(part),
        }
    }
    clean.to_string_lossy().into_owned()
}

/// Functions of an ELF symbol table by address.
#[derive(Default)]
struct SymbolTable {
    symbols: Vec<Symbol>,
}

struct Symbol {
    start: u64,
    end: u64,
    /// Whether the symbol itself says where it ends.
    has_size: bool,
    name: String,
}

impl Symbol {
    /// A function that the file contains. What is only called there is none, although its symbol may have the
    /// address of the stub for the call: gcc's `strcmp`, whose address the program takes.
    fn function<'o>(object: &impl Object<'o>, symbol: &impl ObjectSymbol<'o>) -> Option<Symbol> {
        let is_function = symbol.kind() == SymbolKind::Text && symbol.is_definition();
        let name = symbol.name().ok().filter(|name| is_function && !name.is_empty())?;
        let (start, size) = (symbol.address(), symbol.size());
        // Hand-written assembly has symbols without a size: they reach up to the next one in their section.
        let end_of_section = || {
            let section = symbol.section_index().and_then(|index| object.section_by_index(index).ok());
            section.map_or(start, |section| section.address().saturating_add(section.size()))
        };
        let end = if size > 0 { start.saturating_add(size) } else { end_of_section() };
        Some(Symbol { start, end, has_size: size > 0, name: name.to_owned() })
    }
}

impl SymbolTable {
    /// Adds what one file has in its two tables; a file without them adds nothing.
    fn read(&mut self, path: &Path) {
        let _ = elf::with_object(path, |object| {
            self.add(object);
            let inside = mini_debug_info::of(object);
            if let Some(object) = inside.as_deref().and_then(|bytes| object::File::parse(bytes).ok()) {
                self.add(&object);
            }
        });
    }

    fn add<'o>(&mut self, object: &impl Object<'o>) {
        let symbols = object.symbols().chain(object.dynamic_symbols());
        self.symbols.extend(symbols.filter_map(|symbol| Symbol::function(object, &symbol)));
    }

    /// Of many names for one address the sized, then the shortest comes last and wins.
    fn sort(&mut self) {
        self.symbols.retain(|s| s.start > 0);
        self.symbols.sort_by(|a, b| {
            let key = |s: &Symbol| (s.start, s.has_size, s.end);
            key(a).cmp(&key(b)).then_with(|| (b.name.len(), &b.name).cmp(&(a.name.len(), &a.name)))
        });
    }

    fn function_at(&self, address: u64) -> Option<&str> {
        let after = self.symbols.partition_point(|s| s.start <= address);
        let symbol = self.symbols[..after].last()?;
        (address < symbol.end).then_some(symbol.name.as_str())
    }
}
