//! The Pythons that are installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::skip;

/// An interpreter with the headers to build an extension for it.
pub struct Python {
    pub program: PathBuf,
    pub include: String,
}

/// The minor versions whose frames are read.
const MINORS: std::ops::RangeInclusive<u32> = 8..=14;

/// Those whose frames are read, of pyenv and of the distribution.
pub fn pythons() -> Vec<Python> {
    let home = std::env::var("HOME").unwrap_or_default();
    let versions = fs::read_dir(Path::new(&home).join(".pyenv/versions")).into_iter().flatten().flatten();
    let mut programs: Vec<PathBuf> = versions.map(|entry| entry.path().join("bin/python3")).collect();
    programs.push("/usr/bin/python3".into());
    programs.sort();
    let ask = "import sys, sysconfig; print(sys.version_info[1], sysconfig.get_paths()['include'])";
    let known = |program: PathBuf| {
        let said = Command::new(&program).args(["-c", ask]).output().ok()?;
        let said = String::from_utf8(said.stdout).ok()?;
        let (minor, include) = said.trim().split_once(' ')?;
        let has_headers = Path::new(include).join("Python.h").exists();
        (MINORS.contains(&minor.parse().ok()?) && has_headers)
            .then(|| Python { program, include: include.to_owned() })
    };
    programs.into_iter().filter_map(known).collect()
}

/// One of them; says so when there is none.
pub fn newest() -> Option<Python> {
    let python = pythons().pop();
    if python.is_none() {
        skip(format_args!("no Python of 3.8 to 3.14 has its headers (apt-get install python3-dev)"));
    }
    python
}
