//! Estimates of real sampled recordings against the recording of every block: right on average, and within their
//! ranges in 95 of 100.

use std::collections::BTreeMap;

use crate::support::{Place, Report, Run};
use serde_json::Value;

const SEEDS: u32 = 20;

/// Temporary blocks and their bytes of each line of the program that allocates: a figure of the recording of every
/// block, or what it is estimated as and from where to where.
fn temporaries(
    report: &Report,
    figure: impl Fn(&Value, &str) -> [f64; 3],
) -> BTreeMap<String, [[f64; 3]; 2]> {
    let stacks = report.json["stacks"].as_array().unwrap().iter();
    let own = stacks.filter(|stack| stack["frames"][0]["function"].is_string());
    let line = |stack: &Value| {
        let frame = &stack["frames"][0];
        format!("{} {}", frame["function"], frame["line"])
    };
    own.map(|stack| (line(stack), ["blocks", "bytes"].map(|unit| figure(stack, unit)))).collect()
}

fn exact(stack: &Value, unit: &str) -> [f64; 3] {
    let key = if unit == "blocks" { "count" } else { unit };
    [stack["temporary"][key].as_f64().unwrap(); 3]
}

fn estimated(stack: &Value, unit: &str) -> [f64; 3] {
    let of = &stack["sampling"]["temporary"][unit];
    [&of["estimate"], &of["interval"][0], &of["interval"][1]].map(|value| value.as_f64().unwrap())
}

/// A block is temporary whether a sample hits the block that it is resized to or not, and it is not when its thread
/// has allocated others before, whether a sample hits those or not.
#[test]
fn resized_blocks_are_as_temporary_as_they_are() {
    let place = Place::new();
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../preload/include");
    let program = place.compile_with("cc", "temporaries.c", "temporaries", &[include]);
    let report = |options: &[&str]| {
        let run = Run::new(&place, &program).options(options);
        let ended = run.recorded();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        Report::of(&run.trace())
    };
    let truth = temporaries(&report(&[]), exact);
    let all: f64 = truth.values().map(|[blocks, _]| blocks[0]).sum();
    assert_eq!(all, (1500 + 500 + 1000 + 500) as f64, "{truth:?}");
    let (mut asked, mut held, mut sums) = (0, 0, BTreeMap::<&str, [f64; 2]>::new());
    for seed in 1..=SEEDS {
        let report = report(&["--sample", "32KiB", "--sample-seed", &seed.to_string()]);
        let found = temporaries(&report, estimated);
        for (line, of_line) in &truth {
            for (unit, true_figures) in of_line.iter().enumerate() {
                let truth = true_figures[0];
                let [estimate, low, high] = found.get(line).map_or([0.0; 3], |of_line| of_line[unit]);
                assert!(
                    truth > 0.0 || estimate == 0.0,
                    "{line} has no temporary block, seed {seed}: {estimate}"
                );
                sums.entry(line).or_default()[unit] += estimate / truth.max(1.0) / f64::from(SEEDS);
                asked += u32::from(truth > 0.0);
                held += u32::from(truth > 0.0 && low <= truth && truth <= high);
            }
        }
    }
    println!("{held} of {asked} ranges hold the truth; means by line: {sums:?}");
    for (line, means) in &sums {
        let is_near = |mean: &f64| *mean == 0.0 || (0.97..1.03).contains(mean);
        assert!(means.iter().all(is_near), "{line}: {means:?} of the truth on average");
    }
    assert!(held * 100 >= asked * 92, "{held} of {asked} ranges hold the truth");
}

/// With a seed all processes drew the same numbers: the sum of equal ones was as uncertain as one of them.
#[test]
fn equal_processes_have_samples_of_their_own() {
    let place = Place::new();
    let program = place.compile("worker.c");
    let workers = "for i in 1 2 3 4 5 6; do \"$0\" -n 3000 > /dev/null; done";
    let run = Run::new(&place, "sh").args(["-c", workers]).args([&program]);
    let run = run.options(["--sample", "16KiB", "--sample-seed", "1"]);
    assert_eq!(run.recorded().code, 0);
    let report = Report::of(&run.trace());
    let processes = report.json["processes"].as_array().unwrap().iter();
    let workers = processes.filter(|process| process["exe"].as_str() == program.to_str());
    let allocated: Vec<u64> = workers.map(|process| process["bytes_allocated"].as_u64().unwrap()).collect();
    assert_eq!(allocated.len(), 6);
    assert!(allocated.iter().any(|bytes| *bytes != allocated[0]), "{allocated:?}");
}
