//! Hints where the heap explains little: runtimes with heaps of their own above malloc, and resident memory that is
//! far above what is live.

use std::io;

use heapscribe_analyze::answer::{Answer, Process};
use heapscribe_units::short_bytes;

use super::findings::wrapped;
use super::out::{Out, heading};
use super::tables;
use crate::coverage::runtimes;

/// Columns of a hint.
const WIDTH: usize = 100;

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

fn hints(answer: &Answer, trace: &str) -> Vec<String> {
    let runtimes = runtimes(answer).map(|hint| wrapped(hint, WIDTH, 2).join("\n"));
    runtimes.chain(unexplained(answer, trace)).collect()
}

/// Of the process that has most of it: pages that several share would count once for each, and of a forked child nobody
/// knows what of its parent's heap it has.
fn unexplained(answer: &Answer, trace: &str) -> Option<String> {
    let processes = answer.processes.iter().filter(|process| !process.is_fork);
    let (more, process) = processes
        .filter_map(|process| Some((process.rss_peak_bytes.checked_sub(heap_bytes(process))?, process)))
        .max_by_key(|(more, _)| *more)?;
    let resident = process.rss_peak_bytes;
    let is_much = more >= UNEXPLAINED_BYTES && more >= resident / 100 * UNEXPLAINED_PERCENT;
    is_much.then(|| {
        let whose = match answer.processes.len() {
            1 => String::new(),
            _ => format!(" of {} ({})", tables::program(process), process.pid),
        };
        let [resident, heap] = [resident, heap_bytes(process)].map(short_bytes);
        format!(
            "The resident memory{whose} reached {resident}, the heap {heap}. `heapscribe plot {trace} -o heap.svg` shows both\n  \
             over time, and `heapscribe replay {trace}` how much of it another heap would need."
        )
    })
}

/// The most that a process held, before the window of a ring, too.
fn heap_bytes(process: &Process) -> u64 {
    process.whole_peak.as_ref().map_or(0, |whole| whole.bytes).max(process.peak.bytes)
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::{CallTree, Module, Peak};

    use super::*;

    fn check(files: &[&str], heap_bytes: u64, resident_bytes: u64, expected: &[&str]) {
        let module = |path: &&str| Module { path: path.as_bytes().to_vec(), build_id: Vec::new() };
        let tree = CallTree { modules: files.iter().map(module).collect(), ..CallTree::default() };
        let peak = Peak { bytes: heap_bytes, ..Peak::default() };
        let process = Process { rss_peak_bytes: resident_bytes, peak, ..Process::default() };
        // Ten children that share its pages add nothing.
        let child = Process { rss_peak_bytes: 100 << 20, is_fork: true, ..Process::default() };
        let processes = [vec![process], vec![child; 10]].concat();
        let answer = Answer { tree, processes, ..Answer::default() };
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
