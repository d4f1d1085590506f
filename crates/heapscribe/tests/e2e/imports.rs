//! Profiles that other programs write here and now, held against their own readers: equal sums and equal stacks.
//!
//! | writer | reader | Debian package |
//! |---|---|---|
//! | jemalloc | `jeprof` | libjemalloc2, libjemalloc-dev |
//! | gperftools | `google-pprof` | libgoogle-perftools-dev, google-perftools |
//! | Go's runtime | `go tool pprof` | golang-go |
//! | massif, DHAT | `ms_print`, DHAT itself | valgrind |

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Place, has, heapscribe, skip};

const FLAGS: &[&str] = &["-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"];

fn library(name: &str) -> Option<PathBuf> {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
    folders.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Stacks from `main` to `make`, which asks for all blocks of the program, without what else a writer has in them.
fn stacks(folded: &str) -> BTreeMap<String, u64> {
    let mut stacks = BTreeMap::new();
    for (frames, width) in folded.lines().filter_map(|line| line.rsplit_once(' ')) {
        let names: Vec<_> = frames.split(';').map(|frame| frame.split('<').next().unwrap()).collect();
        let end = |name: &str| names.iter().position(|of| *of == name);
        let (Some(main), Some(make)) = (end("main"), end("make")) else { continue };
        let bytes = width.parse::<f64>().unwrap() as u64;
        // jeprof prints stacks that hold nothing any more.
        if bytes > 0 {
            *stacks.entry(names[main..=make].join(";")).or_default() += bytes;
        }
    }
    stacks
}

/// What heapscribe reads of a profile: folded stacks of a figure.
fn read_here(place: &Place, profile: &Path, metric: &str) -> String {
    let out = place.path("out.folded");
    let mut flame = heapscribe();
    printed(flame.arg("flame").arg(profile).arg("-o").arg(&out).args(["--metric", metric]));
    std::fs::read_to_string(&out).unwrap()
}

fn total(folded: &str) -> u64 {
    folded
        .lines()
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(_, width)| width.parse::<u64>().unwrap())
        .sum()
}

/// Sums of a reader that keeps fractions of bytes: each stack and the total differ by less than one for each stack.
fn check_alike(here: &str, theirs: &str) {
    let (ours, other) = (stacks(here), stacks(theirs));
    assert_eq!(ours.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    assert!(ours.len() >= 2, "{here}");
    for (stack, bytes) in &ours {
        assert!(bytes.abs_diff(other[stack]) <= 1, "{stack}: {bytes} and {}", other[stack]);
    }
    let theirs: f64 = theirs.lines().filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum();
    assert!(total(here).abs_diff(theirs as u64) <= ours.len() as u64 + 2, "{} and {theirs}", total(here));
}

/// The profile that a program leaves in a directory.
fn left_in(directory: &Path) -> PathBuf {
    let is_heap = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "heap");
    let mut files = directory.read_dir().unwrap().map(|file| file.unwrap().path());
    files.find(is_heap).expect("the program wrote a profile")
}

fn check_jemalloc(options: &str, metric: &str, kind: &str) {
    let Some(library) = library("libjemalloc.so.2").filter(|_| has("jeprof")) else {
        return skip("jemalloc or jeprof is not there (apt-get install libjemalloc2 libjemalloc-dev)");
    };
    let place = Place::new();
    let program = place.compile_with("cc", "blocks.c", "blocks", FLAGS);
    let directory = place.path("profile");
    std::fs::create_dir(&directory).unwrap();
    let mut run = Command::new(&program);
    run.current_dir(&directory).env("LD_PRELOAD", library);
    let options = format!("prof:true,prof_final:true,prof_prefix:jeprof,{options}");
    printed(run.env("MALLOC_CONF", options));
    let profile = left_in(&directory);
    let theirs = printed(
        Command::new("jeprof").args(["--collapsed", "--show_bytes", kind]).arg(&program).arg(&profile),
    );
    check_alike(&read_here(&place, &profile, metric), &theirs);
}

#[test]
fn jeprof_and_we_read_alike_what_jemalloc_recorded_in_whole() {
    check_jemalloc("lg_prof_sample:0", "leaked", "--inuse_space");
}

#[test]
fn jeprof_and_we_make_the_same_estimates_of_samples() {
    check_jemalloc("lg_prof_sample:8,prof_accum:true", "leaked", "--inuse_space");
    check_jemalloc("lg_prof_sample:8,prof_accum:true", "allocated", "--alloc_space");
}

#[test]
fn google_pprof_and_we_read_alike_what_gperftools_recorded() {
    let Some(library) = library("libtcmalloc.so.4").filter(|_| has("google-pprof")) else {
        return skip(
            "tcmalloc or google-pprof is not there (apt-get install google-perftools libgoogle-perftools-dev)",
        );
    };
    let place = Place::new();
    let program = place.compile_with("cc", "blocks.c", "blocks", FLAGS);
    let directory = place.path("profile");
    std::fs::create_dir(&directory).unwrap();
    let mut run = Command::new(&program);
    printed(run.env("LD_PRELOAD", library).env("HEAPPROFILE", directory.join("run")));
    let profile = left_in(&directory);
    for (metric, kind) in [("leaked", "--inuse_space"), ("allocated", "--alloc_space")] {
        let mut read = Command::new("google-pprof");
        let theirs = printed(read.args(["--collapsed", "--show_bytes", kind]).arg(&program).arg(&profile));
        let here = read_here(&place, &profile, metric);
        check_alike(&here, &theirs);
        assert_eq!(stacks(&here)["main;keep_many;make"], 40_000);
    }
}

