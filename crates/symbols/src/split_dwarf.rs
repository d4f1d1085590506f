//! Whether the files that debug information leads on to can be opened: `.dwo` files that a compiler left beside its
//! objects, and a `.dwp` of them all. Who opens a pipe of that name would wait for its writer.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use addr2line::gimli::{self, DwarfSections, EndianSlice, RunTimeEndian, SectionId};
use object::{Object, ObjectSection, ReadRef};

use crate::elf;

/// The section that all split debug information needs.
const ADDRESSES: &str = ".debug_addr";
/// Debug information of more bytes is not split: what stays of a unit then is some 60 bytes.
const SKELETON_BYTES_MAX: u64 = 64 << 20;

/// Whether all files that the debug information of a file leads to are files, as far as they are there.
pub(crate) fn leads_to_files(path: &Path) -> bool {
    let mut package = path.as_os_str().to_owned();
    package.push(".dwp");
    let packages = [PathBuf::from(package), path.with_extension("dwp")];
    if packages.iter().any(|path| is_something_else(path)) {
        return false;
    }
    let is_led = |path: PathBuf| !is_something_else(&path);
    elf::with_object(path, |object| objects(object).into_iter().all(is_led)).unwrap_or(true)
}

/// Whether there is something that is no file.
fn is_something_else(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|kind| !kind.is_file())
}

/// The paths of `.dwo` files. What does not parse leads nowhere.
fn objects<'f, R: ReadRef<'f>>(object: &object::File<'f, R>) -> Vec<PathBuf> {
    let section = |name: &str| object.section_by_name(name);
    let is_small = section(".debug_info").is_some_and(|info| info.size() <= SKELETON_BYTES_MAX);
    if section(ADDRESSES).is_none() || !is_small {
        return Vec::new();
    }
    let endian = if object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let load = |id: SectionId| -> Result<Cow<'_, [u8]>, gimli::Error> {
        Ok(section(id.name()).and_then(|section| section.uncompressed_data().ok()).unwrap_or_default())
    };
    let Ok(sections) = DwarfSections::load(load) else { return Vec::new() };
    let dwarf = sections.borrow(|section| EndianSlice::new(section, endian));
    let (mut paths, mut units) = (Vec::new(), dwarf.units());
    while let Ok(Some(header)) = units.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let name = unit.dwo_name().ok().flatten().and_then(|name| dwarf.attr_string(&unit, name).ok());
        if let Some(name) = name {
            let directory = unit.comp_dir.map_or(&[][..], |directory| directory.slice());
            paths.push(Path::new(OsStr::from_bytes(directory)).join(OsStr::from_bytes(name.slice())));
        }
    }
    paths
}
