//! The shared libraries that are loaded into other people's programs, the recorder's and those of heaps: they must
//! keep none from starting. They need only functions that glibc since 2.17 and musl both have, export what
//! they stand for and nothing else, need no other library than libc, and reach their thread-local words without
//! a call.

use std::path::PathBuf;
use std::process::Command;

use object::elf;
use object::read::elf::{Dyn as _, ElfFile64, Sym as _};
use object::{Endianness, Object as _, RelocationFlags};

use crate::sources::{Tree, root};

/// What they may import, weakly: a program without libc is to start as well. Each is in glibc 2.17 and before, and
/// in musl.
const IMPORTS: &[&str] =
    &["__errno_location", "abort", "bcmp", "getauxval", "getenv", "memcpy", "memmove", "memset", "strlen"];
/// What the linker's own start-up files import weakly: absence is no error.
const WEAK_IMPORTS: &[&str] = &[
    "__gmon_start__",
    "_ITM_deregisterTMCloneTable",
    "_ITM_registerTMCloneTable",
    "__cxa_finalize",
    // The heap of a process that is not understood, on glibc.
    "__libc_calloc",
    "__libc_free",
    "__libc_malloc",
    "__libc_memalign",
    "__libc_realloc",
];

/// The functions of the heap.
const FAMILY: &[&str] = &[
    "aligned_alloc",
    "calloc",
    "cfree",
    "free",
    "free_aligned_sized",
    "free_sized",
    "malloc",
    "malloc_usable_size",
    "memalign",
    "posix_memalign",
    "pvalloc",
    "realloc",
    "reallocarray",
    "valloc",
];
/// What the recorder exports besides: other hooks, and what `heapscribe.h` looks for.
const RECORDER: &[&str] = &[
    "__deregister_frame",
    "__deregister_frame_info",
    "__register_frame",
    "__register_frame_info",
    "dlclose",
    "dlopen",
    "heapscribe_api_mark",
    "heapscribe_api_pool_alloc",
    "heapscribe_api_pool_free",
    "heapscribe_api_pool_realloc",
    "heapscribe_api_section_begin",
    "heapscribe_api_section_end",
    "heapscribe_api_snapshot",
    "heapscribe_api_stats",
];
/// C++'s operators new and delete, of the recorder.
const OPERATORS: &[&str] = &[
    "_ZdaPv",
    "_ZdaPvRKSt9nothrow_t",
    "_ZdaPvSt11align_val_t",
    "_ZdaPvSt11align_val_tRKSt9nothrow_t",
    "_ZdaPvm",
    "_ZdaPvmSt11align_val_t",
    "_ZdlPv",
    "_ZdlPvRKSt9nothrow_t",
    "_ZdlPvSt11align_val_t",
    "_ZdlPvSt11align_val_tRKSt9nothrow_t",
    "_ZdlPvm",
    "_ZdlPvmSt11align_val_t",
    "_Znam",
    "_ZnamRKSt9nothrow_t",
    "_ZnamSt11align_val_t",
    "_ZnamSt11align_val_tRKSt9nothrow_t",
    "_Znwm",
    "_ZnwmRKSt9nothrow_t",
    "_ZnwmSt11align_val_t",
    "_ZnwmSt11align_val_tRKSt9nothrow_t",
];
/// What heaps do: functions that tell of them, what the recorder knows them by, and what finds libraries that are bound
/// past them.
const HEAP: &[&str] =
    &["dlopen", "heapscribe_heap_shell", "mallinfo", "mallinfo2", "malloc_stats", "malloc_trim", "mallopt"];
/// What glibc calls them besides: programs that hook malloc themselves go on to these.
const GLIBC_NAMES: &[&str] =
    &["__libc_calloc", "__libc_free", "__libc_malloc", "__libc_memalign", "__libc_realloc"];
/// By this the recorder knows that a heap may call the hooks itself.
const NESTS: &[&str] = &["heapscribe_heap_nests"];
/// Hooks of the end of a process.
const ENDS: &[&str] = &["_Exit", "_exit", "quick_exit"];
/// Hooks of its going on as another program.
const EXECS: &[&str] = &["execv", "execve", "execvp", "execvpe", "fexecve"];
/// Those of them whose arguments stand one by one, and the newest.
const OTHER_EXECS: &[&str] = &["execl", "execle", "execlp", "execveat", "posix_spawn", "posix_spawnp"];

