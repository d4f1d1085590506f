//! Python programs that say at each of their blocks which Python frames there are: the trace has the same, frame by
//! frame, for each version that is installed. What they say is what the interpreter's own functions tell an extension
//! of its frames, or what the module `traceback` prints when an exception is not caught.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::support::interpreted::{Block, Blocks, Frames, blocks_of, written_frame};
use crate::support::python::{Python, packages_or_skip, pythons};
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

/// How blocks differ.
#[derive(Default)]
struct Differing {
    /// Blocks that have other frames, or are missing.
    other: usize,
    /// Blocks that have none.
    native: usize,
    /// The first of them, in words.
    first: Option<String>,
}

impl Differing {
    fn of(expected: &Blocks, recorded: &Blocks) -> Differing {
        let mut differing = Differing::default();
        for (tid, blocks) in expected {
            let recorded = recorded.get(tid).map(Vec::as_slice).unwrap_or_default();
            differing.other += blocks.len().abs_diff(recorded.len());
            let pairs = blocks.iter().zip(recorded).enumerate();
            pairs.for_each(|(number, (block, recorded))| differing.compare(*tid, number, block, recorded));
        }
        differing.other += recorded.keys().filter(|tid| !expected.contains_key(tid)).count();
        differing
    }

    fn compare(&mut self, tid: u32, number: usize, expected: &Block, recorded: &Block) {
        if expected == recorded {
            return;
        }
        let is_native = recorded.1.is_empty() && expected.0 == recorded.0;
        *(if is_native { &mut self.native } else { &mut self.other }) += 1;
        let words = || format!("thread {tid}, block {number}: expected {expected:?} recorded {recorded:?}");
        self.first.get_or_insert_with(words);
    }
}

/// A program to check, and what it needs.
#[derive(Clone, Copy)]
struct Program<'a> {
    name: &'a str,
    rounds: usize,
    /// The newest version of which stacks may be without Python frames, when they are counted.
    may_be_native: u32,
    package: Option<&'a str>,
}

impl<'a> Program<'a> {
    fn new(name: &'a str, rounds: usize) -> Program<'a> {
        Program { name, rounds, may_be_native: 0, package: None }
    }

    /// How many blocks there were, all of them with the frames that the program told; else what differs. `None` when
    /// the package cannot be had.
    fn check(self, python: &Python, oracle: Oracle) -> Option<Result<usize, String>> {
        let packages = match self.package {
            Some(package) => packages_or_skip(python, package)?,
            None => PathBuf::new(),
        };
        let place = Place::new();
        place.library("python_oracle.c", "oracle.so", &["-O1", &format!("-I{}", python.include)]);
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
        let notes = place.path("notes");
        let run = Run::new(&place, &python.program)
            .args([programs.join(self.name).as_os_str()])
            .args([self.rounds.to_string()])
            .env("ORACLE", &notes)
            .env("PYTHONPATH", std::env::join_paths([place.path("."), packages]).unwrap())
            .env("PYTHONDONTWRITEBYTECODE", "1");
        let run = match oracle {
            Oracle::Frames => run,
            Oracle::Traceback => run.env("ORACLE_BY", "traceback"),
        };
        let ended = run.recorded();
        assert_eq!(ended.code, 0, "{:?}: {}", python.program, ended.stderr);
        Some(self.compare(python, oracle, &notes, &run.trace()))
    }

    fn compare(self, python: &Python, oracle: Oracle, notes: &Path, trace: &Path) -> Result<usize, String> {
        let mut recorded = blocks_of("/oracle.so", trace);
        let expected = match oracle {
            Oracle::Frames => expected(notes),
            Oracle::Traceback => {
                without_qualifiers(&mut recorded);
                expected(&notes.with_extension("traceback"))
            }
        };
        let blocks = expected.values().map(Vec::len).sum();
        let counted = Report::with(&["--top", "1"], trace).dropped("interpreted_frames") as usize;
        let Differing { other, native, first } = Differing::of(&expected, &recorded);
        let native_max = if python.minor <= self.may_be_native { counted } else { 0 };
        if other == 0 && native <= native_max && (counted == 0 || native_max > 0) {
            return Ok(blocks);
        }
        let what = format!("{} of {} by {oracle:?}", self.name, python.program.display());
        let counts = format!("of {blocks} blocks {other} have other frames, {native} none");
        Err(format!("{what}: {counts}, {counted} stacks are counted; {}", first.unwrap_or_default()))
    }

    /// Checks all versions; there are at least so many blocks.
    fn check_all(self, oracles: &[Oracle], blocks_min: usize) {
        let mut wrong = Vec::new();
        for python in pythons_or_skip() {
            for oracle in oracles {
                match self.check(&python, *oracle) {
                    Some(Ok(blocks)) => assert!(blocks >= blocks_min, "{:?}: {blocks}", python.program),
                    Some(Err(what)) => wrong.push(what),
                    None => {}
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
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
    Program::new("python_frames.py", 20).check_all(&[Oracle::Frames], 3000);
}

#[test]
fn all_frames_are_those_of_a_traceback() {
    Program::new("python_frames.py", 10).check_all(&[Oracle::Traceback], 1500);
}

const BOTH: [Oracle; 2] = [Oracle::Frames, Oracle::Traceback];

/// Frames that others go on with: the callers of a generator change, and those of a coroutine. Up to 3.10 it is not known
/// which frames the loop runs while `throw` has others delegate it.
#[test]
fn generators_and_tasks() {
    let program = Program { may_be_native: 10, ..Program::new("python_tasks.py", 20) };
    program.check_all(&BOTH, 1000);
}

/// Up to 3.11 it is not known which interpreter a thread runs that has released the lock.
#[test]
fn interpreters_beside_each_other() {
    let program = Program { may_be_native: 11, ..Program::new("python_interpreters.py", 5) };
    program.check_all(&[Oracle::Frames], 1500);
}

/// Chains of frames whose parts of the stack are copied away, and back to where another one was. From 3.12 on greenlet
/// takes out what tells the calls apart before it asks for room for a copy.
#[test]
fn greenlets() {
    let program = Program { package: Some("greenlet"), ..Program::new("python_greenlets.py", 6) };
    Program { may_be_native: 14, ..program }.check_all(&BOTH, 1000);
}

#[test]
fn gevent() {
    let program = Program { package: Some("gevent"), ..Program::new("python_gevent.py", 10) };
    Program { may_be_native: 14, ..program }.check_all(&BOTH, 300);
}

/// `HEAPSCRIBE_PYTHON_CAPTURES` says how many, of all versions together.
#[test]
#[ignore = "takes minutes: a million captures"]
fn all_frames_are_those_of_the_interpreter_for_long() {
    let captures = times("HEAPSCRIBE_PYTHON_CAPTURES", 1_000_000);
    let pythons = pythons_or_skip();
    let (mut counts, mut rounds) = ([0; 2], 100);
    while !pythons.is_empty() && counts.iter().sum::<usize>() < captures {
        for python in &pythons {
            for (count, oracle) in counts.iter_mut().zip(BOTH) {
                let checked = Program::new("python_frames.py", rounds).check(python, oracle).unwrap();
                *count += checked.unwrap_or_else(|what| panic!("{what}"));
            }
        }
        rounds += 7;
    }
    println!("python: {} captures as frames tell, {} as traceback does, 0 differ", counts[0], counts[1]);
}
