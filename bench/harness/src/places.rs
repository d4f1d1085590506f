//! Where things are: the repository, what is built of it, our own programs and what is made for them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Our programs in C: the name without `.c`, and further arguments of gcc.
const PROGRAMS: &[(&str, &str, &[&str])] = &[
    ("larson", "larson", &["-pthread"]),
    ("producer_consumer", "producer_consumer", &["-pthread"]),
    ("churn", "churn", &["-pthread"]),
    ("deep", "deep", &["-pthread"]),
    ("rusage", "rusage", &["-static"]),
    ("count", "libcount.so", &["-shared", "-fPIC", "-pthread"]),
];

/// Where things are.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// `bench/programs` of the repository.
    pub(crate) programs: PathBuf,
    /// What was compiled.
    pub(crate) built: PathBuf,
    /// What runs write; emptied before each.
    pub(crate) scratch: Scratch,
    /// The program to measure, unless nothing of ours is measured.
    pub(crate) heapscribe: Option<PathBuf>,
    /// The library that it carries, when we have built it.
    pub(crate) library: Option<PathBuf>,
}

/// A directory of this process that goes with it.
#[derive(Clone, Debug)]
pub(crate) struct Scratch(std::sync::Arc<Owned>);

#[derive(Debug)]
struct Owned(PathBuf);

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Scratch {
    fn below(cache: &Path) -> Scratch {
        Scratch(std::sync::Arc::new(Owned(cache.join(format!("scratch.{}", std::process::id())))))
    }

    /// The directory `name` in it, empty.
    pub(crate) fn emptied(&self, name: &str) -> Result<PathBuf> {
        let path = self.0.0.join(name);
        match fs::remove_dir_all(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(e).with_context(|| format!("{} can not be emptied", path.display()));
            }
            _ => {}
        }
        fs::create_dir_all(&path).with_context(|| format!("{} can not be made", path.display()))?;
        Ok(path)
    }
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap_or_default()
}

impl Places {
    /// Builds what is not built: our programs, and heapscribe if it is to be measured and none is given.
    pub(crate) fn prepare(heapscribe: Option<&Path>, is_needed: bool) -> Result<Places> {
        let programs = root().join("bench/programs");
        let cache = cache()?;
        let built = cache.join("built");
        fs::create_dir_all(&built)?;
        for (source, name, options) in PROGRAMS {
            compile(&programs.join(source).with_extension("c"), &built.join(name), options)?;
        }
        let (heapscribe, library) = match heapscribe {
            Some(path) => {
                let path = path.canonicalize().with_context(|| format!("{} is not there", path.display()))?;
                (Some(path), None)
            }
            None if is_needed => build_heapscribe(&cache)?,
            None => (None, None),
        };
        Ok(Places { programs, built, scratch: Scratch::below(&cache), heapscribe, library })
    }

    /// A program of ours.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.built.join(name)
    }
}

/// `target/bench`, where `target` is the directory in which this program was built.
fn cache() -> Result<PathBuf> {
    let exe = std::env::current_exe().context("this program's own path")?;
    let target =
        exe.parent().and_then(Path::parent).context("this program does not lie in target/PROFILE")?;
    Ok(target.join("bench"))
}

/// Compiles into a new name first, so that nobody runs half a program.
fn compile(source: &Path, to: &Path, options: &[&str]) -> Result<()> {
    let new = to.with_extension(format!("new.{}", std::process::id()));
    let output = Command::new("gcc")
        .args(["-O2", "-g", "-Wall"])
        .args(options)
        .arg(source)
        .arg("-o")
        .arg(&new)
        .output()
        .context("gcc can not be started (apt-get install gcc libc6-dev)")?;
    if !output.status.success() {
        bail!("{} does not compile:\n{}", source.display(), String::from_utf8_lossy(&output.stderr));
    }
    fs::rename(&new, to).with_context(|| format!("{} can not be placed", to.display()))
}

/// Builds heapscribe with the profile that this program was built with: where it is, and its library.
fn build_heapscribe(cache: &Path) -> Result<(Option<PathBuf>, Option<PathBuf>)> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let mut command = Command::new(cargo);
    command.args([
        "build",
        "-p",
        "heapscribe",
        "--bin",
        "heapscribe",
        "--message-format=json-render-diagnostics",
    ]);
    // Beside this program, also when it was not cargo that has started it.
    command.arg("--target-dir").arg(cache.parent().unwrap_or(cache));
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()
        .context("cargo can not be started to build heapscribe")?;
    if !output.status.success() {
        bail!("heapscribe does not build");
    }
    let messages: Vec<Value> =
        output.stdout.split(|&b| b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let program =
        messages.iter().rev().find_map(|m| m["executable"].as_str()).context("no heapscribe built")?;
    let library = messages.iter().filter_map(|m| m["env"].as_array()).flatten();
    let library = library.filter(|pair| pair[0] == "HEAPSCRIBE_PRELOAD").find_map(|pair| pair[1].as_str());
    Ok((Some(PathBuf::from(program)), library.map(PathBuf::from)))
}
