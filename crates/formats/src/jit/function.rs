//! What a function is called, by what its runtime writes into a perf map.
//!
//! ```text
//!   V8       LazyCompile:*load /srv/a.js:12:3   JS:^load file:///srv/a.mjs:12:3   Script:~ /srv/a.js:1:1
//!   JVM      void shop.Store.load(int)          Interpreter
//!   CPython  py::Store.load:/srv/a.py
//! ```
//! Marks of V8 (`*`, `^`, `+`, `~`) say which of its compilers made the code. The JVM and CPython say no lines. What is
//! written in none of these ways is a name as it stands.

/// What a function is written in, as far as its name tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// JavaScript, by V8.
    JavaScript,
    /// Java, or what else the JVM runs.
    Java,
    /// Python.
    Python,
    /// Nothing: a part of the runtime, or not known.
    Runtime,
}

/// A function by its parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Function<'n> {
    /// What it is written in.
    pub source: Source,
    /// Its name.
    pub name: &'n str,
    /// The type that it is of, where that is apart from the name.
    pub class: Option<&'n str>,
    /// Its file; empty when it is not known.
    pub file: &'n str,
    /// The line where it begins; 0 when it is not known.
    pub line: u32,
}

/// V8's kinds of code that have a function of the program.
const V8_FUNCTIONS: [&str; 7] =
    ["JS", "LazyCompile", "Function", "InterpretedFunction", "Script", "Eval", "Callback"];
/// How V8 marks which compiler made the code.
const V8_MARKS: [char; 4] = ['*', '^', '+', '~'];

/// Takes a name apart.
pub fn function(name: &str) -> Function<'_> {
    of_v8(name).or_else(|| of_python(name)).or_else(|| of_java(name)).unwrap_or(Function {
        source: Source::Runtime,
        name,
        class: None,
        file: "",
        line: 0,
    })
}

fn of_v8(name: &str) -> Option<Function<'_>> {
    let (kind, rest) = name.split_once(':')?;
    if !V8_FUNCTIONS.contains(&kind) {
        return None;
    }
    let rest = rest.strip_prefix(V8_MARKS).unwrap_or(rest);
    // A path may have spaces, a function's name has none, but may be none.
    let (function, place) = rest.split_once(' ').unwrap_or((rest, ""));
    let (file, line) = place_of(place);
    let function = match (function, kind) {
        ("", "Script" | "Eval") => "(top level)",
        // The code of a module or file as a whole is a function that begins with it.
        ("", _) if place.ends_with(":1:1") => "(top level)",
        ("", _) => "(anonymous)",
        _ => function,
    };
    let file = file.strip_prefix("file://").unwrap_or(file);
    Some(Function { source: Source::JavaScript, name: function, class: None, file, line })
}

/// `/srv/a.js:12:3` is a file and a line.
fn place_of(place: &str) -> (&str, u32) {
    let numbered = |text: &'_ str| -> Option<(usize, u32)> {
        let (file, number) = text.rsplit_once(':')?;
        Some((file.len(), number.parse().ok()?))
    };
    let Some((end, last)) = numbered(place) else { return (place, 0) };
    match numbered(&place[..end]) {
        Some((end, line)) => (&place[..end], line),
        None => (&place[..end], last),
    }
}

fn of_python(name: &str) -> Option<Function<'_>> {
    let (function, file) = name.strip_prefix("py::")?.split_once(':')?;
    Some(Function { source: Source::Python, name: function, class: None, file, line: 0 })
}

/// `void shop.Store.load(int)`: a result, a class and a method, and parameters.
fn of_java(name: &str) -> Option<Function<'_>> {
    let before = name.strip_suffix(')')?.split_once('(')?.0;
    let (_result, path) = before.split_once(' ')?;
    let (class, method) = path.rsplit_once('.')?;
    let is_name = |text: &str| !text.is_empty() && !text.contains([' ', ':']);
    if !is_name(class) || !is_name(method) {
        return None;
    }
    Some(Function { source: Source::Java, name: method, class: Some(class), file: "", line: 0 })
}

impl Function<'_> {
    /// The name with its type, as it is shown.
    pub fn shown(&self) -> String {
        self.class.map_or_else(|| self.name.to_owned(), |class| format!("{class}::{}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_runtimes() {
        use Source::{Java, JavaScript, Python, Runtime};
        for (name, source, shown, file, line) in [
            ("LazyCompile:*load /srv/a.js:12:3", JavaScript, "load", "/srv/a.js", 12),
            ("JS:^load file:///srv/a b.mjs:12:3", JavaScript, "load", "/srv/a b.mjs", 12),
            (
                "JS:~Module._load node:internal/modules/cjs/loader:1003:24",
                JavaScript,
                "Module._load",
                "node:internal/modules/cjs/loader",
                1003,
            ),
            ("JS:~ /srv/a.js:1:1", JavaScript, "(top level)", "/srv/a.js", 1),
            ("Function:+ /srv/a.js:7:2", JavaScript, "(anonymous)", "/srv/a.js", 7),
            ("Script:~ /srv/a.js", JavaScript, "(top level)", "/srv/a.js", 0),
            ("JS:*run", JavaScript, "run", "", 0),
            ("Builtin:ArrayMap", Runtime, "Builtin:ArrayMap", "", 0),
            ("void shop.Store.load(int, java.lang.String)", Java, "shop.Store::load", "", 0),
            ("void shop.Store.<init>()", Java, "shop.Store::<init>", "", 0),
            ("Interpreter", Runtime, "Interpreter", "", 0),
            ("StubRoutines (1)", Runtime, "StubRoutines (1)", "", 0),
            ("py::Store.load:/srv/a.py", Python, "Store.load", "/srv/a.py", 0),
            ("", Runtime, "", "", 0),
            ("JS:", JavaScript, "(anonymous)", "", 0),
            ("(", Runtime, "(", "", 0),
            ("a (.b)", Runtime, "a (.b)", "", 0),
        ] {
            let found = function(name);
            assert_eq!(
                (found.source, &found.shown()[..], found.file, found.line),
                (source, shown, file, line),
                "{name}"
            );
        }
    }
}
