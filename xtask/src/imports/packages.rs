//! The packages of a checkout, from its `Cargo.toml` files, and the files that Cargo compiles for each first.

use crate::sources::{File, Tree};

/// A package: its name, the folder that it lies in, and the name by which others import its library.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) folder: String,
    pub(crate) library: String,
}

/// All packages, in the order of their folders.
pub(crate) fn packages(tree: &Tree) -> Vec<Package> {
    tree.ending("Cargo.toml").filter(|file| !file.is_test()).filter_map(package).collect()
}

fn package(file: &File) -> Option<Package> {
    let folder = file.path.strip_suffix("/Cargo.toml")?;
    let name = name_in(file.text(), "[package]")?;
    let library = name_in(file.text(), "[lib]").unwrap_or_else(|| name.replace('-', "_"));
    Some(Package { name, folder: folder.to_owned(), library })
}

/// The `name` that this section of a manifest gives.
fn name_in(manifest: &str, section: &str) -> Option<String> {
    let lines = manifest.lines().skip_while(|line| line.trim() != section).skip(1);
    let mut of_section = lines.take_while(|line| !line.starts_with('['));
    let value = of_section.find_map(|line| line.strip_prefix("name")?.trim_start().strip_prefix('='))?;
    Some(value.trim().trim_matches('"').to_owned())
}

impl Package {
    /// Whether one means this package by `name`: its own or that of its folder.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.folder.rsplit('/').next() == Some(name)
    }

    /// The root files of its targets, the library first. Targets for tests are left out.
    pub(crate) fn roots<'a>(&self, tree: &'a Tree) -> Vec<&'a str> {
        let mut roots: Vec<&str> = tree
            .ending(".rs")
            .filter_map(|file| {
                let inside = file.path.strip_prefix(&self.folder)?.strip_prefix('/')?;
                is_root(inside).then_some(file.path.as_str())
            })
            .collect();
        roots.sort_by_key(|path| !path.ends_with("src/lib.rs"));
        roots
    }
}

/// Whether this is the first file of a target, by the places where Cargo looks for them.
fn is_root(path: &str) -> bool {
    if ["src/lib.rs", "src/main.rs", "build.rs"].contains(&path) {
        return true;
    }
    let inside = ["src/bin/", "examples/", "benches/"].iter().find_map(|folder| path.strip_prefix(folder));
    inside.is_some_and(|rest| match rest.split_once('/') {
        None => true,
        Some((_, file)) => file == "main.rs",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_their_names_and_their_roots() {
        let tree = Tree::of(&[
            ("Cargo.toml", "[workspace]\n"),
            ("crates/a/Cargo.toml", "[package]\nname = \"heap-a\"\n\n[[bench]]\nname = \"x\"\n"),
            ("crates/a/benches/x.rs", ""),
            ("crates/a/build.rs", ""),
            ("crates/a/examples/big/main.rs", ""),
            ("crates/a/examples/big/part.rs", ""),
            ("crates/a/src/b.rs", ""),
            ("crates/a/src/lib.rs", ""),
            ("crates/a/tests/t.rs", ""),
            ("crates/b/Cargo.toml", "[package]\nname = \"heap-b\"\n[lib]\nname = \"other\"\n"),
        ]);
        let packages = packages(&tree);
        let names: Vec<_> = packages.iter().map(|p| (&*p.name, &*p.folder, &*p.library)).collect();
        assert_eq!(names, [("heap-a", "crates/a", "heap_a"), ("heap-b", "crates/b", "other")]);
        assert_eq!(
            packages[0].roots(&tree),
            [
                "crates/a/src/lib.rs",
                "crates/a/benches/x.rs",
                "crates/a/build.rs",
                "crates/a/examples/big/main.rs"
            ]
        );
    }
}
