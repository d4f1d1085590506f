//! `replay` and `pool-size` as their users see them, of small traces. How long calls took is in no snapshot.

use crate::sample;
use crate::see::Place;

#[test]
fn what_a_pool_size_comes_from() {
    let place = Place::with_trace(&sample::trace());
    let (code, stdout, stderr) = place.all("pool-size run.hst");
    insta::assert_snapshot!(format!("{stdout}\n{stderr}exit code {code:?}"));
}

#[test]
fn a_pool_size_as_json() {
    insta::assert_snapshot!(Place::with_trace(&sample::tiny()).stdout("pool-size run.hst --json"));
}

/// Live bytes at each moment do not depend on the heap.
#[test]
fn live_bytes_over_time_are_those_of_the_trace() {
    let place = Place::with_trace(&sample::trace());
    let (code, stdout, _) = place.all("replay run.hst --heap tlsf --rounds 0 --touch none --json --pid 100");
    let by_name = place.all("replay run.hst --heap tlsf --rounds 0 --touch none --json --process ap?").1;
    let process = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap()["process"].clone();
    assert_eq!(process(&by_name), process(&stdout));
    let (_, _, told) = place.all("replay run.hst --process other");
    assert!(told.contains("process other is not in the trace"), "{told}");
    assert!(told.contains("choose one of: app (100)"), "{told}");
    assert_eq!(code, Some(3), "events of it were lost");
    let found: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let moments = found["heaps"][0]["footprint"]["moments"].as_array().unwrap().iter();
    let lives: Vec<u64> = moments.map(|moment| moment["live_bytes"].as_u64().unwrap()).collect();
    insta::assert_compact_debug_snapshot!(lives);
    // 2,000,000 and twice 4,096 bytes, as in the report. Two frees name blocks that never came, and are not made:
    // with the 10 bytes that a block from before became, the heaps had that much more.
    assert_eq!((&found["peak_live_bytes"], &found["calls"]), (&2_008_192.into(), &9.into()));
}

#[test]
fn what_is_refused() {
    let place = Place::with_trace(&sample::sampled());
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/fixtures");
    let first = |folder: &str, ending: &str| {
        let files = std::fs::read_dir(fixtures.join(folder)).unwrap().flatten().map(|entry| entry.path());
        files.filter(|path| path.extension().is_some_and(|e| e == ending)).min().unwrap()
    };
    std::fs::copy(first("memtrace", "ctf"), place.path("ocaml.ctf")).unwrap();
    std::fs::write(place.path("go.trace"), b"go 1.21 trace\0\0\0").unwrap();
    let whole = sample::trace();
    std::fs::write(place.path("cut.hst"), &whole[..200]).unwrap();
    let refused = [
        "replay cut.hst",
        "replay run.hst",
        "pool-size run.hst",
        "pool-size ocaml.ctf",
        "pool-size go.trace",
        "replay run.hst --heap ./nothing.so",
        "replay run.hst -o heaps.jpg",
        "pool-size run.hst --margin much",
    ]
    .map(|arguments| format!("$ heapscribe {arguments}\n{}\n", place.failure(arguments)));
    insta::assert_snapshot!(refused.join("\n"));
}
