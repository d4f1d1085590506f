//! The shared library that is loaded into other people's programs: it must keep none from starting. It
//! imports only functions that glibc since 2.17 and musl both have, exports the hooks and nothing else,
//! needs no other library than libc, and reaches its thread-local words without a call.

use std::path::{Path, PathBuf};
use std::process::Command;

use object::elf;
use object::read::elf::{Dyn as _, ElfFile64, Sym as _};
use object::{Endianness, Object as _, RelocationFlags};

use super::tree::{Tree, root};

/// What it may import. Each is in glibc 2.17 and before, and in musl.
const IMPORTS: &[&str] = &[
    "__errno_location",
    "abort",
    "bcmp",
    "clock_gettime",
    "getauxval",
    "getenv",
    "memcpy",
    "memmove",
    "memset",
    "strlen",
];
/// What the linker's own start-up files import weakly: absence is no error.
const WEAK_IMPORTS: &[&str] =
    &["__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "__cxa_finalize"];

/// What it exports: the hooks, and what `heapscribe.h` looks for.
const EXPORTS: &[&str] = &[
    "__deregister_frame",
    "__deregister_frame_info",
    "__register_frame",
    "__register_frame_info",
    "_Exit",
    "_exit",
    "aligned_alloc",
    "calloc",
    "cfree",
    "dlclose",
    "free",
    "free_aligned_sized",
    "free_sized",
    "heapscribe_api_mark",
    "heapscribe_api_pool_alloc",
    "heapscribe_api_pool_free",
    "heapscribe_api_pool_realloc",
    "heapscribe_api_section_begin",
    "heapscribe_api_section_end",
    "heapscribe_api_snapshot",
    "heapscribe_api_stats",
    "malloc",
    "malloc_usable_size",
    "memalign",
    "posix_memalign",
    "pvalloc",
    "quick_exit",
    "realloc",
    "reallocarray",
    "valloc",
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
    let outcome = build().and_then(|path| {
        let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        read(&bytes).map_err(|e| format!("{}: {e}", path.display()))
    });
    match outcome {
        Ok(library) => judge(&library),
        Err(e) => vec![e],
    }
}

/// Builds it as the program's build script does, in a target directory of its own.
fn build() -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), PathBuf::from)
        .join("tidy");
    let mut command = Command::new(cargo);
    command.args(["rustc", "--quiet", "-p", "heapscribe-preload", "--lib"]);
    command.args(["--crate-type", "cdylib", "--profile", "preload", "--target-dir"]).arg(&target);
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        command.env_remove(name);
    }
    let output = command.current_dir(root()).output().map_err(|e| format!("cargo: {e}"))?;
    let path = target.join(Path::new("preload/libheapscribe_preload.so"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(path) } else { Err(format!("the library does not build: {said}")) }
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

fn judge(library: &Library) -> Vec<String> {
    let mut found = Vec::new();
    differ(&mut found, "imports", &library.imports, IMPORTS, false);
    differ(&mut found, "imports weakly", &library.weak_imports, WEAK_IMPORTS, false);
    differ(&mut found, "exports", &library.exports, EXPORTS, true);
    differ(&mut found, "needs", &library.needed, NEEDED, false);
    for version in library.versions.iter().filter(|version| !is_old(version)) {
        found.push(format!("the library wants symbols of version {version}"));
    }
    if library.calls_for_thread_locals || !library.has_thread_locals_at_offset {
        found.push(
            "the library reaches thread-local words through __tls_get_addr, which may allocate".to_owned(),
        );
    }
    found
}

fn differ(found: &mut Vec<String>, verb: &str, is: &[String], may: &[&str], all: bool) {
    for name in is.iter().filter(|name| !may.contains(&name.as_str())) {
        found.push(format!("the library {verb} {name}"));
    }
    for name in may.iter().filter(|name| all && !is.iter().any(|n| n == *name)) {
        found.push(format!("the library no longer {verb} {name}"));
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
            imports: names(IMPORTS),
            exports: names(EXPORTS),
            has_thread_locals_at_offset: true,
            ..Library::default()
        };
        assert!(judge(&good).is_empty(), "{:?}", judge(&good));
        let bad = Library {
            imports: names(&["memcpy", "dlsym"]),
            exports: names(&EXPORTS[1..]),
            needed: names(&["libc.so.6", "libgcc_s.so.1"]),
            versions: names(&["GLIBC_2.2.5", "GLIBC_2.34", "GCC_3.0"]),
            calls_for_thread_locals: true,
            ..Library::default()
        };
        let found = judge(&bad);
        assert_eq!(found.len(), 6, "{found:?}");
        for (line, word) in
            found.iter().zip(["dlsym", EXPORTS[0], "libgcc_s", "GLIBC_2.34", "GCC_3.0", "__tls"])
        {
            assert!(line.contains(word), "{line}");
        }
    }

    #[test]
    fn the_repository_keeps_it() {
        crate::tidy::assert_clean(check);
    }
}
