//! Campaigns: the end-to-end tests that meet chance, run for longer, with a summary of a line each.
//!
//! ```text
//!   cargo run -p xtask -- campaign kill [TARGETS [RECORDS]]   kill -9 at random moments   [50 20]
//!   cargo run -p xtask -- campaign fork [ROUNDS]              forks, signals, jumps       [10]
//!   cargo run -p xtask -- campaign disk [ROUNDS]              no room, no rights          [5]
//!   cargo run -p xtask -- campaign stacks [ROUNDS]            frames, jumps, fibers       [20]
//!   cargo run -p xtask -- campaign damage [MUTATIONS]         cut at every byte, mutated  [10000]
//!   cargo run -p xtask -- campaign heaps [PROGRAM...]         programs under every heap   [all]
//!   cargo run -p xtask -- campaign programs [OPTIONS]         packages and small programs   [all]
//!   cargo run -p xtask -- campaign cpython [OPTIONS]          CPython's own tests          [every third module]
//!   cargo run -p xtask -- campaign sample [RUNS [RECORDS [MEAN]]]  ranges hold the truth  [200 20 65536]
//! ```
//! All try the release build. That of programs is in `programs`, that of CPython's tests in `cpython`. The tests themselves are `crates/heapscribe/tests/e2e`;
//! a campaign only says how often. That of
//! sampling records a program in full, samples that trace `RUNS` times (`benches/resample.rs` of
//! heapscribe-bench), and has the recorder sample the program `RECORDS` times.

use std::process::{Command, ExitCode};

use crate::built;

/// One run of end-to-end tests: which, by the beginnings of their paths, and what the environment says of how often.
struct Round<'a> {
    filters: &'a [&'a str],
    environment: &'a [(&'a str, String)],
}

impl Round<'_> {
    /// Runs it; the lines that tell what came of it, and whether all held.
    fn run(&self) -> (Vec<String>, bool) {
        let program = match built::heapscribe() {
            Ok(program) => program,
            Err(why) => return (vec![why], false),
        };
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["test", "-q", "-p", "heapscribe", "--test", "e2e", "--", "--nocapture"]);
        cargo.args(self.filters).envs(self.environment.iter().map(|(name, value)| (name, value)));
        // Tests in the release profile would have all packages built twice, as it aborts where tests unwind.
        cargo.env("HEAPSCRIBE_BIN", program);
        match cargo.output() {
            Ok(output) => {
                let told = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
                if !output.status.success() {
                    eprint!("{}", String::from_utf8_lossy(&output.stderr));
                }
                (told, output.status.success())
            }
            Err(e) => (vec![format!("cargo can not be run: {e}")], false),
        }
    }
}

/// Forks, and what happens inside of signal handlers.
const FORKS: &[&str] =
    &["life::fork", "life::vfork", "life::allocates_in", "life::handler", "life::jumps", "life::daemon"];

/// A filter may stand anywhere in a path, so that other modules have to be named.
const STACKS: &[&str] = &["stacks::", "--skip", "small_stacks::"];

/// `campaign WHAT [COUNTS]`.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let count = |i: usize, default: usize| args.get(i).and_then(|n| n.parse().ok()).unwrap_or(default);
    let all_held = match args.first().map(String::as_str) {
        Some("kill") => kill(count(1, 50), count(2, 20)),
        Some("fork") => repeat("fork", count(1, 10), FORKS),
        Some("stacks") => stacks(count(1, 20)),
        Some("damage") => damage(count(1, 10_000)),
        Some("disk") => repeat("disk", count(1, 5), &["disk::"]),
        Some("heaps") => heaps(&args[1..]),
        Some("programs") => return crate::programs::run(&args[1..]),
        Some("cpython") => return crate::cpython::run(&args[1..]),
        Some("sample") => sample(count(1, 200), count(2, 20), count(3, 64 << 10)),
        _ => {
            eprintln!(
                "usage: xtask campaign kill [TARGETS [RECORDS]] | fork [ROUNDS] | disk [ROUNDS] | stacks [ROUNDS] \
                 | damage [MUTATIONS] | heaps [PROGRAM...] | programs [OPTIONS] | cpython [OPTIONS] | sample [RUNS [RECORDS [MEAN]]]"
            );
            return ExitCode::from(2);
        }
    };
    if all_held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The two halves of the kill test, the second also with a ring.
fn kill(targets: usize, records: usize) -> bool {
    let environment =
        [("HEAPSCRIBE_KILLS", targets.to_string()), ("HEAPSCRIBE_KILLS_OF_RECORD", records.to_string())];
    let rounds = [&["kill::kill_of"], &["ring::kill_of"]];
    let held = |filters| summarized(&Round { filters, environment: &environment }, "kill ");
    let failed = rounds.into_iter().filter(|filters| !held(*filters)).count();
    failed == 0
}

