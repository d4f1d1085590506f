//! PHP programs that say which functions their blocks belong to, and at which lines: the trace has the same, frame by
//! frame. PHP's own heap is turned off, so that each block is seen.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::interpreted::{Frames, interpreted_blocks, written_frame};
use crate::support::{Place, Report, Run, skip};

const PHP: &str = "/usr/bin/php";

/// Whether there is a PHP whose frames are read; says so when there is none.
fn has_php() -> bool {
    let ask =
        "echo PHP_MAJOR_VERSION, '.', PHP_MINOR_VERSION, PHP_ZTS, PHP_DEBUG, (int) extension_loaded('ffi');";
    let said = Command::new(PHP).args(["-r", ask]).output().ok();
    let is_known = said.is_some_and(|said| said.stdout == b"8.2001");
    if !is_known {
        skip(format_args!("there is no usual build of PHP 8.2 with FFI (apt-get install php8.2-cli)"));
    }
    is_known
}

fn recorded<'a>(place: &'a Place, program: &str, arguments: &[&str]) -> Run<'a> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(program);
    let run = Run::new(place, Path::new(PHP)).args([program.as_os_str()]).args(arguments.iter().copied());
    run.env("USE_ZEND_ALLOC", "0")
}

/// The lines that a program has written: sizes and frames.
fn written(text: &str) -> Vec<(u64, Frames)> {
    let block = |line: &str| {
        let mut parts = line.split('\t');
        let size = parts.next().unwrap().parse().unwrap();
        (size, parts.map(written_frame).collect())
    };
    text.lines().map(block).collect()
}

/// A function that an exception ends has no line while what it holds is destroyed; nothing else may be missing.
fn is_same(recorded: &Frames, expected: &Frames) -> bool {
    let is_leaving =
        |index: usize| index.checked_sub(1).is_some_and(|inner| recorded[inner].0 == "Shop::__destruct");
    let pairs = recorded.iter().zip(expected).enumerate();
    recorded.len() == expected.len()
        && pairs.into_iter().all(|(index, (recorded, expected))| {
            recorded == expected
                || recorded.2 == 0
                    && (&recorded.0, &recorded.1) == (&expected.0, &expected.1)
                    && is_leaving(index)
        })
}

