//! Frames of the allocator itself, which profiles of other programs have at the top of every stack: jemalloc's and
//! tcmalloc's own functions, valgrind's replacements. All memory is allocated in them, so that they tell nothing; `jeprof`
//! and `pprof` leave them out, too. A function of the program that is called `my_malloc` is none of them.

use heapscribe_symbols::{NamedFrame, short};

/// What the files are called that replace the heap.
const FILES: [&str; 5] = ["libjemalloc", "libtcmalloc", "libmimalloc", "vgpreload_", "libprofiler"];

/// Functions that ask for memory.
const NAMES: [&str; 12] = [
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "posix_memalign",
    "aligned_alloc",
    "valloc",
    "pvalloc",
    "mallocx",
    "rallocx",
    "xallocx",
];

/// What allocators put in front of these, and of their own functions.
const PREFIXES: [&str; 6] = ["je_", "_rjem_", "tc_", "tcmalloc", "__libc_", "mi_"];

/// jemalloc's functions that note a stack: it takes the stack in one of them.
const PROFILING: [&str; 5] =
    ["prof_backtrace", "prof_alloc_prep", "prof_tctx_create", "imalloc", "malloc_default"];

/// Whether a frame is of an allocator.
pub(crate) fn is_allocator(frame: &NamedFrame) -> bool {
    let is_file = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        FILES.iter().any(|file| name.starts_with(file))
    };
    if [&frame.module, &frame.file].into_iter().flatten().any(|path| is_file(path)) {
        return true;
    }
    let Some(function) = frame.function.as_deref() else { return false };
    let name = short(function);
    let bare = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(&name);
    let is_jemallocs = PROFILING.iter().any(|part| bare.starts_with(part));
    NAMES.contains(&bare)
        || is_jemallocs
        || name.starts_with("operator new")
        || name.starts_with("tcmalloc::")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(function: &str, file: &str, expected: bool) {
        let file = Some(file.to_owned()).filter(|file| !file.is_empty());
        let frame = NamedFrame { function: Some(function.to_owned()), file, ..NamedFrame::default() };
        assert_eq!(is_allocator(&frame), expected, "{function} {file:?}", file = frame.file);
    }

    #[test]
    fn allocators_are_known_by_name_and_by_file() {
        check("malloc", "", true);
        check("je_malloc", "", true);
        check("_rjem_calloc", "", true);
        check("imalloc_body", "jemalloc.c", true);
        check("prof_backtrace_impl", "", true);
        check("operator new(unsigned long)", "", true);
        check("tcmalloc::ThreadCache::Allocate", "", true);
        check("0x4848899", "/usr/libexec/valgrind/vgpreload_dhat-amd64-linux.so", true);
        check("my_malloc", "", false);
        check("mallocate", "", false);
        check("main", "/src/libjemalloc/main.c", false);
    }
}