/// What is sampled: a program that does the same each time, with blocks of all sizes.
const SAMPLED: &[&str] = &[
    "/usr/bin/python3",
    "-c",
    "\
import json, re
words = {}
for n in range(400):
    text = json.dumps({'n': n, 'squares': [i * i for i in range(n % 97)], 'name': 'x' * (n % 50)})
    for word in re.findall('[a-z]+|[0-9]+', text):
        words.setdefault(word, []).append(n)
big = [bytearray(size) for size in range(0, 200_000, 997)]
",
];

/// Whether samples tell the truth: of one full trace, and of the recorder.
fn sample(runs: usize, records: usize, mean_bytes: usize) -> bool {
    let directory = std::env::temp_dir().join(format!("heapscribe-campaign-{}", std::process::id()));
    if let Err(e) = std::fs::create_dir(&directory) {
        eprintln!("{}: {e}", directory.display());
        return false;
    }
    let trace = |name: String| directory.join(name).to_string_lossy().into_owned();
    let full = trace("full.hst".to_owned());
    let mut held = cargo(&["build", "--release", "-q", "-p", "heapscribe"]) && record(&full, &[]);
    let mut arguments = vec!["bench", "-q", "-p", "heapscribe-bench", "--bench", "resample", "--"];
    let (number, mean) = (runs.to_string(), mean_bytes.to_string());
    arguments.extend([full.as_str(), number.as_str(), mean.as_str()]);
    let sampled: Vec<String> = (1..=records).map(|seed| trace(format!("{seed}.hst"))).collect();
    for (seed, path) in (1..).zip(&sampled) {
        held &= record(path, &["--sample", mean.as_str(), "--sample-seed", i32::to_string(&seed).as_str()]);
    }
    arguments.extend(sampled.iter().map(String::as_str));
    held = held && cargo(&arguments);
    let _ = std::fs::remove_dir_all(&directory);
    held
}

/// Records the program that is sampled.
fn record(trace: &str, options: &[&str]) -> bool {
    let mut run = vec!["run", "--release", "-q", "-p", "heapscribe", "--", "record", "-q", "-o", trace];
    run.extend(options);
    run.push("--");
    run.extend(SAMPLED);
    cargo(&run)
}

/// Python does the same each time with one seed for its hashes, and all of its blocks are malloc's.
fn cargo(arguments: &[&str]) -> bool {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(arguments).env("PYTHONHASHSEED", "0").env("PYTHONMALLOC", "malloc");
    cargo.status().is_ok_and(|status| status.success())
}

/// A small trace cut at every byte, and changed at random.
fn damage(mutations: usize) -> bool {
    let environment =
        [("HEAPSCRIBE_CUT_STEP", "1".to_owned()), ("HEAPSCRIBE_MUTATIONS", mutations.to_string())];
    summarized(&Round { filters: &["damage::"], environment: &environment }, "damage: ")
}

/// Real programs under the heaps that heapscribe carries and those of the examples.
fn heaps(programs: &[String]) -> bool {
    let programs = if programs.is_empty() { "all".to_owned() } else { programs.join(" ") };
    let environment = [("HEAPSCRIBE_CORPUS", programs)];
    summarized(&Round { filters: &["corpus::"], environment: &environment }, "heaps: ")
}

/// Runs it once; the tests' own lines, which begin with `name`, are the summary.
fn summarized(round: &Round<'_>, name: &str) -> bool {
    let (told, held) = round.run();
    // The test harness may have put its dots in front.
    let summaries =
        told.iter().map(|line| line.trim_start_matches('.')).filter(|line| line.starts_with(name));
    summaries.for_each(|line| println!("{line}"));
    held
}

/// The torture of stacks, each time with other trees of calls.
fn stacks(rounds: usize) -> bool {
    let round = |seed: usize| {
        let environment = [("STACKS_SEED", (seed + 1).to_string())];
        Round { filters: STACKS, environment: &environment }.run()
    };
    repeated("stacks", rounds, round)
}

/// The same tests in each round.
fn repeat(name: &str, rounds: usize, filters: &[&str]) -> bool {
    let round = Round { filters, environment: &[] };
    repeated(name, rounds, |_| round.run())
}

/// Counts the rounds in which everything held.
fn repeated(name: &str, rounds: usize, run: impl Fn(usize) -> (Vec<String>, bool)) -> bool {
    let mut held = 0;
    for number in 0..rounds {
        let (told, all) = run(number);
        held += usize::from(all);
        told.iter().filter(|line| line.starts_with("test result")).for_each(|line| println!("{line}"));
    }
    println!("{name}: {held} of {rounds} rounds without a failure");
    held == rounds
}
