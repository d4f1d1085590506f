//! What the program needs of the machine it is installed on, read from the program itself: a dependency that
//! is written by hand is wrong with the next compiler.

use std::path::Path;

use object::read::elf::{Dyn as _, ElfFile64, FileHeader as _};
use object::{Endianness, elf};

/// What manylinux lets a wheel link without carrying it (PEP 600 leaves it to auditwheel, which has this list
/// and more).
const MANYLINUX: &[&str] = &[
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "librt.so.1",
    "libpthread.so.0",
    "libgcc_s.so.1",
    "ld-linux-x86-64.so.2",
];

/// What a program links.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Requires {
    /// The newest version of glibc of which it takes a symbol: 2.35 is (2, 35).
    pub(super) glibc: (u32, u32),
    /// Names of libraries.
    pub(super) libraries: Vec<String>,
}

impl Requires {
    /// The tag of a wheel's platform.
    pub(super) fn platform(&self) -> Result<String, String> {
        let foreign = self.libraries.iter().find(|name| !MANYLINUX.contains(&name.as_str()));
        if let Some(name) = foreign {
            return Err(format!("the program links {name}, which no manylinux tag allows"));
        }
        Ok(format!("manylinux_{}_{}_x86_64", self.glibc.0, self.glibc.1))
    }

    /// The dependencies of a Debian package.
    pub(super) fn debian(&self) -> String {
        let libc = format!("libc6 (>= {}.{})", self.glibc.0, self.glibc.1);
        let has_libgcc = self.libraries.iter().any(|name| name == "libgcc_s.so.1");
        if has_libgcc { format!("{libc}, libgcc-s1 (>= 4.2)") } else { libc }
    }
}

/// Reads a program.
pub(super) fn of(program: &Path) -> Result<Requires, String> {
    let bytes = super::tool::read(program)?;
    read(&bytes).map_err(|e| format!("{}: {e}", program.display()))
}

fn read(bytes: &[u8]) -> Result<Requires, object::Error> {
    let file = ElfFile64::<Endianness>::parse(bytes)?;
    let endian = file.endian();
    let sections = file.elf_header().sections(endian, bytes)?;
    let mut requires = Requires { glibc: (2, 0), libraries: Vec::new() };
    if let Some((mut files, link)) = sections.gnu_verneed(endian, bytes)? {
        let strings = sections.strings(endian, bytes, link)?;
        while let Some((_, mut versions)) = files.next()? {
            while let Some(version) = versions.next()? {
                let name = version.name(endian, strings)?;
                requires.glibc = requires.glibc.max(glibc(&String::from_utf8_lossy(name)).unwrap_or((2, 0)));
            }
        }
    }
    if let Some((entries, link)) = sections.dynamic(endian, bytes)? {
        let strings = sections.strings(endian, bytes, link)?;
        for entry in entries.iter().filter(|entry| entry.d_tag(endian) == elf::DT_NEEDED) {
            requires.libraries.push(String::from_utf8_lossy(entry.string(endian, strings)?).into_owned());
        }
    }
    Ok(requires)
}

/// The number in `GLIBC_2.35`.
fn glibc(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.strip_prefix("GLIBC_")?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_glibc() {
        assert_eq!(glibc("GLIBC_2.2.5"), Some((2, 2)));
        assert_eq!(glibc("GLIBC_2.35"), Some((2, 35)));
        assert_eq!(glibc("GLIBC_PRIVATE"), None);
        assert_eq!(glibc("GCC_3.0"), None);
    }

    #[test]
    fn the_tag_is_of_the_newest_symbol() {
        let requires = |libraries: &[&str]| Requires {
            glibc: (2, 35),
            libraries: libraries.iter().map(|&name| name.to_owned()).collect(),
        };
        let ours = requires(&["libc.so.6", "libgcc_s.so.1"]);
        assert_eq!(ours.platform().as_deref(), Ok("manylinux_2_35_x86_64"));
        assert_eq!(ours.debian(), "libc6 (>= 2.35), libgcc-s1 (>= 4.2)");
        let other = requires(&["libc.so.6", "libstdc++.so.6"]);
        assert!(other.platform().is_err_and(|e| e.contains("libstdc++.so.6")));
    }

    #[test]
    fn this_test_is_a_program_of_this_libc() {
        let itself = of(&std::env::current_exe().unwrap()).unwrap();
        assert!(itself.libraries.iter().any(|name| name == "libc.so.6"), "{itself:?}");
        assert!(itself.glibc >= (2, 14), "memcpy alone is of 2.14: {itself:?}");
    }
}
