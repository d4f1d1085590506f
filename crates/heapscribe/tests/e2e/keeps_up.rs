//! The drainer beside programs that do nothing but allocate: nothing is lost when they wait for it, what
//! is lost when they do not is counted, and its own memory stays small.

use crate::support::{Place, Report, Run};

/// What the documentation promises.
const DRAINER_BYTES_MAX: u64 = 64 << 20;

struct Case {
    processes: u64,
    threads: u64,
    rounds: u64,
    options: &'static [&'static str],
}

impl Case {
    /// Every malloc, and every free of what was held: each process's `free(malloc(1))` too.
    fn mallocs(&self) -> u64 {
        self.processes * (1 + self.threads * self.rounds)
    }
}

fn check(case: &Case) -> Report {
    let place = Place::new();
    let run = Run::new(&place, place.compile("busy.c"))
        .args([case.processes, case.threads, case.rounds].map(|n| n.to_string()))
        .options(case.options);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = Report::of(&run.trace());
    let drainer = &report.json["drainer"];
    println!("{} processes of {} threads: {drainer}", case.processes, case.threads);
    let peak = drainer["peak_rss_bytes"].as_u64().unwrap();
    assert!(peak > 1 << 20 && peak < DRAINER_BYTES_MAX, "{drainer}");
    assert!(drainer["cpu_ns"].as_u64().unwrap() > 0, "{drainer}");
    report
}

fn mallocs(report: &Report) -> u64 {
    report.json["calls"]["malloc"].as_u64().unwrap()
}

#[test]
fn four_threads_wait_and_nothing_is_lost() {
    let case = Case { processes: 1, threads: 4, rounds: 200_000, options: &["--log-chunks", "4"] };
    let report = check(&case);
    report.assert_whole(&[]);
    assert!(mallocs(&report) >= case.mallocs());
    assert!(report.json["drainer"]["waiting_bytes"].as_u64().unwrap() > 0);
}

#[test]
fn threads_that_do_not_wait_lose_what_is_counted() {
    let options = &["--log-chunks", "2", "--when-full", "drop"];
    let case = Case { processes: 1, threads: 4, rounds: 300_000, options };
    let report = check(&case);
    let (kept, lost) = (report.calls().all(), report.dropped("log_full"));
    // Each malloc has its free; threads have a few calls of their own.
    assert!(kept + lost >= 2 * case.mallocs(), "{kept} and {lost} of {}", 2 * case.mallocs());
}

#[test]
fn hundreds_of_processes_at_a_time_take_little_memory() {
    let case = Case { processes: 300, threads: 2, rounds: 1000, options: &[] };
    let report = check(&case);
    report.assert_whole(&[]);
    assert!(mallocs(&report) >= case.mallocs());
    assert!(report.processes().len() >= 300);
}

#[test]
fn a_hundred_threads_take_little_memory() {
    let case = Case { processes: 2, threads: 100, rounds: 5000, options: &[] };
    let report = check(&case);
    report.assert_whole(&[]);
    assert!(mallocs(&report) >= case.mallocs());
}
