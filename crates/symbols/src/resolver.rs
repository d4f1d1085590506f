//! Looks addresses up: a module is opened once in a run, all its addresses together, modules in parallel.
//!
//! What was looked up before, where the files were, comes first: files are opened for what that leaves open.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use heapscribe_analyze::answer::InterpretedFunction;
use rayon::prelude::*;

use crate::debug_file::Places;
use crate::debuginfod::Debuginfod;
use crate::lookup::SymbolFile;
use crate::names::{LookupFailure, Module, Names, SourceFrame};
use crate::progress::{Progress, Silent};
use crate::symbol_tables::{SymbolTables, Table};
use crate::{elf, places};

/// Looks up addresses of many modules.
pub struct Resolver {
    debug_dir: PathBuf,
    progress: Option<Box<dyn Progress>>,
    tables: SymbolTables,
    debuginfod: Debuginfod,
    /// Whether files are left alone.
    opens_nothing: bool,
}

impl Resolver {
    /// Looks for separate debug files in `debug_dir` alone, and reports no progress.
    pub fn new(debug_dir: impl Into<PathBuf>) -> Resolver {
        Resolver {
            debug_dir: debug_dir.into(),
            progress: None,
            tables: SymbolTables::default(),
            debuginfod: Debuginfod::default(),
            opens_nothing: false,
        }
    }

    /// Opens no file: places have the names that the recording has for them, as those of interpreted code.
    pub fn without_files() -> Resolver {
        Resolver { opens_nothing: true, ..Resolver::new("") }
    }

    /// The same, and reports to `progress` how far it is.
    #[must_use]
    pub fn with_progress(self, progress: impl Progress + 'static) -> Resolver {
        Resolver { progress: Some(Box::new(progress)), ..self }
    }

    /// The same, and takes names that were looked up before.
    #[must_use]
    pub fn with_tables(self, tables: SymbolTables) -> Resolver {
        Resolver { tables, ..self }
    }

    /// The same, and takes debug files from debuginfod.
    #[must_use]
    pub fn with_debuginfod(self, debuginfod: Debuginfod) -> Resolver {
        Resolver { debuginfod, ..self }
    }

    /// Whether it looks into files.
    pub(crate) fn opens_files(&self) -> bool {
        !self.opens_nothing
    }

    /// One answer per request, in the same order.
    pub fn resolve(&self, requests: &[(Module, Vec<u64>)]) -> Vec<Names> {
        let progress = self.progress.as_deref().unwrap_or(&Silent);
        progress.start(requests.iter().map(|(_, addresses)| addresses.len() as u64).sum());
        let answers = requests
            .par_iter()
            .map(|(module, addresses)| {
                progress.module(&module.path);
                ModuleSource::new(self, module).names(self, addresses, progress)
            })
            .collect();
        progress.finish();
        answers
    }

    /// The file that has a module's names.
    fn open(&self, module: &Module, progress: &dyn Progress) -> OpenedFile {
        if let Some(frames) = places::source_frames(&module.path) {
            return OpenedFile::Place(frames);
        }
        if let Some(function) = InterpretedFunction::of_path(module.path.as_bytes()) {
            return OpenedFile::Interpreted(function);
        }
        if self.opens_nothing {
            return OpenedFile::Nothing(LookupFailure::Missing);
        }
        let debug = Places { debug_dir: &self.debug_dir, debuginfod: &self.debuginfod, progress };
        let file = match elf::open(module) {
            Ok(file) => Ok(file),
            // The file is missing or another one, but its debug file may still be there, and has its id.
            Err(failure @ (LookupFailure::Missing | LookupFailure::Changed)) => {
                debug.by_build_id(&module.build_id).ok_or(failure)
            }
            Err(failure) => Err(failure),
        };
        match file {
            Ok(file) => {
                let debug = debug.debug_of(&file);
                OpenedFile::File(Box::new(SymbolFile::open(&file, debug.as_ref())))
            }
            Err(failure) => OpenedFile::Nothing(failure),
        }
    }
}

/// Where a module's names are to be had from.
struct ModuleSource {
    module: Module,
    table: Option<Arc<Table>>,
    /// Opened when it is needed first.
    file: OnceLock<OpenedFile>,
}

impl ModuleSource {
    fn new(resolver: &Resolver, module: &Module) -> ModuleSource {
        let table = resolver.tables.of(module);
        ModuleSource { module: module.clone(), table, file: OnceLock::new() }
    }

    fn names(&self, resolver: &Resolver, addresses: &[u64], progress: &dyn Progress) -> Names {
        let of_file = |addresses: &[u64]| {
            self.file.get_or_init(|| resolver.open(&self.module, progress)).names(addresses, progress)
        };
        let Some(table) = &self.table else { return of_file(addresses) };
        if table.failure().is_some() {
            let names = of_file(addresses);
            if names.failure.is_none() || !table.has_names() && names.failure != Some(LookupFailure::Missing)
            {
                return names;
            }
        }
        let unknown = table.unknown(addresses);
        let mut names = table.names(addresses);
        if !unknown.is_empty() {
            let more = of_file(&unknown);
            names.frames.extend(more.frames);
            names.failure = names.failure.or(more.failure);
        }
        names
    }
}

/// What there is to look up a module's addresses in.
enum OpenedFile {
    Place(Vec<SourceFrame>),
    /// Its addresses are lines.
    Interpreted(InterpretedFunction),
    File(Box<SymbolFile>),
    Nothing(LookupFailure),
}

impl OpenedFile {
    fn names(&self, addresses: &[u64], progress: &dyn Progress) -> Names {
        match self {
            OpenedFile::Place(frames) => {
                let frames = addresses.iter().map(|address| (*address, frames.clone())).collect();
                Names { frames, failure: None }
            }
            OpenedFile::Interpreted(function) => {
                let frames = addresses.iter().map(|line| (*line, vec![at_line(function, *line)])).collect();
                Names { frames, failure: None }
            }
            OpenedFile::File(opened) => opened.names(addresses, progress),
            OpenedFile::Nothing(failure) => Names::none(failure.clone()),
        }
    }
}

/// Looks up addresses a few at a time, as they become known: a module stays open after the first of them.
pub struct CachedResolver {
    resolver: Resolver,
    sources: HashMap<Module, ModuleSource>,
}

impl CachedResolver {
    /// Nothing is open yet.
    pub fn new(resolver: Resolver) -> CachedResolver {
        CachedResolver { resolver, sources: HashMap::new() }
    }

    /// One answer per request, in the same order.
    pub fn resolve(&mut self, requests: &[(Module, Vec<u64>)]) -> Vec<Names> {
        let CachedResolver { resolver, sources } = self;
        let names = requests.iter().map(|(module, addresses)| {
            let source = sources.entry(module.clone()).or_insert_with(|| ModuleSource::new(resolver, module));
            source.names(resolver, addresses, &Silent)
        });
        names.collect()
    }
}

fn at_line(function: &InterpretedFunction, line: u64) -> SourceFrame {
    SourceFrame {
        function: Some(function.name.clone()).filter(|name| !name.is_empty()),
        file: Some(function.file.clone()).filter(|file| !file.is_empty()),
        line: u32::try_from(line).ok().filter(|line| *line > 0),
        inlined: false,
    }
}
