//! Python programs that say at each of their blocks which Python frames there are: the trace has the same, frame by
//! frame, for each version that is installed. What they say is what the interpreter's own functions tell an extension
//! of its frames, or what the module `traceback` prints when an exception is not caught.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use crate::support::interpreted::{Blocks, Frames, blocks_of, written_frame};
use crate::support::python::{Python, pythons};
use crate::support::{Place, Report, Run, skip, times};

/// Who tells a program its frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Oracle {
    Frames,
    Traceback,
}

/// What the program has written: each block with its frames, or with the number of a stack that stands before it.
fn expected(notes: &Path) -> Blocks {
    let (mut blocks, mut stacks) = (Blocks::new(), HashMap::new());
    for line in fs::read_to_string(notes).unwrap().lines() {
        let mut parts = line.split('\t');
        let first = parts.next().unwrap();
        let parts: Vec<&str> = parts.collect();
        let frames = match parts.first().filter(|part| part.starts_with('=')) {
            Some(number) => Rc::clone(&stacks[*number]),
            None => Rc::new(parts.into_iter().map(written_frame).collect()),
        };
        match first.split_once(' ') {
            Some((tid, size)) => {
                let of_thread = blocks.entry(tid.parse().unwrap()).or_default();
                of_thread.push((size.parse().unwrap(), frames));
            }
            None => drop(stacks.insert(first, frames)),
        }
    }
    blocks
}

/// The module `traceback` knows no qualified names, which 3.11 and later ones have.
fn without_qualifiers(blocks: &mut Blocks) {
    let mut plain: HashMap<*const Frames, Rc<Frames>> = HashMap::new();
    for (_, frames) in blocks.values_mut().flatten() {
        let short = plain.entry(Rc::as_ptr(frames)).or_insert_with(|| {
            let short = |name: &str| name.rsplit('.').next().unwrap().to_owned();
            Rc::new(frames.iter().map(|(name, file, line)| (short(name), file.clone(), *line)).collect())
        });
        *frames = short.clone();
    }
}

/// How many blocks of a thread differ; the first of them is printed.
fn differing(what: &str, expected: &Blocks, recorded: &Blocks) -> usize {
    let mut differing = 0;
    for (tid, blocks) in expected {
        let recorded = recorded.get(tid).map(Vec::as_slice).unwrap_or_default();
        differing += blocks.len().abs_diff(recorded.len());
        for (number, (block, recorded)) in blocks.iter().zip(recorded).enumerate() {
            if block != recorded && differing == 0 {
                println!(
                    "{what}, thread {tid}, block {number}:\nexpected {block:#?}\nrecorded {recorded:#?}"
                );
            }
            differing += usize::from(block != recorded);
        }
    }
    differing + recorded.keys().filter(|tid| !expected.contains_key(tid)).count()
}

/// How many blocks there were, all of them with the frames that the program told.
fn check(python: &Python, program: &str, rounds: usize, oracle: Oracle) -> usize {
    let place = Place::new();
    place.library("python_oracle.c", "oracle.so", &["-O1", &format!("-I{}", python.include)]);
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let notes = place.path("notes");
    let run = Run::new(&place, &python.program)
        .args([programs.join(program).as_os_str()])
        .args([rounds.to_string()])
        .env("ORACLE", &notes)
        .env("PYTHONPATH", place.path("."))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let run = match oracle {
        Oracle::Frames => run,
        Oracle::Traceback => run.env("ORACLE_BY", "traceback"),
    };
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let what = format!("{program} of {} by {oracle:?}", python.program.display());
    let mut recorded = blocks_of("/oracle.so", &run.trace());
    let expected = match oracle {
        Oracle::Frames => expected(&notes),
        Oracle::Traceback => {
            without_qualifiers(&mut recorded);
            expected(&place.path("notes.traceback"))
        }
    };
    let blocks = expected.values().map(Vec::len).sum();
    assert_eq!(differing(&what, &expected, &recorded), 0, "of {blocks}: {what}");
    assert_eq!(Report::of(&run.trace()).dropped("interpreted_frames"), 0, "{what}");
    blocks
}

/// All that are installed; says so when there is none.
fn pythons_or_skip() -> Vec<Python> {
    let pythons = pythons();
    if pythons.is_empty() {
        skip(format_args!("no Python of 3.8 to 3.14 has its headers (apt-get install python3-dev)"));
    }
    pythons
}

#[test]
fn all_frames_are_those_of_the_interpreter() {
    for python in pythons_or_skip() {
        let blocks = check(&python, "python_frames.py", 20, Oracle::Frames);
        assert!(blocks > 3000, "{:?}: {blocks}", python.program);
    }
}

#[test]
fn all_frames_are_those_of_a_traceback() {
    for python in pythons_or_skip() {
        let blocks = check(&python, "python_frames.py", 10, Oracle::Traceback);
        assert!(blocks > 1500, "{:?}: {blocks}", python.program);
    }
}

/// `HEAPSCRIBE_PYTHON_CAPTURES` says how many, of all versions together.
#[test]
#[ignore = "takes minutes: a million captures"]
fn all_frames_are_those_of_the_interpreter_for_long() {
    let captures = times("HEAPSCRIBE_PYTHON_CAPTURES", 1_000_000);
    let pythons = pythons_or_skip();
    let (mut by_frames, mut by_traceback, mut rounds) = (0, 0, 100);
    while !pythons.is_empty() && by_frames + by_traceback < captures {
        for python in &pythons {
            by_frames += check(python, "python_frames.py", rounds, Oracle::Frames);
            by_traceback += check(python, "python_frames.py", rounds, Oracle::Traceback);
        }
        rounds += 7;
    }
    println!("python: {by_frames} captures as frames tell, {by_traceback} as traceback does, 0 differ");
}
