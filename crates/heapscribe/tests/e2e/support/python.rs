//! The Pythons that are installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::skip;

/// An interpreter with the headers to build an extension for it.
pub struct Python {
    pub program: PathBuf,
    pub minor: u32,
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
        let minor = minor.parse().ok()?;
        (MINORS.contains(&minor) && has_headers).then(|| Python {
            program,
            minor,
            include: include.to_owned(),
        })
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

/// Where a package is, installed there by pip once for all runs of tests; empty when Python finds it without. Says so
/// when it cannot be had.
pub fn packages_or_skip(python: &Python, package: &str) -> Option<PathBuf> {
    let version = python.program.to_string_lossy().replace('/', "-");
    let packages = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{package}{version}"));
    let has = |packages: &Path| {
        let mut import = Command::new(&python.program);
        import.args(["-c", &format!("import {package}")]).env("PYTHONPATH", packages);
        import.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    if has(Path::new("")) {
        return Some(PathBuf::new());
    }
    let mut pip = Command::new(&python.program);
    pip.args([
        "-m",
        "pip",
        "install",
        "-q",
        "--no-input",
        "--retries",
        "1",
        "--only-binary",
        ":all:",
        "--target",
    ]);
    pip.arg(&packages).arg(package).stdout(Stdio::null()).stderr(Stdio::null());
    if has(&packages) || pip.status().is_ok_and(|status| status.success()) && has(&packages) {
        return Some(packages);
    }
    skip(format_args!("{} has no {package} (pip install {package})", python.program.display()));
    None
}
