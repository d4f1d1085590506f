//! The files of the repository, as they lie in the working directory.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};

/// Directories and files of these names hold what was built or found, not what was written. `.git` is a file
/// in a worktree.
const SKIPPED: [&str; 4] = ["target", ".git", "corpus", "artifacts"];

/// A file: its path from the root, with `/`, and its bytes.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    syntax: OnceCell<Option<syn::File>>,
}

impl File {
    fn new(path: String, bytes: Vec<u8>) -> File {
        File { path, bytes, syntax: OnceCell::new() }
    }

    /// The bytes as text; empty when they are none.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }

    /// The file as Rust source, parsed once; `None` when it is none.
    pub(crate) fn syntax(&self) -> Option<&syn::File> {
        self.syntax.get_or_init(|| syn::parse_file(self.text()).ok()).as_ref()
    }

    /// The last part of the path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Whether one of the directories above it has this name.
    pub(crate) fn is_below(&self, directory: &str) -> bool {
        self.path.split('/').rev().skip(1).any(|part| part == directory)
    }

    /// Whether it is built for tests only, as far as its path tells.
    pub(crate) fn is_test(&self) -> bool {
        self.is_below("tests") || self.name() == "tests.rs"
    }

    /// The folder below `crates/` that it lies in.
    pub(crate) fn crate_folder(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split_once('/').map(|(folder, _)| folder)
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
        Tree::at(&root())
    }

    /// Any checkout.
    pub(crate) fn at(root: &Path) -> Tree {
        let mut files = Vec::new();
        gather(root, "", &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Tree { files }
    }

    /// Files with this ending.
    pub(crate) fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |file| file.path.ends_with(end))
    }

    /// The file of this path.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// A tree made of texts, for the tests of checks.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| File::new((*path).to_owned(), text.as_bytes().to_vec());
        Tree { files: files.iter().map(file).collect() }
    }
}

fn gather(directory: &Path, above: &str, files: &mut Vec<File>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Ok(kind) = entry.file_type() else { continue };
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        let path = if above.is_empty() { name.clone() } else { format!("{above}/{name}") };
        if kind.is_dir() {
            gather(&entry.path(), &path, files);
        } else if kind.is_file() && !name.ends_with(".hst") {
            let bytes = fs::read(entry.path()).unwrap_or_default();
            files.push(File::new(path, bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_file_is_in_the_tree_and_nothing_built_is() {
        let tree = Tree::load();
        assert_eq!(tree.file("xtask/src/sources/tree.rs").map(File::name), Some("tree.rs"));
        assert!(!tree.files.iter().any(|f| f.is_below("target")));
    }

    #[test]
    fn source_that_does_not_parse_has_no_syntax() {
        let tree = Tree::of(&[("a.rs", "fn f() {}"), ("b.rs", "fn f( {")]);
        assert_eq!(tree.files[0].syntax().map(|file| file.items.len()), Some(1));
        assert!(tree.files[1].syntax().is_none());
    }

    #[test]
    fn a_crate_folder_is_the_one_below_crates() {
        let tree = Tree::of(&[("crates/wire/src/lib.rs", ""), ("xtask/src/main.rs", "")]);
        assert_eq!(tree.files[0].crate_folder(), Some("wire"));
        assert_eq!(tree.files[1].crate_folder(), None);
    }
}
