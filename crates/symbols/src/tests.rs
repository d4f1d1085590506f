//! Small programs compiled here and looked up: with debug information, with it elsewhere, without it.

mod cpp_names;
mod oracle;
mod sources;

use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSection, ObjectSymbol};

use crate::{LookupFailure, Module, Names, Resolver, SourceFrame};

const C: &str = "\
#include <stdlib.h>
static inline __attribute__((always_inline)) void *inner(int n) {
    return malloc(n);
}
__attribute__((noinline)) void *outer(int n) {
    void *p = inner(n);
    ((char *)p)[0] = 1;
    return p;
}
int main(void) { return outer(5) == 0; }
";

struct Program {
    dir: tempfile::TempDir,
    path: PathBuf,
}

impl Program {
    fn compile(source: &str, name: &str, compiler: &str, flags: &[&str]) -> Program {
        let dir = tempfile::tempdir().unwrap();
        let (input, path) = (dir.path().join(name), dir.path().join("program"));
        std::fs::write(&input, source).unwrap();
        run(Command::new(compiler).args(flags).arg("-o").arg(&path).arg(&input));
        Program { dir, path }
    }

    fn c() -> Program {
        Program::compile(C, "program.c", "cc", &["-g", "-O1", "-Wl,--build-id"])
    }

    fn module(&self) -> Module {
        let build_id = crate::elf::read(&self.path).unwrap().build_id;
        Module { path: self.path.to_str().unwrap().to_owned(), build_id }
    }

    /// Start and size of a function whose symbol has this in its name.
    fn function(&self, part: &str) -> (u64, u64) {
        crate::elf::with_object(&self.path, |object| {
            let symbol = object.symbols().find(|s| s.name().unwrap().contains(part)).unwrap();
            (symbol.address(), symbol.size())
        })
        .unwrap()
    }

    fn objcopy(&self, args: &[&str]) {
        run(Command::new("objcopy").args(args).current_dir(self.dir.path()));
    }

    fn names(&self, module: Module, addresses: &[u64]) -> Names {
        let resolver = Resolver::new(self.dir.path().join("debug"));
        resolver.resolve(&[(module, addresses.to_vec())]).remove(0)
    }

    /// Puts the debug information into a file of its own, at a path under the program's directory.
    fn split_debug(&self, to: &str) {
        let debug = self.dir.path().join(to);
        std::fs::create_dir_all(debug.parent().unwrap()).unwrap();
        self.objcopy(&["--only-keep-debug", "program", to]);
    }

    fn build_id_path(&self) -> String {
        let hex: String = self.module().build_id.iter().map(|b| format!("{b:02x}")).collect();
        format!("debug/.build-id/{}/{}.debug", &hex[..2], &hex[2..])
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// All places of a function where code of `inlined` lies.
fn steps_with<'a>(names: &'a Names, range: (u64, u64), inlined: &str) -> &'a [SourceFrame] {
    (range.0..range.0 + range.1)
        .map(|address| names.at(address))
        .find(|steps| steps[0].function.as_deref() == Some(inlined))
        .unwrap()
}

fn all(range: (u64, u64)) -> Vec<u64> {
    (range.0..range.0 + range.1).collect()
}

/// The inlined function stands before the one it is in, each with its own line.
fn check_c(program: &Program, range: (u64, u64)) {
    let names = program.names(program.module(), &all(range));
    assert_eq!(names.failure, None);
    let steps = steps_with(&names, range, "inner");
    let functions: Vec<_> =
        steps.iter().map(|s| (s.function.as_deref().unwrap(), s.line.unwrap(), s.inlined)).collect();
    assert_eq!(functions, [("inner", 3, true), ("outer", 6, false)]);
    assert!(steps.iter().all(|s| s.file.as_ref().unwrap().ends_with("/program.c")), "{steps:?}");
}

#[test]
fn functions_files_lines_and_inlined_calls() {
    let program = Program::c();
    check_c(&program, program.function("outer"));
}

#[test]
fn debug_file_by_build_id() {
    let program = Program::c();
    let range = program.function("outer");
    program.split_debug(&program.build_id_path());
    program.objcopy(&["--strip-all", "program"]);
    check_c(&program, range);
}

