//! Where distributions put debug information: by build id, by debug link, and what `dwz` took out of it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::elf::{self, ElfFile};

/// A file with debug information, and the one it shares parts with.
pub(super) struct DebugFile {
    pub(super) path: PathBuf,
    pub(super) shared: Option<PathBuf>,
}

impl DebugFile {
    fn of(file: &ElfFile, debug_dir: &Path) -> DebugFile {
        DebugFile { path: file.path.clone(), shared: shared_file(file, debug_dir) }
    }
}

/// The debug information of a file: its own, or a separate file's.
pub(super) fn find(file: &ElfFile, debug_dir: &Path) -> Option<DebugFile> {
    if file.has_dwarf {
        return Some(DebugFile::of(file, debug_dir));
    }
    let separate = by_build_id(&file.build_id, debug_dir).or_else(|| by_link(file, debug_dir))?;
    Some(DebugFile::of(&separate, debug_dir))
}

/// `.build-id/xx/yyyy.debug`, if it says itself that it is the one.
pub(super) fn by_build_id(build_id: &[u8], debug_dir: &Path) -> Option<ElfFile> {
    let (first, rest) = build_id.split_first()?;
    let hex: String = rest.iter().map(|b| format!("{b:02x}")).collect();
    let path = debug_dir.join(".build-id").join(format!("{first:02x}")).join(format!("{hex}.debug"));
    elf::read(&path).ok().filter(|debug| debug.build_id == build_id)
}

/// The places where a debugger looks for the name in `.gnu_debuglink`.
fn by_link(file: &ElfFile, debug_dir: &Path) -> Option<ElfFile> {
    let (name, checksum) = file.debug_link.as_ref()?;
    let dir = file.path.parent()?;
    let below_root = dir.strip_prefix("/").unwrap_or(dir);
    [dir.join(name), dir.join(".debug").join(name), debug_dir.join(below_root).join(name)]
        .iter()
        .filter(|path| **path != file.path)
        .filter_map(|path| elf::read(path).ok())
        .find(|debug| belongs(debug, file, *checksum))
}

fn belongs(debug: &ElfFile, file: &ElfFile, checksum: u32) -> bool {
    if file.build_id.is_empty() {
        checksum_of(&debug.path) == Some(checksum)
    } else {
        debug.build_id == file.build_id
    }
}

fn checksum_of(path: &Path) -> Option<u32> {
    let mut file = File::open(path).ok()?;
    let (mut hasher, mut buffer) = (crc32fast::Hasher::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(hasher.finalize()),
            n => hasher.update(&buffer[..n]),
        }
    }
}

/// What `dwz -m` moved out: named relative to the debug file, or found by its build id.
fn shared_file(debug: &ElfFile, debug_dir: &Path) -> Option<PathBuf> {
    let (name, build_id) = debug.shared_debug.as_ref()?;
    let named = debug.path.parent()?.join(name);
    let right = elf::read(&named).ok().filter(|shared| shared.build_id == *build_id);
    right.or_else(|| by_build_id(build_id, debug_dir)).map(|shared| shared.path)
}
