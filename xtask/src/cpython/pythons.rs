//! The Pythons that pyenv has installed, and that of Debian where its tests are there (a package of their own), with the
//! modules of these tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The minor versions whose frames are read.
const MINORS: std::ops::RangeInclusive<u32> = 8..=14;

/// An interpreter with its test suite.
pub(super) struct Python {
    pub(super) version: String,
    pub(super) program: PathBuf,
}

impl Python {
    /// One whose frames are read, with tests.
    fn at(directory: &Path, version: String) -> Option<Python> {
        let minor = minor(&version).filter(|minor| MINORS.contains(minor))?;
        let tests = directory.join(format!("lib/python3.{minor}/test/test_json"));
        tests.is_dir().then(|| Python { version, program: directory.join("bin/python3") })
    }

    /// Debian's, by its version and `debian`.
    fn of_debian() -> Option<Python> {
        let mut ask = Command::new("/usr/bin/python3");
        let said = ask.args(["-c", "import platform; print(platform.python_version())"]).output().ok()?;
        let version = String::from_utf8(said.stdout).ok()?;
        Python::at(Path::new("/usr"), format!("{}-debian", version.trim()))
    }

    /// The modules of its tests, in the order of their names.
    pub(super) fn modules(&self) -> Result<Vec<String>, String> {
        let mut list = Command::new(&self.program);
        let listed = list.args(["-m", "test", "--list-tests"]).output();
        let listed = listed.map_err(|e| format!("{}: {e}", self.program.display()))?;
        let names = String::from_utf8_lossy(&listed.stdout);
        let mut names: Vec<String> = names.lines().map(str::to_owned).collect();
        names.sort();
        if names.is_empty() { Err(format!("{} lists no tests", self.version)) } else { Ok(names) }
    }
}

fn minor(version: &str) -> Option<u32> {
    version.strip_prefix("3.")?.split('.').next()?.parse().ok()
}

/// Those whose versions begin so, the oldest first; all when nothing is said.
pub(super) fn installed(versions: &[String]) -> Vec<Python> {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
    let entries = fs::read_dir(home.join(".pyenv/versions")).into_iter().flatten().flatten();
    let of_pyenv =
        entries.filter_map(|entry| Python::at(&entry.path(), entry.file_name().into_string().ok()?));
    let mut pythons: Vec<Python> = of_pyenv.chain(Python::of_debian()).collect();
    pythons
        .retain(|python| versions.is_empty() || versions.iter().any(|asked| is_of(&python.version, asked)));
    pythons.sort_by_key(|python| minor(&python.version));
    pythons
}

/// Whether `3.11.7` is of `3.11`, or it itself.
fn is_of(version: &str, asked: &str) -> bool {
    version.strip_prefix(asked).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_apart() {
        for (version, asked, expected) in [
            ("3.11.7", "3.11", true),
            ("3.11.7", "3.11.7", true),
            ("3.11.7", "3.1", false),
            ("3.11.2-debian", "3.11.2", true),
        ] {
            assert_eq!(is_of(version, asked), expected, "{version} {asked}");
        }
        assert_eq!(["3.8.18", "3.13.0-debian", "2.7.18"].map(minor), [Some(8), Some(13), None]);
    }
}
