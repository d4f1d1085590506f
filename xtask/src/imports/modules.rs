//! The modules of a package: its files and the `mod` blocks in them, as a tree for each target.

use std::collections::{HashMap, HashSet};

use super::contents::{self, Child, Contents};
use super::packages::Package;
use super::tokens::PathParts;
use crate::sources::Tree;

/// A module by its place in [`Modules::all`].
pub(crate) type ModuleId = usize;
/// A file by its place in [`Modules::files`].
pub(crate) type FileId = usize;

/// What a name stands for in a module.
#[derive(Clone)]
pub(crate) enum Binding {
    /// By this file; for an exported macro it is another than the module's.
    Defined(FileId),
    Module(ModuleId),
    Imported(PathParts),
}

/// A module, and the names that it knows.
pub(crate) struct Module {
    pub(crate) file: FileId,
    pub(crate) parent: Option<ModuleId>,
    pub(crate) root: ModuleId,
    pub(crate) names: HashMap<String, Vec<Binding>>,
    pub(crate) globs: Vec<PathParts>,
    pub(crate) macros: HashSet<String>,
    /// Paths of its `use` that are its own, and those in its code.
    pub(crate) imports: Vec<PathParts>,
    pub(crate) paths: HashSet<PathParts>,
    pub(crate) bound: HashSet<String>,
}

/// All modules of a package.
pub(crate) struct Modules {
    pub(crate) files: Vec<String>,
    pub(crate) all: Vec<Module>,
    /// The root of the library, and the name by which the other targets import it.
    pub(crate) library: Option<(String, ModuleId)>,
}

/// Where a module's children in files of their own lie.
#[derive(Clone)]
struct Place {
    /// The folder of the file itself, for `#[path]`.
    folder: String,
    /// The folder of its children.
    children: String,
}

/// Follows the `mod` declarations from each target's root.
pub(crate) fn of_package(tree: &Tree, package: &Package) -> Modules {
    let mut modules = Modules { files: Vec::new(), all: Vec::new(), library: None };
    for root in package.roots(tree) {
        let id = modules.add_file(tree, root, None);
        if let Some(id) = id.filter(|_| root.ends_with("src/lib.rs")) {
            modules.library = Some((package.library.clone(), id));
        }
    }
    modules
}

impl Modules {
    fn add_file(&mut self, tree: &Tree, path: &str, parent: Option<ModuleId>) -> Option<ModuleId> {
        let contents = contents::read(&tree.file(path)?.syntax()?.items);
        let file = match self.files.iter().position(|file| file == path) {
            Some(file) => file,
            None => {
                self.files.push(path.to_owned());
                self.files.len() - 1
            }
        };
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let is_first = parent.is_none() || name == "mod.rs";
        let own = if is_first { folder.to_owned() } else { path.trim_end_matches(".rs").to_owned() };
        Some(self.add(tree, contents, file, parent, &Place { folder: folder.to_owned(), children: own }))
    }

    fn add(
        &mut self,
        tree: &Tree,
        contents: Contents,
        file: FileId,
        parent: Option<ModuleId>,
        place: &Place,
    ) -> ModuleId {
        let id = self.all.len();
        let root = parent.map_or(id, |parent| self.all[parent].root);
        let children = self.push(contents, file, parent, root);
        for child in children {
            let name = child.name.clone();
            if let Some(child) = self.add_child(tree, child, id, place) {
                self.all[id].names.entry(name).or_default().push(Binding::Module(child));
            }
        }
        id
    }

    fn push(
        &mut self,
        contents: Contents,
        file: FileId,
        parent: Option<ModuleId>,
        root: ModuleId,
    ) -> Vec<Child> {
        let mut names: HashMap<String, Vec<Binding>> = HashMap::new();
        for name in contents.definitions {
            names.entry(name).or_default().push(Binding::Defined(file));
        }
        let mut imports = Vec::new();
        for import in contents.imports {
            names.entry(import.name).or_default().push(Binding::Imported(import.path.clone()));
            if !import.is_only_name {
                imports.push(import.path);
            }
        }
        let (globs, macros) = (contents.globs, contents.macros);
        let (paths, bound) = (contents.paths, contents.bound);
        self.all.push(Module { file, parent, root, names, globs, macros, imports, paths, bound });
        for name in contents.exported_macros {
            self.all[root].names.entry(name).or_default().push(Binding::Defined(file));
        }
        contents.children
    }

    fn add_child(&mut self, tree: &Tree, child: Child, parent: ModuleId, place: &Place) -> Option<ModuleId> {
        let below = format!("{}/{}", place.children, child.name);
        if let Some(here) = child.here {
            let place = Place { folder: below.clone(), children: below };
            return Some(self.add(tree, here, self.all[parent].file, Some(parent), &place));
        }
        let candidates = match child.path {
            Some(path) => vec![format!("{}/{path}", place.folder)],
            None => vec![format!("{below}.rs"), format!("{below}/mod.rs")],
        };
        candidates.iter().find_map(|path| self.add_file(tree, path, Some(parent)))
    }
}
