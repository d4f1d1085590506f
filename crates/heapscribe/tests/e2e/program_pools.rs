//! Figures of pools that a program manages itself say how sure they are, as those of the heap do: where the table of live
//! blocks is full, and where blocks are sampled. The program knows the truth.

use std::path::Path;

use serde_json::Value;

use crate::api::compile;
use crate::disk::Tmpfs;
use crate::support::{Place, Report, Run, may_mount_or_skip};

/// What the program says: allocated, peak and never freed, bytes; and what the report does of its pools.
fn recorded(place: &Place, size: &str, options: &[&Path]) -> ([u64; 3], Value) {
    let program = compile(place, "cc", "pool_rounds.c", "pool_rounds", &[]);
    let run = Run::new(place, program).args([size]).options(options);
    let said = run.recorded();
    assert_eq!(said.code, 0, "{}", said.stderr);
    let truth: Vec<u64> = said.stdout.split_whitespace().map(|word| word.parse().unwrap()).collect();
    (truth.try_into().unwrap(), Report::of(&run.trace()).json["pools"].clone())
}

/// A stranger's program: never freed 7,391,580 bytes of 30,000,000, and a peak of 40,550,680 where no more than 30,000,112
/// were live, without a word.
#[test]
fn beside_a_full_table_they_have_bounds() {
    if !may_mount_or_skip("mount") {
        return;
    }
    let place = Place::new();
    let disk = Tmpfs::new(&place, "16m");
    let ([allocated, peak, leaked], pools) =
        recorded(&place, "1000", &[Path::new("--session-dir"), &disk.at]);
    let bounds = &pools["bounds"];
    assert!(bounds.is_object(), "{pools}");
    for (figure, truth) in [
        (&bounds["allocated"]["bytes"], allocated),
        (&bounds["freed"]["bytes"], allocated - leaked),
        (&bounds["peak_bytes"], peak),
        (&bounds["leaked"]["bytes"], leaked),
        (&pools["stacks"][0]["bounds"]["leaked"]["bytes"], leaked),
    ] {
        let (low, high) = (figure["low"].as_u64().unwrap(), figure["high"].as_u64().unwrap_or(u64::MAX));
        assert!(low <= truth && truth <= high, "{truth} is not in {figure} of {pools}");
    }
    assert!(bounds["leaked"]["bytes"]["low"].as_u64() < bounds["leaked"]["bytes"]["high"].as_u64());
    assert!(bounds["leaked"]["bytes"]["low"].as_u64() > Some(0), "what is in the table was never freed");
}

#[test]
fn of_samples_they_are_estimates() {
    let (place, mut held) = (Place::new(), 0);
    for seed in 1..=10 {
        let seed = seed.to_string();
        let options = ["--sample", "16KiB", "--sample-seed", &seed].map(Path::new);
        let ([allocated, peak, leaked], pools) = recorded(&place, "40", &options);
        assert!(pools["bounds"].is_null());
        assert!(pools["stacks"][0]["sampling"]["leaked"]["bytes"]["standard_error"].as_f64() > Some(0.0));
        let truths = [allocated, allocated - leaked, peak, leaked];
        for (figure, truth) in ["allocated", "freed", "peak", "leaked"].into_iter().zip(truths) {
            let bytes = &pools["sampling"][figure]["bytes"];
            let [low, high] = [0, 1].map(|end| bytes["interval"][end].as_f64().unwrap());
            held += u32::from(low <= truth as f64 && truth as f64 <= high);
            assert!(bytes["standard_error"].as_f64() > Some(0.0));
        }
    }
    assert!(held >= 34, "{held} of 40 ranges hold the truth");
}
