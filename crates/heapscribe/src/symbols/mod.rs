//! Addresses to names: function, file and line for every address of a trace, inlined calls included.
//!
//! *You bring* modules as they were recorded (path and build id) and addresses as they stand in the file,
//! return addresses already moved back into their call. *It guarantees* that a name comes from the very
//! file that ran: a file whose build id differs is not used, and that is said. *It refuses* nothing else:
//! what cannot be named keeps its module and offset.
//!
//! A module is opened once in a run, all its addresses are looked up together, modules in parallel.

mod debug_file;
mod demangle;
mod dlang;
mod elf;
mod lookup;
mod progress;
pub(crate) mod stable;

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

use rayon::prelude::*;

use self::lookup::Opened;
use self::progress::Progress;
pub(crate) use self::progress::draw_no_progress;
use crate::convert::places;

/// A module as it was recorded.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Module {
    /// Its path when it ran.
    pub(crate) path: String,
    /// Its GNU build id; empty when it has none.
    pub(crate) build_id: Vec<u8>,
}

/// A function at an address: the one whose code it is, or one that was inlined into it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Step {
    /// Its name, as the source has it.
    pub(crate) function: Option<String>,
    /// The source file.
    pub(crate) file: Option<String>,
    /// The line in it.
    pub(crate) line: Option<u32>,
    /// Whether its code lies inside the function that follows.
    pub(crate) inlined: bool,
}

/// Why a module has no names, or only the names of functions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Trouble {
    /// It never was a file: the kernel's page, code made at run time.
    NotAFile,
    /// The file no longer exists.
    Gone,
    /// There is another file of that name now.
    Changed,
    /// The file is there, but is no ELF file that can be read.
    Unreadable(String),
    /// Functions are known from the symbol table, lines are not.
    NoDebugInfo,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::NotAFile => f.write_str("is not a file"),
            Trouble::Gone => f.write_str("no longer exists"),
            Trouble::Changed => f.write_str("has changed since the recording"),
            Trouble::Unreadable(why) => write!(f, "cannot be read: {why}"),
            Trouble::NoDebugInfo => f.write_str("has no debug information"),
        }
    }
}

/// What is known about the addresses asked for in one module.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// For each address the functions there, the innermost first; the last one is not inlined.
    steps: HashMap<u64, Vec<Step>>,
    /// What stood in the way.
    pub(crate) trouble: Option<Trouble>,
}

impl Names {
    /// Functions at the address, the innermost first; empty when nothing is known.
    pub(crate) fn at(&self, address: u64) -> &[Step] {
        self.steps.get(&address).map_or(&[], Vec::as_slice)
    }

    fn none(trouble: Trouble) -> Names {
        Names { steps: HashMap::new(), trouble: Some(trouble) }
    }
}

/// Looks up addresses of many modules.
pub(crate) struct Resolver {
    /// Where separate debug files lie.
    pub(crate) debug_dir: PathBuf,
}

impl Resolver {
    /// One answer per request, in the same order.
    pub(crate) fn resolve(&self, requests: &[(Module, Vec<u64>)]) -> Vec<Names> {
        let progress = Progress::start(requests.iter().map(|(_, a)| a.len() as u64).sum());
        let answers = requests
            .par_iter()
            .map(|(module, addresses)| {
                progress.show(&module.path);
                self.resolve_module(module, addresses, &progress)
            })
            .collect();
        progress.finish();
        answers
    }

    fn resolve_module(&self, module: &Module, addresses: &[u64], progress: &Progress) -> Names {
        self.find(module).names(addresses, progress)
    }

    /// Where a module's names are to be had from.
    fn find(&self, module: &Module) -> Found {
        if let Some(steps) = places::steps(&module.path) {
            return Found::Place(steps);
        }
        let file = match elf::open(module) {
            Ok(file) => Ok(file),
            // The file is gone or another one, but its debug file may still be there, and has its id.
            Err(trouble @ (Trouble::Gone | Trouble::Changed)) => {
                debug_file::by_build_id(&module.build_id, &self.debug_dir).ok_or(trouble)
            }
            Err(trouble) => Err(trouble),
        };
        match file {
            Ok(file) => {
                let debug = debug_file::find(&file, &self.debug_dir);
                Found::File(Box::new(Opened::open(&file, debug.as_ref())))
            }
            Err(trouble) => Found::Nothing(trouble),
        }
    }
}

/// What there is to look up a module's addresses in.
enum Found {
    Place(Vec<Step>),
    File(Box<Opened>),
    Nothing(Trouble),
}

impl Found {
    fn names(&self, addresses: &[u64], progress: &Progress) -> Names {
        match self {
            Found::Place(steps) => {
                let steps = addresses.iter().map(|address| (*address, steps.clone())).collect();
                Names { steps, trouble: None }
            }
            Found::File(opened) => opened.names(addresses, progress),
            Found::Nothing(trouble) => Names::none(trouble.clone()),
        }
    }
}

/// Looks up addresses a few at a time, as they become known: a module stays open after the first of them.
pub(crate) struct Kept {
    resolver: Resolver,
    found: HashMap<Module, Found>,
}

impl Kept {
    /// Nothing is open yet.
    pub(crate) fn new(resolver: Resolver) -> Kept {
        Kept { resolver, found: HashMap::new() }
    }

    /// One answer per request, in the same order.
    pub(crate) fn resolve(&mut self, requests: &[(Module, Vec<u64>)]) -> Vec<Names> {
        let Kept { resolver, found } = self;
        let names = requests.iter().map(|(module, addresses)| {
            let found = found.entry(module.clone()).or_insert_with(|| resolver.find(module));
            found.names(addresses, &Progress::hidden())
        });
        names.collect()
    }
}

#[cfg(test)]
mod tests;