/// Hooks of what it gives up.
const SANDBOXES: &[&str] = &["prctl", "syscall"];

/// Hooks of memory that the program maps itself.
const MAPPINGS: &[&str] = &["brk", "mmap", "mmap64", "mprotect", "mremap", "munmap", "sbrk"];

/// A library: its package and feature, and what it exports.
struct Kind {
    package: &'static str,
    feature: Option<&'static str>,
    exports: &'static [&'static [&'static str]],
    /// What it may import strongly, as its code is also an archive.
    strong: &'static [&'static str],
}

const fn heap(feature: &'static str) -> Kind {
    Kind { package: "heapscribe-heap-libs", feature: Some(feature), exports: &[FAMILY, HEAP], strong: &[] }
}

const KINDS: [Kind; 5] = [
    Kind {
        package: "heapscribe-preload",
        feature: None,
        exports: &[FAMILY, RECORDER, OPERATORS, ENDS, EXECS, OTHER_EXECS, SANDBOXES, MAPPINGS],
        strong: &[],
    },
    Kind { exports: &[FAMILY, HEAP, GLIBC_NAMES], ..heap("tlsf") },
    heap("original"),
    Kind { exports: &[FAMILY, HEAP, NESTS], strong: IMPORTS, ..heap("table") },
    Kind { exports: &[FAMILY, HEAP, ENDS, EXECS], ..heap("heaplog") },
];

/// Libraries that it may need.
const NEEDED: &[&str] = &["libc.so.6"];
/// The newest version of glibc whose symbols it may want.
const GLIBC: (u32, u32) = (2, 17);

/// What a shared library asks of the program that loads it.
#[derive(Clone, Default, Debug)]
struct Library {
    imports: Vec<String>,
    weak_imports: Vec<String>,
    exports: Vec<String>,
    needed: Vec<String>,
    versions: Vec<String>,
    /// Some code finds thread-local words through a call of the loader's.
    calls_for_thread_locals: bool,
    /// Some code finds them at an offset from the thread pointer.
    has_thread_locals_at_offset: bool,
}

pub(crate) fn check(_tree: &Tree) -> Vec<String> {
    KINDS.iter().flat_map(check_kind).collect()
}

fn check_kind(kind: &Kind) -> Vec<String> {
    let outcome = kind.build().and_then(|path| {
        let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        read(&bytes).map_err(|e| format!("{}: {e}", path.display()))
    });
    match outcome {
        Ok(library) => judge(&kind.name(), &library, kind.exports, kind.strong),
        Err(e) => vec![e],
    }
}

impl Kind {
    fn name(&self) -> String {
        self.feature.map_or_else(|| "the recorder".to_owned(), |feature| format!("the library of {feature}"))
    }

    /// Builds it as the program's build script does, in a target directory of its own.
    fn build(&self) -> Result<PathBuf, String> {
        let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| root().join("target"), PathBuf::from)
            .join("tidy");
        let mut command = Command::new(cargo);
        command.args(["rustc", "--quiet", "-p", self.package, "--lib"]);
        command.args(["--crate-type", "cdylib", "--profile", "preload", "--target-dir"]).arg(&target);
        command.args(self.feature.iter().flat_map(|feature| ["--features", feature]));
        for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
            command.env_remove(name);
        }
        let output = command.current_dir(root()).output().map_err(|e| format!("cargo: {e}"))?;
        let path = target.join(format!("preload/lib{}.so", self.package.replace('-', "_")));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            Ok(path)
        } else {
            Err(format!("{} does not build: {said}", self.name()))
        }
    }
}

fn read(bytes: &[u8]) -> object::Result<Library> {
    let file = ElfFile64::<Endianness>::parse(bytes)?;
    let endian = file.endian();
    let mut library = Library::default();
    let table = file.elf_dynamic_symbol_table();
    for (_, symbol) in table.enumerate() {
        let name = String::from_utf8_lossy(symbol.name(endian, table.strings())?).into_owned();
        match (symbol.is_undefined(endian), symbol.st_bind()) {
            _ if name.is_empty() => {}
            (true, elf::STB_WEAK) => library.weak_imports.push(name),
            (true, _) => library.imports.push(name),
            (false, elf::STB_LOCAL) => {}
            (false, _) => library.exports.push(name),
        }
    }
    (library.needed, library.versions) = (needed(&file, bytes)?, versions(&file, bytes)?);
    for kind in relocation_kinds(&file) {
        library.calls_for_thread_locals |=
            matches!(kind, elf::R_X86_64_DTPMOD64 | elf::R_X86_64_DTPOFF64 | elf::R_X86_64_TLSDESC);
        library.has_thread_locals_at_offset |= kind == elf::R_X86_64_TPOFF64;
    }
    Ok(library)
}

