//! Where debug information is: by build id, by debug link, from debuginfod, and what `dwz` took out of it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::debuginfod::Debuginfod;
use crate::elf::{self, ElfFile};
use crate::progress::Progress;

/// A file with debug information, and the one it shares parts with.
pub(super) struct DebugFile {
    pub(super) path: PathBuf,
    pub(super) shared: Option<PathBuf>,
}

/// Where to look for debug files.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    pub(super) debug_dir: &'a Path,
    pub(super) debuginfod: &'a Debuginfod,
    pub(super) progress: &'a dyn Progress,
}

impl Places<'_> {
    /// The debug information of a file: its own, or a separate file's.
    pub(super) fn debug_of(&self, file: &ElfFile) -> Option<DebugFile> {
        if file.has_dwarf {
            return Some(self.with_shared(file));
        }
        let here = by_build_id(&file.build_id, self.debug_dir).or_else(|| by_link(file, self.debug_dir));
        let separate = here.or_else(|| self.debuginfod.debug_file(&file.build_id, self.progress))?;
        Some(self.with_shared(&separate))
    }

    /// The debug file of a build id.
    pub(super) fn by_build_id(&self, build_id: &[u8]) -> Option<ElfFile> {
        let here = by_build_id(build_id, self.debug_dir);
        here.or_else(|| self.debuginfod.debug_file(build_id, self.progress))
    }

    fn with_shared(&self, file: &ElfFile) -> DebugFile {
        DebugFile { path: file.path.clone(), shared: self.shared_by(file) }
    }

    /// What `dwz -m` moved out: named relative to the debug file, or found by its build id.
    fn shared_by(&self, debug: &ElfFile) -> Option<PathBuf> {
        let (name, build_id) = debug.shared_debug.as_ref()?;
        // Of a link in `.build-id` the name counts from where it leads.
        let path = std::fs::canonicalize(&debug.path).unwrap_or_else(|_| debug.path.clone());
        let right = elf::read(&path.parent()?.join(name)).ok().filter(|shared| shared.build_id == *build_id);
        right.or_else(|| self.by_build_id(build_id)).map(|shared| shared.path)
    }
}

/// `.build-id/xx/yyyy.debug`, if it says itself that it is the one.
fn by_build_id(build_id: &[u8], debug_dir: &Path) -> Option<ElfFile> {
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
