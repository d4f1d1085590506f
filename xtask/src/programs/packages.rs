//! The Debian packages that programs need: which are missing, and how they are installed.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use super::list::Program;

/// The first package of the program that is not installed, in words.
pub(super) fn missing(program: &Program) -> Option<String> {
    let missing = program.packages.iter().find(|package| !is_installed(package))?;
    Some(format!("the package {missing} is not installed"))
}

fn is_installed(package: &str) -> bool {
    let mut query = Command::new("dpkg-query");
    query.args(["-W", "-f", "${Status}", package]).stderr(Stdio::null());
    query.output().is_ok_and(|output| output.stdout.ends_with(b"install ok installed"))
}

/// Installs what is missing: all at once, and when that fails one by one, so that a package that can not be
/// had costs its own programs only.
pub(super) fn install(programs: &[Program]) {
    let wanted: BTreeSet<&str> =
        programs.iter().flat_map(|program| &program.packages).map(String::as_str).collect();
    let wanted: Vec<&str> = wanted.into_iter().filter(|package| !is_installed(package)).collect();
    if wanted.is_empty() || (apt_get(&["update", "-q"], &[]) && apt_get(&INSTALL, &wanted)) {
        return;
    }
    for package in wanted.into_iter().filter(|package| !is_installed(package)) {
        if !apt_get(&INSTALL, &[package]) {
            eprintln!("warning: the package {package} can not be had");
        }
    }
}

const INSTALL: [&str; 6] =
    ["install", "-q", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=600"];

fn apt_get(arguments: &[&str], packages: &[&str]) -> bool {
    let mut apt = Command::new("apt-get");
    // Nothing is asked, and no service is started.
    apt.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1").stdout(Stdio::null());
    apt.args(arguments).args(packages).status().is_ok_and(|status| status.success())
}
