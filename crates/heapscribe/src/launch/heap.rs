//! The heap that a program is to have: which libraries that takes, and what they are told.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSymbol as _};

use super::preload::{self, Library};
use crate::cli::{HeapArgs, HeapChoice};
use heapscribe_diagnostics::Problem;

/// What exports this is a heap to preload as it is.
const MALLOC: &str = "malloc";
/// What exports this brings a heap as a table of functions, see `heapscribe_heap.h`.
const GET_HEAP: &str = "heapscribe_get_heap";
/// What exports this was made by heapscribe-interpose.
const SHELL: &str = "heapscribe_heap_shell";

/// Libraries to preload, in this order, and variables for them.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    pub(crate) libraries: Vec<PathBuf>,
    pub(crate) variables: Vec<(&'static str, OsString)>,
}

impl Heap {
    /// What was asked for.
    pub(crate) fn new(args: &HeapArgs, choice: &HeapChoice) -> Result<Heap> {
        let libraries = match choice {
            HeapChoice::Tlsf => vec![preload::place(preload::TLSF)?],
            HeapChoice::System => vec![preload::place(preload::ORIGINAL)?],
            HeapChoice::Library(path) => brought(path, !args.only.is_empty())?,
        };
        Ok(Heap { libraries, variables: variables(args) })
    }
}

/// The libraries for a heap that somebody else has built.
fn brought(path: &Path, is_choosy: bool) -> Result<Vec<PathBuf>> {
    let path = path.canonicalize().with_context(|| format!("{} can not be read", path.display()))?;
    if !preload::is_listable(&path) {
        let what = format!("{} can not be preloaded: its path has a blank or a colon", path.display());
        return Err(Problem::new(what, "put it where the path has none").into());
    }
    let bytes = std::fs::read(&path).with_context(|| format!("{} can not be read", path.display()))?;
    let exports = exports(&bytes).map_err(|e| {
        let what = format!("{} is no library of this machine: {e}", path.display());
        Problem::new(what, "a heap is a shared library (.so), built for x86_64 and 64 bits")
    })?;
    let adapter: Option<Library> = match exports {
        Exports { malloc: true, shell: false, .. } if is_choosy => {
            let what =
                format!("{} can not be kept to some programs: it knows nothing of that", path.display());
            return Err(
                Problem::new(what, "leave --only out, or build the heap with heapscribe-interpose").into()
            );
        }
        Exports { malloc: true, .. } => None,
        Exports { table: true, .. } => Some(preload::TABLE),
        _ => {
            let what = format!("{} is no heap: it exports neither {MALLOC} nor {GET_HEAP}", path.display());
            return Err(Problem::new(what, "docs/heaps.md says what a heap of your own has to have").into());
        }
    };
    let adapter = adapter.map(preload::place).transpose()?;
    Ok(adapter.into_iter().chain([path]).collect())
}

/// What a library offers.
struct Exports {
    malloc: bool,
    shell: bool,
    table: bool,
}

fn exports(bytes: &[u8]) -> object::Result<Exports> {
    let file = ElfFile64::<object::Endianness>::parse(bytes)?;
    let has = |name: &str| file.dynamic_symbols().any(|s| s.is_definition() && s.name() == Ok(name));
    Ok(Exports { malloc: has(MALLOC), shell: has(SHELL), table: has(GET_HEAP) })
}

fn variables(args: &HeapArgs) -> Vec<(&'static str, OsString)> {
    let size = |name, bytes: Option<u64>| bytes.map(|bytes| (name, OsString::from(bytes.to_string())));
    let flag = |name, is_set: bool, value: &str| is_set.then(|| (name, OsString::from(value)));
    [
        size("HEAPSCRIBE_POOL", args.pool),
        size("HEAPSCRIBE_POOL_GROW", args.grow),
        size("HEAPSCRIBE_POOL_MAX", args.pool_max),
        size("HEAPSCRIBE_POOL_CACHE", args.cache),
        flag("HEAPSCRIBE_POOL_LOCK", args.lock, "yes"),
        flag("HEAPSCRIBE_POOL_HUGE_PAGES", args.huge_pages, "yes"),
        (!args.only.is_empty()).then(|| ("HEAPSCRIBE_HEAP_ONLY", args.only.join(OsStr::new(":")))),
        flag("HEAPSCRIBE_POOL_PREFAULT", args.no_prefault, "no"),
    ]
    .into_iter()
    .flatten()
    .collect()
}
