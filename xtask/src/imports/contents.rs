//! What a file says of names: those that it defines, those that it imports, and all paths in its code.
//! Code for tests only is not looked at.

use std::collections::HashSet;

use syn::visit::{self, Visit};
use syn::{Attribute, ForeignItem, Ident, Item, Meta, UseTree, Visibility};

use super::tokens::{self, PathParts};
use crate::sources::{attributes, is_for_tests};

/// What a module - a file, or a block `mod x { .. }` in it - holds.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) definitions: HashSet<String>,
    pub(crate) imports: Vec<Import>,
    pub(crate) globs: Vec<PathParts>,
    pub(crate) children: Vec<Child>,
    /// Paths in code, those of one part too.
    pub(crate) paths: HashSet<PathParts>,
    /// Names of variables, parameters and the like: a path of one part may mean them.
    pub(crate) bound: HashSet<String>,
    /// Macros that are defined here; those of the second list are exported to the crate's root.
    pub(crate) macros: HashSet<String>,
    pub(crate) exported_macros: HashSet<String>,
}

/// A name that a `use` brings into a module.
pub(crate) struct Import {
    pub(crate) path: PathParts,
    pub(crate) name: String,
    /// It is a `pub use` of some kind, or brings a module for what is used through it: no edge by itself.
    pub(crate) is_only_name: bool,
}

/// A module in this one: in a file of its own, or here.
pub(crate) struct Child {
    pub(crate) name: String,
    /// What `#[path = ".."]` says.
    pub(crate) path: Option<String>,
    pub(crate) here: Option<Contents>,
}

/// Reads the items of a module.
pub(crate) fn read(items: &[Item]) -> Contents {
    let mut contents = Contents::default();
    items.iter().for_each(|item| contents.add(item));
    contents
}

impl Contents {
    fn add(&mut self, item: &Item) {
        if attributes(item).is_some_and(is_for_tests) {
            return;
        }
        match item {
            Item::Use(item) => self.add_use(item),
            Item::Mod(item) => self.add_child(item),
            Item::ExternCrate(_) => {}
            Item::ForeignMod(block) => {
                self.definitions.extend(block.items.iter().filter_map(foreign_name));
                self.visit_item(item);
            }
            Item::Macro(rules) if rules.ident.is_some() => self.add_macro(rules),
            _ => {
                self.definitions.extend(name(item));
                self.visit_item(item);
            }
        }
    }

    fn add_use(&mut self, item: &syn::ItemUse) {
        if item.leading_colon.is_none() {
            let is_reexport = !matches!(item.vis, Visibility::Inherited);
            self.add_use_tree(&item.tree, &mut Vec::new(), is_reexport);
        }
    }

    fn add_use_tree(&mut self, tree: &UseTree, above: &mut PathParts, is_reexport: bool) {
        let with = |above: &PathParts, last: &Ident| {
            // `use a::{self}` imports `a`.
            let last = Some(last.to_string()).filter(|last| last != "self");
            let is_only_name = is_reexport || last.is_none();
            (above.iter().cloned().chain(last).collect::<PathParts>(), is_only_name)
        };
        match tree {
            UseTree::Path(tree) => {
                above.push(tree.ident.to_string());
                self.add_use_tree(&tree.tree, above, is_reexport);
                above.pop();
            }
            UseTree::Name(tree) => {
                let (path, is_only_name) = with(above, &tree.ident);
                let name = path.last().cloned().unwrap_or_default();
                self.imports.push(Import { path, name, is_only_name });
            }
            UseTree::Rename(tree) => {
                let (path, is_only_name) = with(above, &tree.ident);
                self.imports.push(Import { path, name: tree.rename.to_string(), is_only_name });
            }
            UseTree::Glob(_) => self.globs.push(above.clone()),
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.add_use_tree(tree, above, is_reexport));
            }
        }
    }

    fn add_child(&mut self, item: &syn::ItemMod) {
        let path = item.attrs.iter().find_map(path_attribute);
        let here = item.content.as_ref().map(|(_, items)| read(items));
        self.children.push(Child { name: item.ident.to_string(), path, here });
    }

    fn add_macro(&mut self, rules: &syn::ItemMacro) {
        let name = rules.ident.as_ref().map(ToString::to_string).unwrap_or_default();
        self.definitions.insert(name.clone());
        if rules.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export")) {
            self.exported_macros.insert(name.clone());
        }
        self.macros.insert(name);
        self.paths.extend(tokens::paths(&rules.mac.tokens).into_iter().filter(|path| path.len() > 1));
    }
}

