//! The heap for a program: which libraries to preload, and the variables that configure them.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSymbol as _};

use super::diagnose;
use super::preload::{self, Library, Preload};
use heapscribe_diagnostics::Problem;

/// What exports this is a heap to preload as it is.
const MALLOC: &str = "malloc";
/// What exports this brings a heap as a table of functions, see `heapscribe_heap.h`.
const GET_HEAP: &str = "heapscribe_get_heap";
/// What exports this was made by heapscribe-interpose.
const SHELL: &str = "heapscribe_heap_shell";

/// A heap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum HeapChoice {
    /// Pools, in bounded time.
    Tlsf,
    /// That of the program's libc.
    System,
    /// One that somebody else has built.
    Library(PathBuf),
}

/// What a heap is to be; without a value it has its own default.
#[derive(Clone, Debug)]
pub(crate) struct HeapOptions {
    /// Programs that get the heap; all of them when there is none.
    pub(crate) only: Vec<OsString>,
    pub(crate) pool_bytes: Option<u64>,
    pub(crate) grow_bytes: Option<u64>,
    pub(crate) pool_max_bytes: Option<u64>,
    pub(crate) cache_bytes: Option<u64>,
    pub(crate) lock: bool,
    pub(crate) huge_pages: bool,
    pub(crate) prefault: bool,
}

/// Refuses a program whose sanitizer brings its heap, which looks after the memory of all others.
pub(crate) fn reject_sanitizer(program: &OsStr) -> Result<(), Problem> {
    let Some(name) = diagnose::sanitizer_of(program) else { return Ok(()) };
    let what = format!("cannot put another heap under {}: {name} brings its own", program.display());
    Err(Problem::new(what, "build it without -fsanitize"))
}

/// What has to be preloaded for a heap.
pub(crate) fn preload(choice: &HeapChoice, options: &HeapOptions) -> Result<Preload> {
    let libraries = match choice {
        HeapChoice::Tlsf => vec![preload::place(preload::TLSF)?],
        HeapChoice::System => vec![preload::place(preload::ORIGINAL)?],
        HeapChoice::Library(path) => custom_heap(path, !options.only.is_empty())?,
    };
    Ok(Preload { libraries, variables: variables(options) })
}

/// The libraries for a heap that somebody else has built.
fn custom_heap(path: &Path, is_limited: bool) -> Result<Vec<PathBuf>> {
    let path = path.canonicalize().with_context(|| format!("cannot read {}", path.display()))?;
    if !preload::is_listable(&path) {
        let what = format!("cannot preload {}: its path contains a space or a colon", path.display());
        return Err(Problem::new(what, "move it to a path without spaces and colons").into());
    }
    let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let exports = exports(&bytes).map_err(|e| {
        let what = format!("{} is not a library for this machine: {e}", path.display());
        Problem::new(what, "a heap is a 64-bit shared library (.so) for x86_64")
    })?;
    let adapter: Option<Library> = match exports {
        Exports { malloc: true, shell: false, .. } if is_limited => {
            let what = format!("{} does not support --only", path.display());
            return Err(
                Problem::new(what, "remove --only, or build the heap with heapscribe-interpose").into()
            );
        }
        Exports { malloc: true, .. } => None,
        Exports { table: true, .. } => Some(preload::TABLE),
        _ => {
            let what =
                format!("{} is not a heap: it exports neither {MALLOC} nor {GET_HEAP}", path.display());
            return Err(Problem::new(what, "see docs/heaps.md for what a custom heap must export").into());
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

fn variables(options: &HeapOptions) -> Vec<(&'static str, OsString)> {
    let size = |name, bytes: Option<u64>| bytes.map(|bytes| (name, OsString::from(bytes.to_string())));
    let flag = |name, is_set: bool, value: &str| is_set.then(|| (name, OsString::from(value)));
    [
        size("HEAPSCRIBE_POOL", options.pool_bytes),
        size("HEAPSCRIBE_POOL_GROW", options.grow_bytes),
        size("HEAPSCRIBE_POOL_MAX", options.pool_max_bytes),
        size("HEAPSCRIBE_POOL_CACHE", options.cache_bytes),
        flag("HEAPSCRIBE_POOL_LOCK", options.lock, "yes"),
        flag("HEAPSCRIBE_POOL_HUGE_PAGES", options.huge_pages, "yes"),
        (!options.only.is_empty()).then(|| ("HEAPSCRIBE_HEAP_ONLY", options.only.join(OsStr::new(":")))),
        flag("HEAPSCRIBE_POOL_PREFAULT", options.prefault, "yes"),
    ]
    .into_iter()
    .flatten()
    .collect()
}
