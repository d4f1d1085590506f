//! `packages`: everything that is handed to users, in `target/packages`: a Debian package, a Python
//! wheel, a tarball, a container's recipe, a bill of materials, and the sums of all. One list of files
//! ([`content`]) is what each of them has, so that none can lack what another has. Packages are written with
//! the tools of the formats (`tar`, `dpkg-deb`) or by ourselves (a wheel is a zip file with a list of sums):
//! cargo-deb and maturin would each build the program their own way, and list its files once more.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::built;
use crate::sources::root;

mod archives;
mod content;
mod licenses;
mod made;
mod requires;
mod sbom;
mod smoke;
mod tool;
mod wheel;
mod zip;

use self::made::Made;
use self::tool::{read, target, write};

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        [] => build().map(|_| ()),
        ["--smoke"] => build().and_then(|folder| smoke::all(&folder)),
        ["--smoke-only", folder] => smoke::all(Path::new(folder)),
        _ => return usage(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: packages [--smoke | --smoke-only FOLDER]\n\n  \
         --smoke              install each in a clean root, and type README's first commands there\n  \
         --smoke-only FOLDER  the same with packages that are built already"
    );
    ExitCode::from(2)
}

/// Builds all packages; their folder.
fn build() -> Result<PathBuf, String> {
    let program = built::heapscribe()?;
    let folder = target().join("packages");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let graph = sbom::graph()?;
    let content = content::gather(&program, &graph)?;
    let made =
        Made { version: version(&program)?, epoch: epoch()?, requires: requires::of(&program)?, content };
    archives::tarball(&made, &folder)?;
    archives::deb(&made, &folder)?;
    wheel::write(&made, &folder)?;
    write(
        &folder.join(format!("heapscribe-{}.cdx.json", made.version)),
        &sbom::document(&graph, &made.version)?,
    )?;
    write(&folder.join("Dockerfile"), &read(&root().join("packaging/Dockerfile"))?)?;
    sums(&folder)?;
    Ok(folder)
}

/// Writes `SHA256SUMS`, as `sha256sum --check` reads it, and prints what there is.
fn sums(folder: &Path) -> Result<(), String> {
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let entry = entry.map_err(|e| format!("{}: {e}", folder.display()))?;
        if entry.path().is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    let text = tool::output(tool::command("sha256sum").arg("--").args(&names).current_dir(folder))?;
    write(&folder.join("SHA256SUMS"), text.as_bytes())?;
    println!("{}", folder.display());
    for name in &names {
        let length = fs::metadata(folder.join(name)).map_or(0, |facts| facts.len());
        println!("  {length:>10} bytes  {name}");
    }
    Ok(())
}

/// The version that the program gives itself.
fn version(program: &Path) -> Result<String, String> {
    let text = tool::output(tool::command(program).arg("--version"))?;
    let version = text.split_whitespace().nth(1).unwrap_or_default();
    if version.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(version.to_owned());
    }
    Err(format!("{} --version: no version in {text:?}", program.display()))
}

/// `SOURCE_DATE_EPOCH`, else the time of the commit; 1980, the first that zip has, where there is no git.
fn epoch() -> Result<u64, String> {
    const FIRST_OF_ZIP: u64 = 315_532_800;
    if let Ok(text) = std::env::var("SOURCE_DATE_EPOCH") {
        return text.parse().map_err(|_| format!("SOURCE_DATE_EPOCH is {text:?}, and must be seconds"));
    }
    let of_commit =
        tool::output(tool::command("git").args(["log", "-1", "--format=%ct"]).current_dir(root()));
    Ok(of_commit.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(FIRST_OF_ZIP))
}