impl<'ast> Visit<'ast> for Contents {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.paths.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        visit::visit_macro(self, call);
        self.paths.extend(tokens::paths(&call.tokens));
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_use(item);
    }

    fn visit_item(&mut self, item: &'ast Item) {
        if !attributes(item).is_some_and(is_for_tests) {
            self.bound.extend(name(item));
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !is_for_tests(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        let name = pattern.ident.to_string();
        // A name in capitals is a constant that is compared with.
        if name.starts_with(char::is_uppercase) {
            self.paths.insert(vec![name]);
        } else {
            self.bound.insert(name);
        }
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_type_param(&mut self, parameter: &'ast syn::TypeParam) {
        self.bound.insert(parameter.ident.to_string());
        visit::visit_type_param(self, parameter);
    }

    /// `#[command(after_help = exit::HELP)]`: of what an attribute holds, only paths of several parts count.
    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.paths.extend(tokens::paths(&list.tokens).into_iter().filter(|path| path.len() > 1));
        }
    }
}

fn path_attribute(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) => Some(path.value()),
            _ => None,
        },
        _ => None,
    }
}

/// The name that an item defines.
fn name(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(ident.to_string())
}

fn foreign_name(item: &ForeignItem) -> Option<String> {
    match item {
        ForeignItem::Fn(item) => Some(item.sig.ident.to_string()),
        ForeignItem::Static(item) => Some(item.ident.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(source: &str) -> Contents {
        read(&syn::parse_file(source).expect("source").items)
    }

    #[test]
    fn groups_renames_and_globs_of_uses() {
        let contents =
            contents("use super::{self, a::{B, c as d}, e::*};\npub(crate) use self::x::Y;\nuse ::z::Z;");
        let imports: Vec<_> =
            contents.imports.iter().map(|i| (i.path.join("::"), &*i.name, i.is_only_name)).collect();
        let import = |path: &str, name, is_only_name| (path.to_owned(), name, is_only_name);
        assert_eq!(
            imports,
            [
                import("super", "super", true),
                import("super::a::B", "B", false),
                import("super::a::c", "d", false),
                import("self::x::Y", "Y", true),
            ]
        );
        assert_eq!(contents.globs, [["super", "e"]]);
    }

    #[test]
    fn definitions_paths_and_what_is_bound() {
        let contents = contents(
            "#[command(help = z::HELP, name = V)]\nstruct S { f: a::T }\nfn g(x: u8) { use b::C; match x { MAX => h!(d::E), other => {} } }\n\
             #[cfg(test)] mod tests { use super::*; }\n#[cfg(test)] fn only_in_tests() -> p::Q {}\n\
             impl S { #[cfg(test)] fn also() -> p::Q {} }\nmacro_rules! m { () => { $crate::n::O } }",
        );
        let mut definitions: Vec<_> = contents.definitions.iter().map(String::as_str).collect();
        definitions.sort_unstable();
        assert_eq!(definitions, ["S", "g", "m"]);
        let mut paths: Vec<_> = contents.paths.iter().map(|path| path.join("::")).collect();
        paths.sort();
        assert_eq!(paths, ["MAX", "S", "a::T", "crate::n::O", "d::E", "h", "u8", "x", "z::HELP"]);
        assert!(contents.bound.contains("x") && contents.bound.contains("other"));
        assert_eq!(contents.imports.len(), 1);
        assert!(contents.children.is_empty());
    }
}