/// How many blocks there were, and how many of them have a frame without a line that has one.
fn check_frames(rounds: &str) -> (usize, usize) {
    let place = Place::new();
    let notes = place.path("notes");
    let run = recorded(&place, "php_frames.php", &[rounds, notes.to_str().unwrap()]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let expected = written(&fs::read_to_string(notes).unwrap());
    let blocks = interpreted_blocks(&run.trace());
    let tagged: HashMap<u64, &Frames> =
        blocks.iter().filter(|block| block.1[0].0 == "_emalloc").map(|block| (block.0, &block.1)).collect();
    let mut without_line = 0;
    for (size, frames) in &expected {
        let recorded = tagged.get(size).unwrap_or_else(|| panic!("no frames of block {size}: {frames:?}"));
        assert!(is_same(recorded, frames), "block {size}\nrecorded {recorded:#?}\nexpected {frames:#?}");
        without_line += usize::from(*recorded != frames);
    }
    // One for each fiber, which has no frame yet when it begins.
    let rounds: u64 = rounds.parse().unwrap();
    assert_eq!(Report::of(&run.trace()).dropped("interpreted_frames"), rounds);
    (expected.len(), without_line)
}

#[test]
fn all_frames_are_those_of_the_interpreter() {
    if !has_php() {
        return;
    }
    let (blocks, without_line) = check_frames("5");
    assert!(blocks > 400 && without_line * 20 < blocks, "{without_line} of {blocks}");
}

#[test]
#[ignore = "takes minutes: a hundred thousand blocks"]
fn all_frames_are_those_of_the_interpreter_for_long() {
    if !has_php() {
        return;
    }
    let (blocks, without_line) = check_frames("1100");
    println!("{blocks} blocks, {without_line} of them with a frame without its line");
    assert!(blocks > 100_000);
}

/// Instructions that allocate themselves need not have saved where they are: of 399 blocks 24 had a wrong line by what
/// was saved.
#[test]
fn instructions_that_allocate_have_their_own_line() {
    if !has_php() {
        return;
    }
    let place = Place::new();
    let run = recorded(&place, "php_lines.php", &["40"]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let mut expected: HashMap<u64, Vec<Frames>> = HashMap::new();
    for (size, frames) in written(&ended.stdout) {
        expected.entry(size).or_default().push(frames);
    }
    assert!(expected.len() > 500);
    let mut recorded: HashMap<u64, Vec<Frames>> = HashMap::new();
    for (size, frames) in interpreted_blocks(&run.trace()) {
        // Those of functions in C are the parts, and buffers of what is read and written.
        if !frames[0].1.is_empty() && expected.contains_key(&size) {
            recorded.entry(size).or_default().push(frames[..1].to_vec());
        }
    }
    for (size, frames) in &expected {
        assert_eq!(recorded.get(size), Some(frames), "{size}");
    }
}

/// A handler that keeps what it has sent is named on the first screen, and in the flame graph.
#[test]
fn a_leak_is_named_by_its_line() {
    if !has_php() {
        return;
    }
    let place = Place::new();
    let run = recorded(&place, "php_leak.php", &[]);
    run.recorded();
    let first = run.report(&[]);
    assert!(first.contains("Shop::render at php_leak.php:11"), "{first}");
    assert!(run.flame_graph("peak").contains("php_leak.php:11"), "no line in the flame graph");

    let native = run.options(["--no-interpreter-frames"]);
    native.recorded();
    assert!(interpreted_blocks(&native.trace()).is_empty());
}

/// What a report says of a PHP's blocks: the word in JSON, and the first screen.
fn reported_blocks(run: &Run<'_>) -> (u64, String, String) {
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let json = Report::of(&run.trace()).json;
    let of_php = json["interpreters"].as_array().into_iter().flatten().find(|of| of["language"] == "php");
    let said = of_php.map_or("no PHP", |of| of["objects"].as_str().unwrap_or("null")).to_owned();
    (json["allocations"].as_u64().unwrap(), said, run.report(&[]).replace('\n', " "))
}

/// Strings of 1,000 bytes, which PHP has in a heap of its own: 5,000 more of them are 5,000 more blocks or none. A script
/// as small as this makes no recorded call of its own without the option.
#[test]
fn blocks_of_scripts_are_recorded_when_that_is_asked_for() {
    if !has_php() {
        return;
    }
    let place = Place::new();
    let blocks = |shell: bool, options: &[&str], strings: u32| {
        let script =
            format!("$kept = []; for ($i = 0; $i < {strings}; $i++) $kept[] = str_repeat('x', 1000);");
        let run = match shell {
            true => Run::new(&place, "sh").args(["-c", "php -r \"$1\"; :", "sh", &script]),
            false => Run::new(&place, PHP).args(["-r", &script]),
        };
        reported_blocks(&run.options(options))
    };
    for (options, more, objects, words) in [
        (
            &["--php-allocators"][..],
            5_000..5_100,
            "malloc",
            "Each block of PHP's scripts is a block of the heap",
        ),
        (&[], 0..100, "own", "in a heap of PHP's own, and not recorded: `record --php-allocators`"),
    ] {
        for shell in [false, true] {
            let [few, many] = [0, 5_000].map(|strings| blocks(shell, options, strings));
            assert!(more.contains(&(many.0 - few.0)), "{options:?}: {few:?} {many:?}");
            assert_eq!([&few.1, &many.1], [objects; 2], "{options:?}");
            assert!(few.2.contains(words) && many.2.contains(words), "{} {}", few.2, many.2);
        }
    }
}
