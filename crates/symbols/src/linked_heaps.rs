//! Heaps that are linked into a file, by functions that it defines: their calls pass no recorder that is preloaded, so
//! what they map is in no figure. A stripped file without any of these names has none that is seen here.

use object::{Object, ObjectSection, ObjectSymbol, ReadRef};

use crate::elf::{self, with_object};
use crate::mini_debug_info;
use crate::names::Module;
use crate::resolver::Resolver;

/// A heap that programs have inside.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LinkedHeap {
    /// jemalloc, also that of Rust's crates.
    Jemalloc,
    /// mimalloc.
    Mimalloc,
    /// gperftools' or Google's.
    Tcmalloc,
    /// snmalloc.
    Snmalloc,
    /// Chromium's.
    PartitionAlloc,
    /// Boehm's collector.
    Boehm,
    /// That of Go's runtime.
    Go,
    /// The JVM's.
    Jvm,
    /// V8's, of JavaScript.
    V8,
    /// Python's arenas of small objects.
    Python,
    /// OCaml's.
    Ocaml,
}

/// Functions that only the heap itself defines.
const FUNCTIONS: [(&str, LinkedHeap); 22] = [
    ("mallctl", LinkedHeap::Jemalloc),
    ("je_mallctl", LinkedHeap::Jemalloc),
    ("je_malloc", LinkedHeap::Jemalloc),
    ("_rjem_mallctl", LinkedHeap::Jemalloc),
    ("_rjem_malloc", LinkedHeap::Jemalloc),
    ("mi_malloc", LinkedHeap::Mimalloc),
    ("_mi_malloc_generic", LinkedHeap::Mimalloc),
    ("tc_malloc", LinkedHeap::Tcmalloc),
    ("TCMallocInternalMalloc", LinkedHeap::Tcmalloc),
    ("sn_malloc", LinkedHeap::Snmalloc),
    ("sn_rust_alloc", LinkedHeap::Snmalloc),
    ("_ZN15partition_alloc13PartitionRoot11EnsureReadyEv", LinkedHeap::PartitionAlloc),
    ("PartitionAllocMalloc", LinkedHeap::PartitionAlloc),
    ("GC_malloc", LinkedHeap::Boehm),
    ("runtime.mallocgc", LinkedHeap::Go),
    ("JNI_CreateJavaVM", LinkedHeap::Jvm),
    ("graal_create_isolate", LinkedHeap::Jvm),
    ("_ZN2v87Isolate8AllocateEv", LinkedHeap::V8),
    ("_ZN2v87Isolate3NewERKNS0_12CreateParamsE", LinkedHeap::V8),
    ("PyObject_Malloc", LinkedHeap::Python),
    ("caml_alloc_shr", LinkedHeap::Ocaml),
    ("caml_alloc_small_dispatch", LinkedHeap::Ocaml),
];

/// Go's runtime leaves this section in stripped files, too.
const GO_SECTION: &str = ".go.buildinfo";

impl LinkedHeap {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            LinkedHeap::Jemalloc => "jemalloc",
            LinkedHeap::Mimalloc => "mimalloc",
            LinkedHeap::Tcmalloc => "tcmalloc",
            LinkedHeap::Snmalloc => "snmalloc",
            LinkedHeap::PartitionAlloc => "PartitionAlloc",
            LinkedHeap::Boehm => "Boehm GC",
            LinkedHeap::Go => "Go",
            LinkedHeap::Jvm => "JVM",
            LinkedHeap::V8 => "V8",
            LinkedHeap::Python => "Python",
            LinkedHeap::Ocaml => "OCaml",
        }
    }
}

impl Resolver {
    /// The heaps inside a module's file, if it is still the one that ran; none of a file that is not opened.
    pub fn linked_heaps(&self, module: &Module) -> Vec<LinkedHeap> {
        if !self.opens_files() {
            return Vec::new();
        }
        let Ok(file) = elf::open(module) else { return Vec::new() };
        #[expect(clippy::redundant_closure, reason = "a function is of one lifetime")]
        with_object(&file.path, |object| in_object(object)).unwrap_or_default()
    }
}

fn in_object<'f, R: ReadRef<'f>>(object: &object::File<'f, R>) -> Vec<LinkedHeap> {
    let mut heaps = defined(object);
    if let Some(inside) = mini_debug_info::of(object)
        && let Ok(inside) = object::File::parse(&inside[..])
    {
        heaps.extend(defined(&inside));
    }
    let has_go = object.section_by_name(GO_SECTION).is_some_and(|section| section.size() > 0);
    heaps.extend(has_go.then_some(LinkedHeap::Go));
    heaps.sort_unstable();
    heaps.dedup();
    heaps
}

/// Those whose functions it defines, and does not only call.
fn defined<'o>(object: &impl Object<'o>) -> Vec<LinkedHeap> {
    let names = object.symbols().chain(object.dynamic_symbols()).filter(|symbol| !symbol.is_undefined());
    let heap =
        |name: &[u8]| FUNCTIONS.iter().find(|(function, _)| function.as_bytes() == name).map(|of| of.1);
    names.filter_map(|symbol| heap(symbol.name_bytes().ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    fn check(source: &str, flags: &[&str], expected: &[LinkedHeap]) {
        let dir = tempfile::tempdir().unwrap();
        let (program, code) = (dir.path().join("program"), dir.path().join("program.c"));
        std::fs::write(&code, source).unwrap();
        let built = Command::new("cc").args(["-w", "-o"]).arg(&program).arg(&code).args(flags).status();
        assert!(built.unwrap().success());
        let module = Module::of_file(&program).unwrap();
        assert_eq!(Resolver::new("/nowhere").linked_heaps(&module), expected, "{source}");
        assert!(Resolver::without_files().linked_heaps(&module).is_empty());
        let other = Module { build_id: vec![1; 20], ..module };
        assert!(Resolver::new("/nowhere").linked_heaps(&other).is_empty(), "of another file");
    }

    #[test]
    fn a_heap_is_known_by_what_the_file_defines() {
        let id = "-Wl,--build-id";
        check("int main() { return 0; }", &[id], &[]);
        check(
            "void *je_malloc(long n) { return 0; } int main() { return 0; }",
            &[id],
            &[LinkedHeap::Jemalloc],
        );
        check(
            "static void *mi_malloc(long n) { return 0; } int main() { return mi_malloc(1) != 0; }",
            &[id],
            &[LinkedHeap::Mimalloc],
        );
        check("int je_mallocator() { return 0; } int main() { return 0; }", &[id], &[]);
    }

    #[test]
    fn what_is_only_called_is_not_inside() {
        let flags = ["-Wl,--build-id", "-Wl,--unresolved-symbols=ignore-all"];
        check("int mallctl(); int main(int n) { return n > 9 ? mallctl() : 0; }", &flags, &[]);
    }

    #[test]
    fn jemallocs_archive_is_known() {
        let archive = "/usr/lib/x86_64-linux-gnu/libjemalloc.a";
        if !Path::new(archive).exists() {
            return eprintln!("skipped: {archive} is not there (apt-get install libjemalloc-dev)");
        }
        let flags = ["-Wl,--build-id", archive, "-lstdc++", "-lpthread", "-ldl", "-lm"];
        let source = "#include <stdlib.h>\nint main(int n, char **of) { return malloc(n) == of; }";
        check(source, &flags, &[LinkedHeap::Jemalloc]);
    }
}
