//! The files that an installation has, below its prefix (`/usr`, a folder, an environment of Python's).

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use flate2::{Compression, GzBuilder};

use super::sbom::Graph;
use super::tool::{read, target, write};
use super::{licenses, tool};
use crate::sources::root;

/// A file of the installation.
pub(super) struct Installed {
    /// Its path below the prefix.
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    pub(super) is_program: bool,
}

/// All of it.
pub(super) struct Content {
    pub(super) files: Vec<Installed>,
    /// Links, and what is in them.
    pub(super) links: Vec<(&'static str, &'static str)>,
}

/// Names of completions below the prefix, as the packages of the shells look for them.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "share/bash-completion/completions/heapscribe"),
    ("zsh", "share/zsh/vendor-completions/_heapscribe"),
    ("fish", "share/fish/vendor_completions.d/heapscribe.fish"),
];

/// What is copied from the repository.
const COPIED: &[(&str, &str)] = &[
    ("crates/preload/include/heapscribe.h", "include/heapscribe.h"),
    ("README.md", "share/doc/heapscribe/README.md"),
    ("CHANGELOG.md", "share/doc/heapscribe/CHANGELOG.md"),
    ("LICENSE-MIT", "share/doc/heapscribe/LICENSE-MIT"),
    ("LICENSE-APACHE", "share/doc/heapscribe/LICENSE-APACHE"),
    // README's first command runs it.
    ("docs/programs/count.pl", "share/doc/heapscribe/docs/programs/count.pl"),
];

/// The program, its pages, its completions, and what its licenses want beside it.
pub(super) fn gather(program: &Path, graph: &Graph) -> Result<Content, String> {
    let mut files = vec![file("bin/heapscribe", read(program)?)];
    files[0].is_program = true;
    for (from, to) in COPIED {
        files.push(file(to, read(&root().join(from))?));
    }
    for (shell, to) in COMPLETIONS {
        let text = tool::output(tool::command(program).args(["completions", shell]))?;
        files.push(file(to, text.into_bytes()));
    }
    files.extend(pages(program)?);
    files.push(file("share/doc/heapscribe/copyright", licenses::text(graph)?.into_bytes()));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    // Cargo takes a program of this name for its command `cargo heapscribe`; the name is all that differs.
    Ok(Content { files, links: vec![("bin/cargo-heapscribe", "heapscribe")] })
}

impl Content {
    /// Writes all of it below a folder.
    pub(super) fn stage(&self, prefix: &Path) -> Result<(), String> {
        for file in &self.files {
            let path = prefix.join(&file.path);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
            }
            write(&path, &file.bytes)?;
            let mode = if file.is_program { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode))
                .map_err(|e| format!("{}: {e}", path.display()))?;
        }
        for (name, inside) in &self.links {
            symlink(inside, prefix.join(name)).map_err(|e| format!("{name}: {e}"))?;
        }
        Ok(())
    }
}

fn file(path: &str, bytes: Vec<u8>) -> Installed {
    Installed { path: path.to_owned(), bytes, is_program: false }
}

/// The man pages, compressed as Debian has them.
fn pages(program: &Path) -> Result<Vec<Installed>, String> {
    let folder = target().join("packages/man");
    tool::output(tool::command(program).arg("man").arg("--to").arg(&folder))?;
    let mut pages = Vec::new();
    for entry in fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry.map_err(|e| format!("{}: {e}", folder.display()))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = gzip(&read(&path)?).map_err(|e| format!("{}: {e}", path.display()))?;
        pages.push(file(&format!("share/man/man1/{name}.gz"), bytes));
    }
    fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    if pages.is_empty() {
        return Err("the program wrote no man pages".to_owned());
    }
    Ok(pages)
}

/// Without a time, so that two builds are equal.
fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut writer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    writer.write_all(bytes)?;
    writer.finish()
}