#[test]
fn debug_file_by_link_in_the_directory_of_the_program() {
    for place in ["program.debug", ".debug/program.debug"] {
        let program = Program::c();
        let range = program.function("outer");
        program.split_debug(place);
        program.objcopy(&["--strip-all", &format!("--add-gnu-debuglink={place}"), "program"]);
        check_c(&program, range);
    }
}

#[test]
fn debug_file_by_link_without_a_build_id_needs_the_checksum() {
    let program = Program::compile(C, "program.c", "cc", &["-g", "-O1", "-Wl,--build-id=none"]);
    let range = program.function("outer");
    program.split_debug("program.debug");
    program.objcopy(&["--strip-all", "--add-gnu-debuglink=program.debug", "program"]);
    check_c(&program, range);
    std::fs::copy("/proc/self/exe", program.dir.path().join("program.debug")).unwrap();
    let names = program.names(program.module(), &all(range));
    assert_eq!((names.failure, names.frames.len()), (Some(LookupFailure::NoDebugInfo), 0));
}

/// Who opens a pipe waits for a writer that never comes, and who reads a device may never be done.
#[test]
fn a_pipe_or_a_device_is_no_debug_file() {
    let link: fn(&Program) -> String = |_| "program.debug".to_owned();
    for place in [link, Program::build_id_path] {
        for make in [&["mkfifo"][..], &["ln", "-s", "/dev/zero"]] {
            let program = Program::c();
            let range = program.function("outer");
            let place = place(&program);
            program.split_debug(&place);
            let debug = program.dir.path().join(&place);
            let link =
                if place == "program.debug" { "--add-gnu-debuglink=program.debug" } else { "--strip-all" };
            program.objcopy(&["--strip-all", link, "program"]);
            std::fs::remove_file(&debug).unwrap();
            run(Command::new(make[0]).args(&make[1..]).arg(&debug));
            let names = program.names(program.module(), &all(range));
            assert_eq!(
                (names.failure, names.frames.len()),
                (Some(LookupFailure::NoDebugInfo), 0),
                "{place} {make:?}"
            );
        }
    }
}

#[test]
fn a_changed_file_is_not_used_but_its_debug_file_is() {
    let program = Program::c();
    let (range, old) = (program.function("outer"), program.module());
    let debug = program.build_id_path();
    program.split_debug(&debug);
    run(Command::new("cc").args(["-xc", "/dev/null", "-shared", "-o"]).arg(&program.path));
    assert_ne!(program.module().build_id, old.build_id);
    let names = program.names(old.clone(), &all(range));
    assert_eq!(steps_with(&names, range, "inner")[1].function.as_deref(), Some("outer"));
    std::fs::remove_file(program.dir.path().join(debug)).unwrap();
    let names = program.names(old, &all(range));
    assert_eq!((names.failure, names.frames.len()), (Some(LookupFailure::Changed), 0));
}

#[test]
fn without_debug_information_functions_are_known() {
    let program = Program::c();
    let range = program.function("outer");
    program.objcopy(&["--strip-debug", "program"]);
    let names = program.names(program.module(), &all(range));
    assert_eq!(names.failure, Some(LookupFailure::NoDebugInfo));
    let only = SourceFrame { function: Some("outer".into()), ..SourceFrame::default() };
    assert_eq!(names.at(range.0 + 1), [only]);
    program.objcopy(&["--strip-all", "program"]);
    let names = program.names(program.module(), &all(range));
    assert_eq!(names.frames.len(), 0, "a symbol of another place is no name for this one");
}

