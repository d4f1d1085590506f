//! Interpreters whose frames are not in stacks, in words: why, and what to do.

use heapscribe_analyze::answer::Answer;
use heapscribe_wire::definitions::Interpreter;
use heapscribe_wire::frames_read::FramesRead;
use heapscribe_wire::language::Language;

/// A version as it is written; `None` when it is not known.
pub(crate) fn version(number: u32) -> Option<String> {
    (number != 0).then(|| format!("{}.{}", number >> 8, number & 0xff))
}

/// A line for each interpreter that processes had and whose frames are not in their stacks, or not all of them.
pub(crate) fn lines(answer: &Answer) -> Vec<String> {
    let named = answer.tree.languages();
    let is_unread = |frames| ![FramesRead::YES, FramesRead::UNTRIED].contains(&frames);
    let unread = answer.interpreters.iter().filter(|interpreter| is_unread(interpreter.frames));
    let line_of = |of: &Interpreter| match named.contains(&of.language) {
        // Code that a JIT compiler has named.
        true => named_in_part(of.language),
        false => Some(line(of)),
    };
    unread.filter_map(line_of).collect()
}

/// What a compiler's names do not have.
fn named_in_part(language: Language) -> Option<String> {
    (language == Language::JAVA).then(|| {
        "Stacks without the frames of Java methods that were not compiled: the JVM names those alone that were".to_owned()
    })
}

fn line(interpreter: &Interpreter) -> String {
    let name = match interpreter.language {
        Language::PYTHON if interpreter.frames == FramesRead::LANGUAGE => "PyPy".to_owned(),
        Language::PYTHON => "CPython".to_owned(),
        Language::JAVASCRIPT => "JavaScript".to_owned(),
        Language::JAVA => "Java".to_owned(),
        Language::RUBY => "Ruby".to_owned(),
        Language::PHP => "PHP".to_owned(),
        Language::PERL => "Perl".to_owned(),
        Language::LUA => "Lua".to_owned(),
        other => other.name().map_or_else(|| format!("language {}", other.0), str::to_owned),
    };
    let name = version(interpreter.version).map_or(name.clone(), |version| format!("{name} {version}"));
    format!("Stacks without the frames of {name}: {}", why(interpreter))
}

fn why(interpreter: &Interpreter) -> String {
    let usual = "run it with the usual build";
    match interpreter.frames {
        FramesRead::LANGUAGE => match interpreter.language {
            Language::JAVA => {
                "they are not read, `record --jit` has the JVM name methods that it compiled".to_owned()
            }
            _ => "they are not read yet, its C functions stand for them".to_owned(),
        },
        FramesRead::VERSION => {
            let known = match interpreter.language {
                Language::PYTHON => "3.8 to 3.14",
                Language::PHP => "8.2",
                Language::JAVASCRIPT => {
                    return "this V8 is not known, run it with Node.js 18 to 25, or `record --jit` has V8 name them"
                        .to_owned();
                }
                _ => "others",
            };
            format!("this version is not known, run it with one that is ({known})")
        }
        FramesRead::UNLOADABLE => {
            "it was loaded by dlopen and may be unloaded, use a program that is linked with it".to_owned()
        }
        FramesRead::THREADS => format!("threads run it at the same time, {usual}"),
        FramesRead::C_LIBRARY => "they are read over glibc only, run it on a system with that".to_owned(),
        FramesRead::LAYOUT => {
            "they are not where this version keeps them, run it with a build of a distribution".to_owned()
        }
        FramesRead::DEBUG_BUILD => format!("a debug build keeps them elsewhere, {usual}"),
        FramesRead(other) => format!("reason {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapscribe_analyze::answer::{CallTree, InterpretedFunction, Module};
    use heapscribe_wire::definitions::Function;
    use heapscribe_wire::ids::FunctionId;
    use heapscribe_wire::object_allocator::ObjectAllocator;

    fn check(language: Language, version: u32, frames: FramesRead, expected: &str) {
        let objects = ObjectAllocator::UNKNOWN;
        assert_eq!(line(&Interpreter { language, version, frames, objects }), expected);
    }

    #[test]
    fn why_frames_are_not_read() {
        check(
            Language::PYTHON,
            0x307,
            FramesRead::VERSION,
            "Stacks without the frames of CPython 3.7: this version is not known, run it with one that is \
             (3.8 to 3.14)",
        );
        check(
            Language::RUBY,
            0,
            FramesRead::LANGUAGE,
            "Stacks without the frames of Ruby: they are not read yet, its C functions stand for them",
        );
        check(
            Language::PHP,
            0x804,
            FramesRead::VERSION,
            "Stacks without the frames of PHP 8.4: this version is not known, run it with one that is (8.2)",
        );
        check(Language(9), 0x1_02, FramesRead(99), "Stacks without the frames of language 9 1.2: reason 99");
    }

    #[test]
    fn how_frames_of_compiled_code_get_names() {
        check(
            Language::JAVASCRIPT,
            0,
            FramesRead::VERSION,
            "Stacks without the frames of JavaScript: this V8 is not known, run it with Node.js 18 to 25, or \
             `record --jit` has V8 name them",
        );
        let check = |language, expected: &str| check(language, 0, FramesRead::LANGUAGE, expected);
        check(
            Language::JAVA,
            "Stacks without the frames of Java: they are not read, `record --jit` has the JVM name methods that it \
             compiled",
        );
        check(
            Language::PYTHON,
            "Stacks without the frames of PyPy: they are not read yet, its C functions stand for them",
        );
    }

    #[test]
    fn what_a_jit_compiler_has_named_is_not_missing() {
        let lines = |language: Language, named: Language| {
            let function =
                Function { id: FunctionId(1), language: named, first_line: 1, name: b"f", file: b"f.js" };
            let (frames, objects) = (FramesRead::LANGUAGE, ObjectAllocator::UNKNOWN);
            let interpreters = vec![Interpreter { language, version: 0, frames, objects }];
            let module = Module { path: InterpretedFunction::path_of(&function), build_id: Vec::new() };
            let tree = CallTree { modules: vec![module], ..CallTree::default() };
            lines(&Answer { interpreters, tree, ..Answer::default() })
        };
        assert!(lines(Language::JAVASCRIPT, Language::JAVASCRIPT).is_empty());
        assert_eq!(lines(Language::JAVASCRIPT, Language::JAVA).len(), 1);
        assert!(lines(Language::JAVA, Language::JAVA)[0].contains("not compiled"));
    }

    #[test]
    fn only_those_that_are_missing_have_a_line() {
        let objects = ObjectAllocator::UNKNOWN;
        let of = |language, frames| Interpreter { language, version: 0, frames, objects };
        let interpreters = [
            (Language::PYTHON, FramesRead::YES),
            (Language::PERL, FramesRead::LANGUAGE),
            (Language::PHP, FramesRead::UNTRIED),
        ];
        let interpreters = interpreters.map(|(language, frames)| of(language, frames)).to_vec();
        let all = lines(&Answer { interpreters, ..Answer::default() });
        assert!(all.len() == 1 && all[0].contains("Perl"), "{all:?}");
    }
}
