//! What is known of libraries, and of functions that only pass a request on to malloc.

use heapscribe_symbols::{NamedFrame, short};
use heapscribe_wire::language::Language;

use crate::system_libraries::is_system_library;

/// What functions of the standard libraries begin with, their short names.
const NAMES: [&str; 23] = [
    "Builtins_",
    "JavaCalls::",
    "Java_java_",
    "Java_jdk_",
    "Java_sun_",
    "java.",
    "jdk.",
    "jni_",
    "node::",
    "sun.",
    "v8::",
    "std::",
    "__gnu_cxx::",
    "__cxxabiv1::",
    "operator new",
    "operator delete",
    "core::",
    "alloc::",
    "hashbrown::",
    "__rust",
    "__libc_",
    "__rdl_",
    "iterator",
];

/// The functions that start programs and threads.
const STARTS: [&str; 6] = ["_start", "start_thread", "clone", "clone3", "__clone", "__clone3"];

/// Parts of the paths of source files that a library brought.
const SOURCES: [&str; 8] = [
    "node:",
    "/node_modules/",
    "/rustc/",
    "/rustlib/src/",
    "/.cargo/registry/",
    "/usr/include/",
    "/usr/lib/gcc/",
    "/include/c++/",
];

/// What the names of functions have in them that pass a request on.
const WRAPPERS: [&str; 3] = ["alloc", "strdup", "memdup"];

/// Functions of interpreters that only ask for memory for an object, of whatever kind.
const HELPERS: [&str; 26] = [
    "PyBytes_FromStringAndSize",
    "PyList_New",
    "PyTuple_New",
    "PyUnicode_New",
    "_PyBytes_FromSize",
    "_PyBytes_Resize",
    "arena_map_get",
    "dictresize",
    "list_resize",
    "new_arena",
    "new_keys_object",
    "resize_compact",
    "tuple_alloc",
    "unicode_resize",
    "_PyObject_New",
    "_PyObject_NewVar",
    "_PyObject_GC_New",
    "_PyObject_GC_NewVar",
    "Perl_more_bodies",
    "Perl_more_sv",
    "Perl_newSV",
    "Perl_sv_upgrade",
    "S_new_SV",
    "Perl_sv_grow",
    "Perl_sv_grow_fresh",
    "S_new_body",
];

/// Whether a frame is a library's.
pub(crate) fn is_library(frame: &NamedFrame) -> bool {
    is_language(frame) || frame.module.as_deref().is_some_and(is_system_library)
}

/// Whether a frame is of a library of the language, wherever its code lies.
pub(super) fn is_language(frame: &NamedFrame) -> bool {
    let by_name = frame.function.as_deref().is_some_and(|function| {
        let name = short(function);
        STARTS.contains(&name.as_str()) || NAMES.iter().any(|prefix| name.starts_with(prefix))
    });
    let by_source = frame.file.as_deref().is_some_and(|file| {
        SOURCES.iter().any(|part| file.contains(part)) || frame.language.is_some() && is_pythons(file)
    });
    // What a script calls without a line of it.
    let is_built_in =
        matches!(frame.language, Some(Language::JAVASCRIPT | Language::PHP)) && frame.file.is_none();
    // A part of the runtime that compiled code while the program ran.
    let is_runtime = frame.language == Some(Language(0));
    by_name || by_source || is_built_in || is_runtime || frame.module.as_deref().is_some_and(is_pythons)
}

/// Python's own modules, and those that were installed for it: source files, and the libraries that some of them are.
fn is_pythons(file: &str) -> bool {
    const FOLDERS: [&str; 3] = ["/lib/python3", "/site-packages/", "/dist-packages/"];
    file.starts_with("<frozen ") || FOLDERS.iter().any(|folder| file.contains(folder))
}

/// Whether a module is an interpreter of a language, which runs a program, and whose own functions say nothing of that:
/// what `json.loads` keeps is asked for by `scanstring_unicode`.
pub(super) fn is_interpreter(path: &str, language: Language) -> bool {
    let names: &[&str] = match language {
        Language::PYTHON => &["python", "libpython"],
        Language::PHP => &["php", "libphp"],
        Language::JAVASCRIPT => &["node", "nodejs", "libnode"],
        _ => &[],
    };
    let file = path.rsplit('/').next().unwrap_or(path);
    names.iter().any(|name| {
        file.strip_prefix(name).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphabetic() || c == '_'))
    })
}

/// Whether a function only passes a request on to malloc, by its name.
pub(crate) fn is_wrapper(frame: &NamedFrame) -> bool {
    frame.function.as_deref().is_some_and(passes_on)
}

/// Whether a function of this name only passes a request on to malloc.
pub fn passes_on(function: &str) -> bool {
    let name = short(function).to_ascii_lowercase();
    WRAPPERS.iter().any(|part| name.contains(part)) || HELPERS.contains(&function)
}