/// The symbol of a function whose address a program takes has the address of its stub, when the program is linked
/// to a fixed address: gcc's own `strcmp`, which all of gcc's functions were once called.
#[test]
fn a_function_of_another_file_has_no_code_in_this_one() {
    let source = "\
#include <string.h>
int (*const compare[])(const char *, const char *) = {strcmp};
int called(int n, char **words) { return compare[n - 1](words[0], words[n - 1]); }
int main(int n, char **words) { return called(n, words); }
";
    let flags = ["-O1", "-fno-pic", "-no-pie", "-Wl,--build-id"];
    let program = Program::compile(source, "program.c", "cc", &flags);
    let (start, bytes) = program.function("called");
    program.objcopy(&["--strip-all", "program"]);
    let stub = crate::elf::with_object(&program.path, |object| {
        let symbol = object.dynamic_symbols().find(|s| s.name() == Ok("strcmp")).unwrap();
        (symbol.is_undefined(), symbol.address())
    });
    let (is_undefined, stub) = stub.unwrap();
    assert!(is_undefined && stub > 0 && stub < start, "{stub:#x}");
    let names = program.names(program.module(), &all((stub, start + bytes - stub)));
    assert_eq!(names.frames.len(), 0, "{:?}", names.frames.values().next());
}

#[test]
fn a_function_without_a_size_ends_with_its_section() {
    let source = "\
    .globl _start, unsized
    .type unsized, @function
_start: nop
unsized: nop
    nop
    .section rest, \"ax\"
    nop
";
    let program = Program::compile(source, "program.s", "cc", &["-nostdlib", "-static"]);
    let (start, _) = program.function("unsized");
    let rest = crate::elf::with_object(&program.path, |object| {
        object.section_by_name("rest").map(|section| section.address())
    });
    let rest = rest.unwrap().unwrap();
    let names = program.names(program.module(), &[start - 1, start, start + 1, rest]);
    let known = [start - 1, start, start + 1, rest].map(|address| names.at(address).len());
    assert_eq!(known, [0, 1, 1, 0], "only its own two bytes are known");
}

#[test]
fn cpp_names_are_readable() {
    let source = "\
namespace pool { struct Slab { void *take(unsigned long n); }; }
__attribute__((noinline)) void *pool::Slab::take(unsigned long n) { return ::operator new(n); }
int main() { pool::Slab s; return s.take(3) == nullptr; }
";
    let program = Program::compile(source, "program.cpp", "c++", &["-g", "-O0", "-Wl,--build-id"]);
    let range = program.function("Slab4take");
    let names = program.names(program.module(), &[range.0 + 8]);
    assert_eq!(names.at(range.0 + 8)[0].function.as_deref(), Some("pool::Slab::take(unsigned long)"));
    assert_eq!(names.at(range.0 + 8)[0].line, Some(2));
}

#[test]
fn rust_names_of_both_manglings_are_readable() {
    let source = "\
mod shelf { #[inline(never)] pub fn fill(n: usize) -> Vec<u8> { std::hint::black_box(vec![7; n]) } }
fn main() { std::hint::black_box(shelf::fill(9)); }
";
    for mangling in ["-Csymbol-mangling-version=v0", "-Copt-level=1"] {
        let program = Program::compile(source, "program.rs", "rustc", &["-g", mangling]);
        let range = program.function("5shelf4fill");
        let names = program.names(program.module(), &all(range));
        let outermost = names.at(range.0).last().unwrap();
        assert_eq!(outermost.function.as_deref(), Some("program::shelf::fill"));
        assert!(outermost.file.as_ref().unwrap().ends_with("program.rs"));
    }
}

#[test]
fn what_is_no_file_or_missing_is_reported() {
    let module = |path: &str| Module { path: path.into(), build_id: vec![1; 20] };
    let resolver = Resolver::new(PathBuf::from("/nonexistent"));
    let paths = ["[vdso]", "/dev/zero", "/nonexistent/lib.so", "/bin/true (deleted)", "/etc/passwd"];
    let requests: Vec<_> = paths.iter().map(|path| (module(path), vec![1, 2])).collect();
    let troubles: Vec<_> = resolver.resolve(&requests).into_iter().map(|n| n.failure.unwrap()).collect();
    assert_eq!(
        troubles[..4],
        [LookupFailure::NotAFile, LookupFailure::NotAFile, LookupFailure::Missing, LookupFailure::Changed]
    );
    assert!(matches!(troubles[4], LookupFailure::Unreadable(_)), "{troubles:?}");
    assert!(Path::new("/bin/true").exists());
}
