//! Hints where the heap explains little: runtimes with heaps of their own above malloc, and resident memory that is
//! far above what is live.

use std::io;

use heapscribe_analyze::answer::{Answer, Module};
use heapscribe_symbols::lossy;
use heapscribe_units::short_bytes;

use super::out::{Out, heading};

/// A runtime that has a heap of its own.
struct Runtime {
    /// What the names of its files begin with.
    files: &'static [&'static str],
    hint: &'static str,
}

const RUNTIMES: [Runtime; 6] = [
    Runtime {
        files: &["python3", "libpython3"],
        hint: "Python takes objects of up to 512 bytes from arenas of its own, which are not seen. Run it with\n  \
               PYTHONMALLOC=malloc to see each of them.",
    },
    Runtime {
        files: &["php", "libphp"],
        hint: "PHP has a heap of its own above malloc (Zend), of which only large pieces are seen. Run it with\n  \
               USE_ZEND_ALLOC=0 to see each block.",
    },
    Runtime {
        files: &["node", "libnode", "libv8"],
        hint: "JavaScript objects live in V8's own heap, which is not seen: it is in the resident memory only.\n  \
               `node --heapsnapshot-signal=SIGUSR2` writes what is in it.",
    },
    Runtime {
        files: &["libjvm.so"],
        hint: "Java objects live in the JVM's own heap, which is not seen: it is in the resident memory only.\n  \
               `jcmd PID GC.class_histogram` lists what is in it.",
    },
    Runtime {
        files: &["libxul.so", "libmozglue.so"],
        hint: "This program has a heap linked in (mozjemalloc). What it does not ask malloc for is not seen.",
    },
    Runtime {
        files: &["libcoreclr.so", "libmonosgen"],
        hint: ".NET objects live in a heap of their own, which is not seen: it is in the resident memory only.",
    },
];

/// Resident memory above the peak of the heap is worth a hint from this size on, and from this part of it.
const UNEXPLAINED_BYTES: u64 = 32 << 20;
const UNEXPLAINED_PERCENT: u64 = 50;

/// The section; nothing where there is nothing to hint at.
pub(super) fn section(out: Out<'_>, answer: &Answer, trace: &str) -> io::Result<()> {
    let hints = hints(answer, trace);
    if hints.is_empty() {
        return Ok(());
    }
    heading(out, "Hints")?;
    hints.iter().try_for_each(|hint| writeln!(out, "  {hint}"))
}

/// What there is to say of the runtime that a program runs on, if it has a heap of its own.
pub(super) fn runtime(answer: &Answer) -> Option<String> {
    runtimes(answer).into_iter().next().map(|hint| hint.replace("\n  ", " "))
}

fn hints(answer: &Answer, trace: &str) -> Vec<String> {
    runtimes(answer).into_iter().map(str::to_owned).chain(unexplained(answer, trace)).collect()
}

/// The runtimes with heaps of their own that a program has loaded.
fn runtimes(answer: &Answer) -> Vec<&'static str> {
    RUNTIMES.iter().filter(|runtime| has_file(answer, runtime.files)).map(|runtime| runtime.hint).collect()
}

/// Libraries with a heap in the place of libc's.
const OTHER_HEAPS: [&str; 5] =
    ["libjemalloc", "libtcmalloc", "libtcmalloc_minimal", "libmimalloc", "libsnmalloc"];

/// Whether the heap under the program is another than libc's.
pub(super) fn has_other_heap(answer: &Answer) -> bool {
    answer.processes.iter().any(|process| process.heap.is_some()) || has_file(answer, &OTHER_HEAPS)
}

/// Whether a heap of these modules is glibc's: its C library is among them, and no heap that takes the place of its own.
pub fn is_glibc(modules: &[Module]) -> bool {
    has_one(modules, &["libc.so.6", "libc-2."]) && !has_one(modules, &OTHER_HEAPS)
}

/// Whether a program has loaded a file of such a name.
fn has_file(answer: &Answer, files: &[&str]) -> bool {
    has_one(&answer.tree.modules, files)
}

fn has_one(modules: &[Module], files: &[&str]) -> bool {
    let paths = modules.iter().map(|module| lossy(&module.path));
    let mut names = paths.map(|path| path.rsplit('/').next().unwrap_or(&path).to_owned());
    names.any(|name| files.iter().any(|file| is_named(&name, file)))
}

/// `python3.11` is a `python3`, and `php8.2` a `php`; `nodejs` and `phpize` are not meant by chance.
fn is_named(name: &str, file: &str) -> bool {
    let rest = name.strip_prefix(file);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

fn unexplained(answer: &Answer, trace: &str) -> Option<String> {
    let resident = answer.timeline.steps.iter().map(|step| step.rss_bytes).max()?;
    let more = resident.checked_sub(answer.peak.bytes)?;
    let is_much = more >= UNEXPLAINED_BYTES && more >= resident / 100 * UNEXPLAINED_PERCENT;
    is_much.then(|| {
        let [resident, heap] = [resident, answer.peak.bytes].map(short_bytes);
        format!(
            "The resident memory reached {resident}, the heap {heap}. `heapscribe plot {trace} -o heap.svg` shows both\n  \
             over time, and `heapscribe replay {trace}` how much of it another heap would need."
        )
    })
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::{CallTree, Step, Timeline};

    use super::*;

    fn check(files: &[&str], heap_bytes: u64, resident_bytes: u64, expected: &[&str]) {
        let module = |path: &&str| Module { path: path.as_bytes().to_vec(), build_id: Vec::new() };
        let tree = CallTree { modules: files.iter().map(module).collect(), ..CallTree::default() };
        let step = Step { rss_bytes: resident_bytes, ..Step::default() };
        let timeline = Timeline { begin_ns: 0, step_ns: 1, steps: vec![step] };
        let mut answer = Answer { tree, timeline, ..Answer::default() };
        answer.peak.bytes = heap_bytes;
        let hints = hints(&answer, "run.hst");
        assert_eq!(hints.len(), expected.len(), "{hints:?}");
        for (hint, word) in hints.iter().zip(expected) {
            assert!(hint.contains(word), "{hint}");
        }
    }

    #[test]
    fn runtimes_are_known_by_their_files() {
        check(&["/usr/bin/python3.11", "/lib/libc.so.6"], 0, 0, &["PYTHONMALLOC=malloc"]);
        check(&["/usr/lib/libpython3.11.so.1.0"], 0, 0, &["PYTHONMALLOC=malloc"]);
        check(&["/usr/bin/php8.2", "/usr/bin/node"], 0, 0, &["USE_ZEND_ALLOC=0", "V8"]);
        check(&["/usr/lib/jvm/lib/server/libjvm.so"], 0, 0, &["JVM"]);
        check(&["/usr/bin/phpize", "/usr/bin/app"], 0, 0, &[]);
    }

    #[test]
    fn much_resident_memory_is_worth_a_hint() {
        check(&[], 10 << 20, 100 << 20, &["heapscribe replay run.hst"]);
        check(&[], 1 << 20, 20 << 20, &[]);
        check(&[], 90 << 20, 130 << 20, &[]);
        check(&[], 10 << 20, 0, &[]);
    }
}
