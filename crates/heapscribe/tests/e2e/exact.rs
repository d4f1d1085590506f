//! The report counts as the program does: every call of every thread, per kind, also where the heap is
//! another one that gives out blocks 8 bytes apart.

use std::path::Path;

use crate::support::{Calls, Counted, Place, Report, Run, skip};

struct Worker<'a> {
    threads: u64,
    rounds: u64,
    size_max: u64,
    heap: Option<&'a Path>,
}

impl Worker<'_> {
    /// What the worker counted, and the report on it.
    fn run(&self, place: &Place, program: &Path, rounds: u64) -> (Calls, Report) {
        let counts = place.path(&format!("counts.{rounds}"));
        let numbers = [self.threads, rounds, self.size_max].map(|n| n.to_string());
        let [threads, rounds, size_max] = &numbers;
        let mut run = Run::new(place, program)
            .args(["-j", threads, "-n", rounds, "-s", size_max])
            .env("COUNTS", &counts);
        if let Some(heap) = self.heap {
            run = run.env("LD_PRELOAD", heap);
        }
        let ended = run.recorded();
        assert_eq!((ended.code, ended.stdout.as_str()), (0, "work done\n"), "{}", ended.stderr);
        (Counted::read(&counts).calls, Report::of(&run.trace()))
    }

    fn check(&self) {
        let place = Place::new();
        let program = place.compile("worker.c");
        let (_, idle) = self.run(&place, &program, 0);
        let (counted, report) = self.run(&place, &program, self.rounds);
        report.assert_whole(&["stack_no_info"]);
        assert_eq!(report.calls() - idle.calls(), counted);
        assert_threads_add_up(&report, self.threads);
    }
}

fn assert_threads_add_up(report: &Report, workers: u64) {
    let threads = report.json["threads"].as_array().unwrap();
    let sum = |kind: &str| threads.iter().map(|t| t["calls"][kind].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("total"), report.calls().all());
    assert_eq!(sum("free"), report.calls().free);
    assert_eq!(threads.len() as u64, workers + 1);
    let processes = report.processes().iter().map(|p| p["calls"]["total"].as_u64().unwrap());
    assert_eq!(processes.sum::<u64>(), report.calls().all());
}

#[test]
fn one_thread() {
    Worker { threads: 1, rounds: 300_000, size_max: 900, heap: None }.check();
}

#[test]
fn eight_threads() {
    Worker { threads: 8, rounds: 100_000, size_max: 5000, heap: None }.check();
}

#[test]
fn a_hundred_threads() {
    Worker { threads: 100, rounds: 2_000, size_max: 300, heap: None }.check();
}

/// redis on libjemalloc: its 8-byte class must not collide in the live table.
#[test]
fn blocks_of_eight_bytes() {
    for heap in ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libtcmalloc.so.4"] {
        let heap = Path::new("/usr/lib/x86_64-linux-gnu").join(heap);
        if heap.exists() {
            println!("{}", heap.display());
            Worker { threads: 4, rounds: 100_000, size_max: 8, heap: Some(&heap) }.check();
        } else {
            skip(format_args!("{} is not there", heap.display()));
        }
    }
}
