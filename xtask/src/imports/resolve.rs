//! From a path in a module to the file that defines what it names, through imports, re-exports and globs.

use std::collections::HashSet;

use super::modules::{Binding, FileId, ModuleId, Modules};

/// What a path leads to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Target {
    /// An item that this file defines, or something inside such an item.
    Item(FileId),
    Module(ModuleId),
    /// Something of another package, or of the language.
    Outside,
}

/// Imports and globs that are being followed: they may lead back to themselves.
type Underway = HashSet<(ModuleId, String)>;

impl Modules {
    /// What this path means in this module; nothing when no module of the package knows its first part.
    pub(crate) fn resolve(&self, module: ModuleId, path: &[String]) -> Vec<Target> {
        self.resolve_path(module, path, &mut Underway::new())
    }

    /// The file of a macro that is known by its bare name since a module above defines it.
    pub(crate) fn macro_above(&self, module: ModuleId, name: &str) -> Option<FileId> {
        let mut above = std::iter::successors(Some(module), |&id| self.all[id].parent);
        above.find(|&id| self.all[id].macros.contains(name)).map(|id| self.all[id].file)
    }

    fn resolve_path(&self, module: ModuleId, path: &[String], underway: &mut Underway) -> Vec<Target> {
        let mut at = module;
        let mut parts = path.iter();
        let mut is_anchored = false;
        let first = loop {
            let Some(part) = parts.next() else { return vec![Target::Module(at)] };
            match part.as_str() {
                "crate" => at = self.all[module].root,
                "self" => {}
                "super" => at = self.all[at].parent.unwrap_or(at),
                _ => break part,
            }
            is_anchored = true;
        };
        let mut targets = self.lookup(at, first, underway);
        if targets.is_empty() {
            targets = self.unknown(at, first, is_anchored, parts.len() == 0);
        }
        for part in parts {
            targets = self.step(&targets, part, underway);
        }
        targets
    }

    /// What a first part may be that its module does not know.
    fn unknown(&self, at: ModuleId, part: &str, is_anchored: bool, is_last: bool) -> Vec<Target> {
        match &self.library {
            _ if is_anchored => self.made_there(at),
            Some((name, root)) if name == part => vec![Target::Module(*root)],
            _ if is_last => Vec::new(),
            _ => vec![Target::Outside],
        }
    }

    /// What a name of a module is that stands nowhere in it: a macro may have made it.
    fn made_there(&self, module: ModuleId) -> Vec<Target> {
        vec![Target::Item(self.all[module].file)]
    }

    fn step(&self, targets: &[Target], part: &str, underway: &mut Underway) -> Vec<Target> {
        let mut found = Vec::new();
        for target in targets {
            if let Target::Module(module) = target {
                found.extend(self.lookup(*module, part, underway));
            }
        }
        if !found.is_empty() {
            return found;
        }
        targets.iter().flat_map(|&target| self.inside(target)).collect()
    }

    /// What a name is that no module knows: a variant or a function of an item, or made by a macro.
    fn inside(&self, target: Target) -> Vec<Target> {
        match target {
            Target::Module(module) => self.made_there(module),
            other => vec![other],
        }
    }

    /// What this name means in this module, in all namespaces.
    fn lookup(&self, module: ModuleId, name: &str, underway: &mut Underway) -> Vec<Target> {
        let mut found = Vec::new();
        for binding in self.all[module].names.get(name).into_iter().flatten() {
            match binding {
                Binding::Defined(file) => found.push(Target::Item(*file)),
                Binding::Module(module) => found.push(Target::Module(*module)),
                Binding::Imported(path) => {
                    let key = (module, path.join("::"));
                    found.extend(once(underway, key, |underway| self.resolve_path(module, path, underway)));
                }
            }
        }
        if found.is_empty() {
            let key = (module, format!("* {name}"));
            found = once(underway, key, |underway| self.lookup_in_globs(module, name, underway));
        }
        found
    }

    fn lookup_in_globs(&self, module: ModuleId, name: &str, underway: &mut Underway) -> Vec<Target> {
        let mut found = Vec::new();
        for glob in &self.all[module].globs {
            for target in self.resolve_path(module, glob, underway) {
                if let Target::Module(from) = target {
                    found.extend(self.lookup(from, name, underway));
                }
            }
        }
        found
    }
}

/// Does what is to be done for this key, unless that is under way already.
fn once(
    underway: &mut Underway,
    key: (ModuleId, String),
    find: impl FnOnce(&mut Underway) -> Vec<Target>,
) -> Vec<Target> {
    if !underway.insert(key.clone()) {
        return Vec::new();
    }
    let found = find(underway);
    underway.remove(&key);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imports::modules::of_package;
    use crate::imports::packages::packages;
    use crate::sources::Tree;

    const FILES: &[(&str, &str)] = &[
        ("a/Cargo.toml", "[package]\nname = \"a\"\n"),
        ("a/src/lib.rs", "pub mod x;\nmod y;\npub use x::deep::Thing;\npub use y::*;\npub use libc::c_int;"),
        ("a/src/main.rs", "fn main() { a::Thing::new() }"),
        ("a/src/x/mod.rs", "pub mod deep;\npub use self::deep::{Thing as Renamed, deep};"),
        (
            "a/src/x/deep.rs",
            "pub struct Thing;\npub fn deep() {}\n#[macro_export]\nmacro_rules! made { () => {} }",
        ),
        (
            "a/src/y.rs",
            "use crate::x::deep;\npub enum Kind { One }\nmake_it!();\nmod inner { use super::Kind; }",
        ),
    ];

    /// What a path of module `file` leads to.
    fn check(file: &str, path: &str, expected: &str) {
        let tree = Tree::of(FILES);
        let modules = of_package(&tree, &packages(&tree)[0]);
        let module = modules.all.iter().position(|m| modules.files[m.file].ends_with(file)).expect(file);
        let parts: Vec<_> = path.split("::").map(str::to_owned).collect();
        let names: Vec<_> = modules
            .resolve(module, &parts)
            .into_iter()
            .map(|target| match target {
                Target::Item(file) => modules.files[file].clone(),
                Target::Module(id) => format!("mod {}", modules.files[modules.all[id].file]),
                Target::Outside => "outside".to_owned(),
            })
            .collect();
        assert_eq!(names.join(", "), expected, "{path} in {file}");
    }

    #[test]
    fn reexports_and_renames_lead_to_the_definition() {
        check("y.rs", "crate::Thing", "a/src/x/deep.rs");
        check("y.rs", "super::x::Renamed::new", "a/src/x/deep.rs");
        check("main.rs", "a::Thing::new", "a/src/x/deep.rs");
        check("main.rs", "a::Kind::One", "a/src/y.rs");
        check("y.rs", "crate::made", "a/src/x/deep.rs");
    }

    #[test]
    fn a_module_and_a_function_of_one_name() {
        check("y.rs", "deep::Thing", "a/src/x/deep.rs");
        check("lib.rs", "x::deep", "a/src/x/deep.rs, mod a/src/x/deep.rs");
    }

    #[test]
    fn what_is_not_there_is_made_by_a_macro_or_comes_from_outside() {
        check("lib.rs", "y::Made", "a/src/y.rs");
        check("y.rs", "crate::c_int", "outside");
        check("y.rs", "std::fs::File", "outside");
        check("y.rs", "u8", "");
    }
}