fn needed(file: &ElfFile64<'_, Endianness>, bytes: &[u8]) -> object::Result<Vec<String>> {
    let endian = file.endian();
    let mut names = Vec::new();
    if let Some((entries, strings)) = file.elf_section_table().dynamic(endian, bytes)? {
        let strings = file.elf_section_table().strings(endian, bytes, strings)?;
        for entry in entries.iter().filter(|entry| entry.tag(endian) == elf::DT_NEEDED) {
            names.push(String::from_utf8_lossy(entry.string(endian, strings)?).into_owned());
        }
    }
    Ok(names)
}

fn versions(file: &ElfFile64<'_, Endianness>, bytes: &[u8]) -> object::Result<Vec<String>> {
    let endian = file.endian();
    let mut names = Vec::new();
    if let Some((mut needs, strings)) = file.elf_section_table().gnu_verneed(endian, bytes)? {
        let strings = file.elf_section_table().strings(endian, bytes, strings)?;
        while let Some((_, mut wanted)) = needs.next()? {
            while let Some(version) = wanted.next()? {
                names.push(String::from_utf8_lossy(version.name(endian, strings)?).into_owned());
            }
        }
    }
    Ok(names)
}

fn relocation_kinds<'a>(
    file: &'a ElfFile64<'_, Endianness>,
) -> impl Iterator<Item = elf::RelocationType> + 'a {
    let relocations = file.dynamic_relocations().into_iter().flatten();
    relocations.filter_map(|(_, relocation)| match relocation.flags() {
        RelocationFlags::Elf { r_type } => Some(r_type),
        _ => None,
    })
}

fn judge(name: &str, library: &Library, exports: &[&[&str]], strong: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    differ(&mut found, "imports strongly", &library.imports, strong, false);
    differ(&mut found, "imports weakly", &library.weak_imports, &[IMPORTS, WEAK_IMPORTS].concat(), false);
    differ(&mut found, "exports", &library.exports, &exports.concat(), true);
    differ(&mut found, "needs", &library.needed, NEEDED, false);
    for version in library.versions.iter().filter(|version| !is_old(version)) {
        found.push(format!("wants symbols of version {version}"));
    }
    if library.calls_for_thread_locals || !library.has_thread_locals_at_offset {
        found.push("reaches thread-local words through __tls_get_addr, which may allocate".to_owned());
    }
    found.iter().map(|line| format!("{name} {line}")).collect()
}

fn differ(found: &mut Vec<String>, verb: &str, is: &[String], may: &[&str], all: bool) {
    for name in is.iter().filter(|name| !may.contains(&name.as_str())) {
        found.push(format!("{verb} {name}"));
    }
    for name in may.iter().filter(|name| all && !is.iter().any(|n| n == *name)) {
        found.push(format!("no longer {verb} {name}"));
    }
}

/// Whether this is a version of glibc that is old enough: `GLIBC_2.2.5`.
fn is_old(version: &str) -> bool {
    let mut numbers = version.strip_prefix("GLIBC_").unwrap_or("").split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) <= GLIBC,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn what_is_found() {
        let good = Library {
            weak_imports: names(IMPORTS),
            exports: names(FAMILY),
            has_thread_locals_at_offset: true,
            ..Library::default()
        };
        assert_eq!(judge("it", &good, &[FAMILY], &[]), [""; 0]);
        let bad = Library {
            imports: names(&["memcpy", "dlsym"]),
            exports: names(&FAMILY[1..]),
            needed: names(&["libc.so.6", "libgcc_s.so.1"]),
            versions: names(&["GLIBC_2.2.5", "GLIBC_2.34", "GCC_3.0"]),
            calls_for_thread_locals: true,
            ..Library::default()
        };
        let found = judge("it", &bad, &[FAMILY], IMPORTS);
        assert_eq!(found.len(), 6, "{found:?}");
        for (line, word) in
            found.iter().zip(["dlsym", FAMILY[0], "libgcc_s", "GLIBC_2.34", "GCC_3.0", "__tls"])
        {
            assert!(line.contains(word), "{line}");
        }
    }
}
