//! What share of the growth of a program's memory the recording explains, and why it is little: heaps that the program has
//! inside, by their functions and by the names of its files, and what to do to see them.

use heapscribe_analyze::answer::{self, Answer, CallTree, Coverage};
use heapscribe_symbols::{LinkedHeap, Module, Resolver, lossy};
use heapscribe_units::short_bytes;
use heapscribe_wire::language::Language;

use crate::object_allocators::are_in_heap;

/// The share below which a report says why most of the memory is not seen.
pub(crate) const LOW: f64 = 0.8;

/// How much is explained, and what the rest may be.
#[derive(Debug)]
pub struct Explained {
    /// Of all processes together.
    pub coverage: Coverage,
    /// Heaps that are not recorded; only looked for where little is explained.
    pub heaps: Vec<UnseenHeap>,
}

/// A heap that is not recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnseenHeap {
    /// Its name.
    pub name: &'static str,
    /// The name of the file that it is in.
    pub file: String,
    /// What to do to see it.
    pub hint: &'static str,
}

/// A runtime that has a heap of its own, by its files.
struct Runtime {
    /// Its heap.
    name: &'static str,
    /// What the names of its files begin with.
    files: &'static [&'static str],
    hint: &'static str,
}

const PYTHON: &str = "Python";
const ZEND: &str = "Zend";
/// Heaps that are not used where the objects of their language are in the heap that is recorded.
const AVOIDABLE: [(&str, Language); 2] = [(PYTHON, Language::PYTHON), (ZEND, Language::PHP)];
const RUNTIMES: [Runtime; 7] = [
    Runtime {
        name: PYTHON,
        files: &["python3", "libpython3"],
        hint: "Python takes objects of up to 512 bytes from arenas of its own, which are not seen. Record it with \
               --python-allocators (PYTHONMALLOC=malloc) to see each of them.",
    },
    Runtime {
        name: ZEND,
        files: &["php", "libphp"],
        hint: "PHP has a heap of its own (Zend), which is not seen: it is in the resident memory only. Record it with \
               --php-allocators (USE_ZEND_ALLOC=0) to see each block.",
    },
    Runtime {
        name: "V8",
        files: &["node", "libnode", "libv8"],
        hint: "JavaScript objects live in V8's own heap, which is not seen: it is in the resident memory only. \
               `node --heapsnapshot-signal=SIGUSR2` writes what is in it.",
    },
    Runtime {
        name: "JVM",
        files: &["libjvm.so"],
        hint: "Java objects live in the JVM's own heap, which is not seen: it is in the resident memory only. \
               `jcmd PID GC.class_histogram` lists what is in it.",
    },
    Runtime {
        name: "Ruby",
        files: &["ruby", "libruby"],
        hint: "Ruby maps the pages of its objects itself: they are in the resident memory only. \
               `ObjectSpace.memsize_of_all` sums them up.",
    },
    Runtime {
        name: "mozjemalloc",
        files: &["libxul.so", "libmozglue.so"],
        hint: "This program has a heap linked in (mozjemalloc). What it does not ask malloc for is not seen.",
    },
    Runtime {
        name: ".NET",
        files: &["libcoreclr.so", "libmonosgen"],
        hint: ".NET objects live in a heap of their own, which is not seen: it is in the resident memory only.",
    },
];

/// Libraries with a heap in the place of libc's: their calls are recorded.
const OTHER_HEAPS: [&str; 5] =
    ["libjemalloc", "libtcmalloc", "libtcmalloc_minimal", "libmimalloc", "libsnmalloc"];