/// Bytes of each function that allocates, as `go tool pprof` has them.
fn of_functions(profile: &Path, kind: &str) -> BTreeMap<String, u64> {
    let mut read = Command::new("go");
    read.args(["tool", "pprof", "-top", "-unit=b", "-nodecount=100000", "-nodefraction=0"]);
    let text = printed(read.arg(format!("-sample_index={kind}")).arg(profile));
    let rows = text.lines().skip_while(|line| !line.contains("flat%")).skip(1).map(str::trim);
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let flat = words.next()?.trim_end_matches('B').parse::<u64>().ok()?;
        let name = words.nth(4)?.to_owned();
        (flat > 0).then_some((name, flat))
    };
    rows.filter_map(row).collect()
}

#[test]
fn pprof_and_we_read_alike_what_go_recorded() {
    if !has("go") {
        return skip("go is not there (apt-get install golang-go)");
    }
    let place = Place::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/blocks.go");
    let profile = place.path("go.pb.gz");
    let mut run = Command::new("go");
    run.current_dir(place.path("."))
        .env("GOCACHE", place.path("cache"))
        .env("GOFLAGS", "")
        .env("GO111MODULE", "off");
    printed(run.arg("run").arg(source).arg(&profile));
    for (metric, kind) in [("leaked", "inuse_space"), ("allocated", "alloc_space")] {
        let mut here: BTreeMap<String, u64> = BTreeMap::new();
        for (frames, width) in
            read_here(&place, &profile, metric).lines().filter_map(|line| line.rsplit_once(' '))
        {
            let leaf = frames.rsplit(';').next().unwrap().to_owned();
            *here.entry(leaf).or_default() += width.parse::<u64>().unwrap();
        }
        assert!(here["main.keepMany"] >= 40 * 1024, "{here:?}");
        assert_eq!(here, of_functions(&profile, kind), "{kind}");
        // What we make of it names functions and files as Go does, and no file that is none.
        let ours = place.path("ours.pb.gz");
        printed(heapscribe().args(["convert", "--to", "pprof", "--force", "-o"]).args([&ours, &profile]));
        assert_eq!(of_functions(&ours, kind), here, "{kind}");
    }
    let raw = printed(Command::new("go").args(["tool", "pprof", "-raw"]).arg(place.path("ours.pb.gz")));
    assert!(!raw.contains("place:") && raw.contains("PeriodType: space bytes"), "{raw}");
}

/// The numbers of a line, without commas.
fn numbers(line: &str) -> Vec<u64> {
    let digits = line.replace(',', "");
    digits.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn dhat_prints_the_sums_that_we_read() {
    if !has("valgrind") {
        return skip("valgrind is not there (apt-get install valgrind)");
    }
    let place = Place::new();
    let program = place.compile_with("cc", "blocks.c", "blocks", FLAGS);
    let file = place.path("dhat.out");
    let mut run = Command::new("valgrind");
    run.arg("--tool=dhat").arg(format!("--dhat-out-file={}", file.display())).arg(program);
    let printed_by_dhat = String::from_utf8(run.output().unwrap().stderr).unwrap();
    let of = |title: &str| {
        let line = printed_by_dhat.lines().find_map(|line| line.split_once(title)).map(|(_, rest)| rest);
        numbers(line.unwrap_or_else(|| panic!("{title}: {printed_by_dhat}")))[..2].to_vec()
    };
    let mut report = heapscribe();
    let report: serde_json::Value =
        serde_json::from_str(&printed(report.args(["report", "--json"]).arg(&file))).unwrap();
    for (title, key) in [("Total:", "allocated"), ("At t-gmax:", "at_peak"), ("At t-end:", "live")] {
        let read = [&report[key]["bytes"], &report[key]["blocks"]].map(|figure| figure.as_u64().unwrap());
        assert_eq!(read.to_vec(), of(title), "{title}");
    }
}

/// The largest tree: what `ms_print` has of the functions that ask `make` for blocks.
#[test]
fn ms_print_and_we_read_alike_what_massif_recorded() {
    if !has("valgrind") || !has("ms_print") {
        return skip("valgrind or ms_print is not there (apt-get install valgrind)");
    }
    let place = Place::new();
    let program = place.compile_with("cc", "blocks.c", "blocks", FLAGS);
    let file = place.path("massif.out");
    let mut run = Command::new("valgrind");
    printed(run.arg("--tool=massif").arg(format!("--massif-out-file={}", file.display())).arg(program));
    let tree = printed(Command::new("ms_print").arg(&file));
    let of = |function: &str| {
        let lines = tree.lines().filter(|line| line.contains(&format!(": {function} (")));
        let bytes = |line: &str| numbers(line.split_once("% (")?.1.split_once("B)")?.0).first().copied();
        lines.filter_map(bytes).max().unwrap_or(0)
    };
    let here = stacks(&read_here(&place, &file, "peak"));
    assert!(of("keep_many") >= 40_000, "{tree}");
    assert_eq!(here.get("main;keep_many;make"), Some(&of("keep_many")), "{tree}");
}
