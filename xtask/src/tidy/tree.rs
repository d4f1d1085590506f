//! The files of the repository, as they lie in the working directory.

use std::fs;
use std::path::{Path, PathBuf};

/// Directories of these names hold what was built or found, not what was written.
const SKIPPED: [&str; 4] = ["target", ".git", "corpus", "artifacts"];

/// A file: its path from the root, with `/`, and its bytes.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

impl File {
    /// The bytes as text; empty when they are none.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }

    /// The last part of the path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether one of the directories above it has this name.
    pub(crate) fn is_below(&self, directory: &str) -> bool {
        self.path.split('/').rev().skip(1).any(|part| part == directory)
    }
}

/// All files, in the order of their paths.
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

/// Where the repository lies.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository").to_owned()
}

impl Tree {
    /// The repository around this program.
    pub(crate) fn load() -> Tree {
        let mut files = Vec::new();
        gather(&root(), "", &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Tree { files }
    }

    /// Files with this ending.
    pub(crate) fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |file| file.path.ends_with(end))
    }

    /// A tree made of texts, for the tests of checks.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        let file =
            |(path, text): &(&str, &str)| File { path: (*path).to_owned(), bytes: text.as_bytes().to_vec() };
        Tree { files: files.iter().map(file).collect() }
    }
}

fn gather(directory: &Path, above: &str, files: &mut Vec<File>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Ok(kind) = entry.file_type() else { continue };
        let path = if above.is_empty() { name.clone() } else { format!("{above}/{name}") };
        if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
            gather(&entry.path(), &path, files);
        } else if kind.is_file() && !name.ends_with(".hst") {
            let bytes = fs::read(entry.path()).unwrap_or_default();
            files.push(File { path, bytes });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_file_is_in_the_tree_and_nothing_built_is() {
        let tree = Tree::load();
        assert!(tree.files.iter().any(|f| f.path == "xtask/src/tidy/tree.rs" && f.name() == "tree.rs"));
        assert!(!tree.files.iter().any(|f| f.is_below("target")));
    }
}