/// What to do where a heap is known by its functions.
fn hint(heap: LinkedHeap) -> &'static str {
    match heap {
        LinkedHeap::Jemalloc => {
            "jemalloc is linked in, so its calls are not seen. Link libjemalloc.so instead of the archive (in Rust, leave \
             out #[global_allocator]), or run with MALLOC_CONF=prof:true,prof_final:true (in Rust the feature \
             `profiling` and _RJEM_MALLOC_CONF) and give `heapscribe report` the jeprof.*.heap that it writes."
        }
        LinkedHeap::Mimalloc => {
            "mimalloc is linked in, so its calls are not seen. Link libmimalloc.so instead of the archive, or \
             leave it out for a recording; MIMALLOC_SHOW_STATS=1 prints its own figures."
        }
        LinkedHeap::Tcmalloc => {
            "tcmalloc is linked in, so its calls are not seen. Link libtcmalloc.so instead of the archive, or run \
             with HEAPPROFILE=heap and give `heapscribe report` the heap.*.heap that it writes."
        }
        LinkedHeap::Snmalloc => {
            "snmalloc is linked in, so its calls are not seen. Leave it out for a recording."
        }
        LinkedHeap::PartitionAlloc => {
            "PartitionAlloc is linked in, so its calls are not seen. Build with use_partition_alloc_as_malloc=false."
        }
        LinkedHeap::Boehm => {
            "Boehm's collector maps its heap itself, so its blocks are not seen. GC_PRINT_STATS=1 prints its figures."
        }
        LinkedHeap::Go => {
            "Go's heap is its runtime's own, so its objects are not seen. `heapscribe report` reads the heap \
             profiles of runtime/pprof."
        }
        LinkedHeap::Jvm => "Java objects live in the JVM's own heap, which is not seen.",
        LinkedHeap::V8 => "JavaScript objects live in V8's own heap, which is not seen.",
        LinkedHeap::Python => RUNTIMES[0].hint,
        LinkedHeap::Ocaml => {
            "OCaml's heap is its runtime's own, so its values are not seen. `heapscribe report` reads the traces \
             of memtrace."
        }
    }
}

impl Explained {
    /// What a recording explains; `None` where too little grew, or nothing was sampled.
    pub fn of(answer: &Answer, resolver: &Resolver) -> Option<Explained> {
        let mut coverage = Coverage::default();
        answer.processes.iter().filter_map(|process| process.coverage).for_each(|of| coverage.add(&of));
        let heaps =
            if coverage.known_share()? < LOW { unseen_heaps(&answer.tree, resolver) } else { Vec::new() };
        let heaps = heaps.into_iter().filter(|of: &UnseenHeap| !is_avoided(answer, of.name)).collect();
        Some(Explained { coverage, heaps })
    }

    /// The share, 0 to 1.
    pub fn share(&self) -> f64 {
        self.coverage.share().unwrap_or(1.0)
    }

    /// Whether it is so little that it needs words.
    pub fn is_low(&self) -> bool {
        self.coverage.known_share().unwrap_or(1.0) < LOW
    }

    /// Whether the heap's share alone is so little that it is said first, although the program's own mappings may be the rest.
    pub(crate) fn is_heap_low(&self) -> bool {
        self.share() < LOW
    }

    /// The figure as a sentence.
    pub(crate) fn sentence(&self) -> String {
        let [heap, growth] = [self.coverage.heap_bytes, self.coverage.growth_bytes].map(short_bytes);
        let share = self.share() * 100.0;
        let mapped = match self.coverage.mapped_bytes {
            0 => String::new(),
            bytes => format!(" The program's own mappings may explain {} more.", short_bytes(bytes)),
        };
        format!(
            "The recorded heap explains about {share:.0} % of the growth of anonymous memory ({heap} of \
             {growth}).{mapped}"
        )
    }

    /// What the rest may be, and what to do, a paragraph each.
    pub(crate) fn why(&self) -> Vec<String> {
        if self.heaps.is_empty() {
            let why = "The rest is what the heap kept of freed blocks, or what the program mapped itself: `heapscribe \
                       snapshot PID --pages` tells them apart while it runs, `record --track-mmap` records who mapped.";
            return vec![why.to_owned()];
        }
        self.heaps.iter().map(|of| format!("{}: {}", of.file, of.hint)).collect()
    }
}

/// Those of the program of a snapshot whose recorded heap is such a share of the memory; none when it is most of it.
pub fn of_snapshot(tree: &CallTree, share: f64, resolver: &Resolver) -> Vec<UnseenHeap> {
    if share < LOW { unseen_heaps(tree, resolver) } else { Vec::new() }
}

/// The heaps in the files of a program that are not recorded.
fn unseen_heaps(tree: &CallTree, resolver: &Resolver) -> Vec<UnseenHeap> {
    let mut heaps: Vec<UnseenHeap> = Vec::new();
    for runtime in &RUNTIMES {
        if let Some(file) = file_of(tree, runtime.files) {
            heaps.push(UnseenHeap { name: runtime.name, file, hint: runtime.hint });
        }
    }
    for module in &tree.modules {
        let (path, build_id) = (lossy(&module.path).to_string(), module.build_id.clone());
        let file = path.rsplit('/').next().unwrap_or(&path).to_owned();
        if OTHER_HEAPS.iter().any(|heap| is_named(&file, heap)) {
            continue;
        }
        for heap in resolver.linked_heaps(&Module { path, build_id }) {
            if !heaps.iter().any(|of| of.name == heap.name()) {
                heaps.push(UnseenHeap { name: heap.name(), file: file.clone(), hint: hint(heap) });
            }
        }
    }
    heaps
}

