//! Functions and the libraries that they are in: what calls are named by.

use std::collections::HashMap;

/// A function: an index into [`Functions::all`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct FunctionId(pub(crate) u32);

/// A library, or the program itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct ModuleId(pub(crate) u32);

/// A function.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Its source file, or the file that its code lies in.
    pub(crate) file: Option<String>,
    /// The file that its code lies in.
    pub(crate) module: Option<ModuleId>,
}

/// All functions, and after them each library as a function of its own, for where it is drawn as one box.
#[derive(Clone, Debug, Default)]
pub(crate) struct Functions {
    all: Vec<Function>,
    modules: Vec<String>,
    /// The function that stands for each library.
    libraries: Vec<FunctionId>,
}

impl Functions {
    /// All of them, by number.
    pub(crate) fn all(&self) -> &[Function] {
        &self.all
    }

    pub(crate) fn get(&self, id: FunctionId) -> &Function {
        &self.all[id.0 as usize]
    }

    /// The paths of the libraries, by number.
    pub(crate) fn modules(&self) -> &[String] {
        &self.modules
    }

    /// Adds one that is in no library, whether or not it is known.
    pub(super) fn add(&mut self, name: &str, file: Option<&str>) -> FunctionId {
        self.all.push(Function { name: name.to_owned(), file: file.map(str::to_owned), module: None });
        FunctionId(self.all.len() as u32 - 1)
    }

    /// The same with another name for those that are called `from`, and are in no file.
    pub(super) fn renamed(&self, from: &str, to: &str) -> Functions {
        let mut functions = self.clone();
        let named =
            functions.all.iter_mut().filter(|function| function.file.is_none() && function.name == from);
        named.for_each(|function| to.clone_into(&mut function.name));
        functions
    }

    /// The function that stands for all of a library.
    pub(crate) fn library(&self, id: ModuleId) -> FunctionId {
        self.libraries[id.0 as usize]
    }
}

/// Functions that are being made.
#[derive(Default)]
pub(super) struct FunctionsBuild {
    functions: Functions,
    known: HashMap<Function, FunctionId>,
    modules: HashMap<String, ModuleId>,
}

impl FunctionsBuild {
    /// The number of a function.
    pub(super) fn number(
        &mut self,
        name: String,
        file: Option<String>,
        module: Option<String>,
    ) -> FunctionId {
        let all = &mut self.functions.all;
        let modules = &mut self.functions.modules;
        let module = module.map(|path| {
            *self.modules.entry(path).or_insert_with_key(|path| {
                modules.push(path.clone());
                ModuleId(modules.len() as u32 - 1)
            })
        });
        *self.known.entry(Function { name, file, module }).or_insert_with_key(|function| {
            all.push(function.clone());
            FunctionId(all.len() as u32 - 1)
        })
    }

    /// All of them, with those that stand for libraries.
    pub(super) fn finish(mut self) -> Functions {
        let modules = self.functions.modules.clone();
        let library = |path: String| {
            let name = format!("[{}]", path.rsplit('/').next().unwrap_or(&path));
            self.number(name, Some(path.clone()), Some(path))
        };
        self.functions.libraries = modules.into_iter().map(library).collect();
        self.functions
    }
}
