//! Functions that an interpreter runs, as modules of a call tree: the path has what is to be shown, and the address of a
//! frame is its line, so that all that handles modules and addresses handles these, and no file is looked for.
//!
//! ```text
//!   interpreted: language 1f name 1f file       the separator is ASCII's own, "unit"
//! ```

use std::collections::BTreeSet;

use heapscribe_wire::definitions::Function;
use heapscribe_wire::language::Language;

use super::tree::CallTree;

const PREFIX: &[u8] = b"interpreted:";
const UNIT: u8 = 0x1f;

/// A function that an interpreter runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InterpretedFunction {
    /// What it is written in.
    pub language: Language,
    /// Its name.
    pub name: String,
    /// The source file, as the interpreter names it; empty when it does not.
    pub file: String,
}

impl InterpretedFunction {
    /// The path of the module that stands for a function.
    pub fn path_of(function: &Function<'_>) -> Vec<u8> {
        let text =
            |bytes: &[u8]| bytes.iter().map(|b| if *b == UNIT { b'?' } else { *b }).collect::<Vec<u8>>();
        let language = function.language.0.to_string();
        let parts = [language.into_bytes(), text(function.name), text(function.file)];
        [PREFIX, &parts.join(&UNIT)].concat()
    }

    /// The function that a module stands for; `None` for one that is a file.
    pub fn of_path(path: &[u8]) -> Option<InterpretedFunction> {
        let mut units = path.strip_prefix(PREFIX)?.split(|byte| *byte == UNIT);
        let mut text = || String::from_utf8_lossy(units.next().unwrap_or_default()).into_owned();
        let language = Language(text().parse().unwrap_or(0));
        Some(InterpretedFunction { language, name: text(), file: text() })
    }
}

impl CallTree {
    /// What the functions in it are written in that an interpreter runs, or that a JIT compiler has named.
    pub fn languages(&self) -> BTreeSet<Language> {
        let functions = self.modules.iter().filter_map(|module| InterpretedFunction::of_path(&module.path));
        functions.map(|function| function.language).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapscribe_wire::ids::FunctionId;

    fn check(name: &[u8], file: &[u8], expected: (&str, &str)) {
        let (id, language) = (FunctionId(1), Language::PYTHON);
        let path = InterpretedFunction::path_of(&Function { id, language, first_line: 1, name, file });
        let (name, file) = (expected.0.to_owned(), expected.1.to_owned());
        assert_eq!(InterpretedFunction::of_path(&path), Some(InterpretedFunction { language, name, file }));
    }

    #[test]
    fn a_function_is_what_its_path_says() {
        check(b"Shop.order", b"/srv/shop.py", ("Shop.order", "/srv/shop.py"));
        check(b"", b"", ("", ""));
        check(b"a\x1fb", b"c\xff", ("a?b", "c\u{fffd}"));
        assert_eq!(InterpretedFunction::of_path(b"/usr/bin/python3"), None);
    }
}