/// Whether a process has in the recorded heap what would be in this one.
fn is_avoided(answer: &Answer, heap: &str) -> bool {
    AVOIDABLE.iter().any(|(name, language)| *name == heap && are_in_heap(answer, *language))
}

/// The hints of runtimes with heaps of their own that a program has loaded.
pub(crate) fn runtimes(answer: &Answer) -> impl Iterator<Item = &'static str> {
    RUNTIMES
        .iter()
        .filter(|runtime| !is_avoided(answer, runtime.name))
        .filter(|runtime| file_of(&answer.tree, runtime.files).is_some())
        .map(|runtime| runtime.hint)
}

/// Whether the heap under the program is another than libc's.
pub(crate) fn has_other_heap(answer: &Answer) -> bool {
    answer.processes.iter().any(|process| process.heap.is_some())
        || file_of(&answer.tree, &OTHER_HEAPS).is_some()
}

/// Whether a heap of these modules is glibc's: its C library is among them, and no heap that takes the place of its own.
pub fn is_glibc(modules: &[answer::Module]) -> bool {
    file_among(modules, &["libc.so.6", "libc-2."]).is_some() && file_among(modules, &OTHER_HEAPS).is_none()
}

/// The first file with one of these names that a program has loaded.
fn file_of(tree: &CallTree, files: &[&str]) -> Option<String> {
    file_among(&tree.modules, files)
}

fn file_among(modules: &[answer::Module], files: &[&str]) -> Option<String> {
    let paths = modules.iter().map(|module| lossy(&module.path));
    let mut names = paths.map(|path| path.rsplit('/').next().unwrap_or(&path).to_owned());
    names.find(|name| files.iter().any(|file| is_named(name, file)))
}

/// `python3.11` is a `python3`, and `php8.2` a `php`; `nodejs` and `phpize` are not meant by chance.
fn is_named(name: &str, file: &str) -> bool {
    let rest = name.strip_prefix(file);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::Process;

    use super::*;

    fn check(coverage: &[(u64, u64)], files: &[&str], expected: Option<(&str, &[&str])>) {
        let process = |&(heap_bytes, growth_bytes): &(u64, u64)| Process {
            coverage: Some(Coverage { growth_bytes, heap_bytes, mapped_bytes: 0 }),
            ..Process::default()
        };
        let module = |path: &&str| answer::Module { path: path.as_bytes().to_vec(), build_id: Vec::new() };
        let tree = CallTree { modules: files.iter().map(module).collect(), ..CallTree::default() };
        let processes = coverage.iter().map(process).collect();
        let answer = Answer { tree, processes, ..Answer::default() };
        let explained = Explained::of(&answer, &Resolver::new("/nowhere"));
        let found = explained.as_ref().map(|of| (of.sentence(), of.heaps.iter().map(|h| h.name).collect()));
        let found: Option<(String, Vec<&str>)> = found;
        assert_eq!(found.is_some(), expected.is_some(), "{found:?}");
        if let (Some((sentence, heaps)), Some((words, names))) = (found, expected) {
            assert!(sentence.contains(words), "{sentence}");
            assert_eq!(heaps, names);
        }
    }

    #[test]
    fn little_is_explained_by_the_files_of_a_runtime() {
        const MIB: u64 = 1 << 20;
        check(&[(MIB, 10 * MIB)], &["/usr/bin/python3.11"], Some(("about 10 %", &["Python"])));
        check(&[(9 * MIB, 10 * MIB)], &["/usr/bin/python3.11"], Some(("about 90 %", &[])));
        check(
            &[(9 * MIB, 10 * MIB), (0, 10 * MIB)],
            &["/bin/app"],
            Some(("about 45 % of the growth of anonymous memory (9.00 MiB of 20.0 MiB)", &[])),
        );
        check(&[(0, MIB)], &["/usr/bin/python3.11"], None);
    }
}
