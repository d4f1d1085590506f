//! The files that addresses point into: found by name, read without mapping, checked by build id.

use std::fs::File;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection, ReadCache};

use crate::names::{LookupFailure, Module};

/// What is read of an ELF file up front; the rest is read when it is needed.
pub(super) struct ElfFile {
    pub(super) path: PathBuf,
    pub(super) build_id: Vec<u8>,
    pub(super) has_dwarf: bool,
    /// Name and checksum of its debug file.
    pub(super) debug_link: Option<(String, u32)>,
    /// Name and build id of the file that its debug information shares with others.
    pub(super) shared_debug: Option<(String, Vec<u8>)>,
}

/// Runs `f` over the parsed file; the error is a short text.
pub(super) fn with_object<T>(
    path: &Path,
    f: impl FnOnce(&object::File<'_, &ReadCache<File>>) -> T,
) -> Result<T, String> {
    // Who opens a pipe waits for its writer: a debug link may name one.
    let kind = std::fs::metadata(path).map_err(|e| e.kind().to_string())?;
    if !kind.is_file() {
        return Err("not a regular file".to_owned());
    }
    let cache = ReadCache::new(File::open(path).map_err(|e| e.kind().to_string())?);
    let object = object::File::parse(&cache).map_err(|e| e.to_string())?;
    Ok(f(&object))
}

/// Reads the identity of an ELF file.
pub(super) fn read(path: &Path) -> Result<ElfFile, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    with_object(path, |o| ElfFile {
        path: path.to_path_buf(),
        build_id: o.build_id().ok().flatten().unwrap_or_default().to_vec(),
        has_dwarf: o.section_by_name(".debug_info").is_some_and(|s| s.size() > 0),
        debug_link: o.gnu_debuglink().ok().flatten().map(|(name, crc)| (text(name), crc)),
        shared_debug: o.gnu_debugaltlink().ok().flatten().map(|(name, id)| (text(name), id.to_vec())),
    })
}

impl Module {
    /// The module that a file is now.
    ///
    /// # Errors
    /// When it is missing or no ELF file.
    pub fn of_file(path: impl AsRef<Path>) -> Result<Module, LookupFailure> {
        let path = std::fs::canonicalize(path).map_err(|_| LookupFailure::Missing)?;
        let ElfFile { build_id, .. } = read(&path).map_err(LookupFailure::Unreadable)?;
        Ok(Module { path: path.to_string_lossy().into_owned(), build_id })
    }
}

/// The file of a module, if it is still the one that ran.
pub(super) fn open(module: &Module) -> Result<ElfFile, LookupFailure> {
    let path = module.path.strip_suffix(" (deleted)").unwrap_or(&module.path);
    let replaced = path.len() != module.path.len();
    if !path.starts_with('/') {
        return Err(LookupFailure::NotAFile);
    }
    match std::fs::metadata(path) {
        Ok(m) if !m.is_file() => return Err(LookupFailure::NotAFile),
        Ok(_) => {}
        Err(_) => return Err(LookupFailure::Missing),
    }
    let file = read(Path::new(path)).map_err(LookupFailure::Unreadable)?;
    // A file that was deleted while it ran is the same one again only if its build id says so.
    if file.build_id != module.build_id || (replaced && module.build_id.is_empty()) {
        return Err(LookupFailure::Changed);
    }
    Ok(file)
}
