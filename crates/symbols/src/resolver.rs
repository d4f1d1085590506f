//! Looks addresses up: a module is opened once in a run, all its addresses together, modules in parallel.

use std::collections::HashMap;
use std::path::PathBuf;

use heapscribe_analyze::answer::InterpretedFunction;
use rayon::prelude::*;

use crate::lookup::SymbolFile;
use crate::names::{LookupFailure, Module, Names, SourceFrame};
use crate::progress::{Progress, Silent};
use crate::{debug_file, elf, places};

/// Looks up addresses of many modules.
pub struct Resolver {
    debug_dir: PathBuf,
    progress: Option<Box<dyn Progress>>,
}

impl Resolver {
    /// Looks for separate debug files in `debug_dir`, and reports no progress.
    pub fn new(debug_dir: impl Into<PathBuf>) -> Resolver {
        Resolver { debug_dir: debug_dir.into(), progress: None }
    }

    /// The same, and reports to `progress` how far it is.
    #[must_use]
    pub fn with_progress(self, progress: impl Progress + 'static) -> Resolver {
        Resolver { progress: Some(Box::new(progress)), ..self }
    }

    /// One answer per request, in the same order.
    pub fn resolve(&self, requests: &[(Module, Vec<u64>)]) -> Vec<Names> {
        let progress = self.progress.as_deref().unwrap_or(&Silent);
        progress.start(requests.iter().map(|(_, addresses)| addresses.len() as u64).sum());
        let answers = requests
            .par_iter()
            .map(|(module, addresses)| {
                progress.module(&module.path);
                self.source_of(module).names(addresses, progress)
            })
            .collect();
        progress.finish();
        answers
    }

    /// Where a module's names are to be had from.
    fn source_of(&self, module: &Module) -> NameSource {
        if let Some(frames) = places::source_frames(&module.path) {
            return NameSource::Place(frames);
        }
        if let Some(function) = InterpretedFunction::of_path(module.path.as_bytes()) {
            return NameSource::Interpreted(function);
        }
        let file = match elf::open(module) {
            Ok(file) => Ok(file),
            // The file is missing or another one, but its debug file may still be there, and has its id.
            Err(failure @ (LookupFailure::Missing | LookupFailure::Changed)) => {
                debug_file::by_build_id(&module.build_id, &self.debug_dir).ok_or(failure)
            }
            Err(failure) => Err(failure),
        };
        match file {
            Ok(file) => {
                let debug = debug_file::find(&file, &self.debug_dir);
                NameSource::File(Box::new(SymbolFile::open(&file, debug.as_ref())))
            }
            Err(failure) => NameSource::Nothing(failure),
        }
    }
}

/// What there is to look up a module's addresses in.
enum NameSource {
    Place(Vec<SourceFrame>),
    /// Its addresses are lines.
    Interpreted(InterpretedFunction),
    File(Box<SymbolFile>),
    Nothing(LookupFailure),
}

impl NameSource {
    fn names(&self, addresses: &[u64], progress: &dyn Progress) -> Names {
        match self {
            NameSource::Place(frames) => {
                let frames = addresses.iter().map(|address| (*address, frames.clone())).collect();
                Names { frames, failure: None }
            }
            NameSource::Interpreted(function) => {
                let frames = addresses.iter().map(|line| (*line, vec![at_line(function, *line)])).collect();
                Names { frames, failure: None }
            }
            NameSource::File(opened) => opened.names(addresses, progress),
            NameSource::Nothing(failure) => Names::none(failure.clone()),
        }
    }
}

/// Looks up addresses a few at a time, as they become known: a module stays open after the first of them.
pub struct CachedResolver {
    resolver: Resolver,
    sources: HashMap<Module, NameSource>,
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
            let source = sources.entry(module.clone()).or_insert_with(|| resolver.source_of(module));
            source.names(addresses, &Silent)
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
