//! Damaged traces, as a user meets them: a real trace cut at any byte, or changed at random, is read by the
//! whole program. It ends with an answer, or a partial answer and the reason with its place, or the reason
//! alone; never by a panic, a signal or not at all.
//!
//! `HEAPSCRIBE_CUT_STEP` (1: every byte) and `HEAPSCRIBE_MUTATIONS` say how often; the campaign of xtask
//! sets them. `HEAPSCRIBE_SEED` repeats a run.

use std::fs;
use std::path::Path;

use crate::support::{Place, Random, Run, Started, heapscribe, times};

/// The commands that read a trace, and what each says of a whole one.
struct Readers {
    whole: Vec<(&'static str, String)>,
}

impl Readers {
    fn new(place: &Place, trace: &Path) -> Readers {
        let read = |command| (command, run(place, command, trace).1);
        Readers { whole: ["report", "dump"].map(read).to_vec() }
    }

    /// Exit 0 promises the whole answer; 1 and 3 say what is wrong.
    fn check(&self, place: &Place, trace: &Path, what: &str) {
        for (command, whole) in &self.whole {
            let (code, out, err) = run(place, command, trace);
            match code {
                0 => assert!(&out == whole, "{command} of {what}: exit 0, but another answer:\n{out}"),
                1 | 3 => assert!(err.contains("error: "), "{command} of {what}: {code} {err}"),
                _ => panic!("{command} of {what}: {code} {err}"),
            }
            assert!(!err.contains("panicked"), "{command} of {what}: {err}");
        }
    }
}

fn run(place: &Place, command: &str, trace: &Path) -> (i32, String, String) {
    let mut program = heapscribe();
    program.arg(command).arg(trace);
    let ended = Started::new(program, place, command).wait();
    (ended.code, ended.stdout, ended.stderr)
}

/// A small trace with all kinds of blocks, and a place for the damaged ones.
fn small_trace(place: &Place) -> Vec<u8> {
    let program = place.compile("worker.c");
    let run = Run::new(place, program).args(["-j", "2", "-n", "3"]).env("COUNTS", place.path("counts"));
    run.recorded();
    fs::read(run.trace()).unwrap()
}

#[test]
fn cut_at_any_byte() {
    let place = Place::new();
    let whole = small_trace(&place);
    let trace = place.path("damaged.hst");
    fs::write(&trace, &whole).unwrap();
    let readers = Readers::new(&place, &trace);
    let step = times("HEAPSCRIBE_CUT_STEP", 97);
    let cuts = (0..whole.len()).step_by(step);
    for cut in cuts.clone() {
        fs::write(&trace, &whole[..cut]).unwrap();
        readers.check(&place, &trace, &format!("a trace cut to {cut} of {} bytes", whole.len()));
    }
    println!("damage: {} cuts of {} bytes, each an answer or a reason", cuts.count(), whole.len());
}

#[test]
fn changed_at_random() {
    let place = Place::new();
    let whole = small_trace(&place);
    let trace = place.path("damaged.hst");
    fs::write(&trace, &whole).unwrap();
    let readers = Readers::new(&place, &trace);
    let mut random = Random::new();
    let count = times("HEAPSCRIBE_MUTATIONS", 60);
    for number in 0..count {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(3) {
            mutate(&mut bytes, &mut random);
        }
        fs::write(&trace, &bytes).unwrap();
        readers.check(&place, &trace, &format!("mutation {number}"));
    }
    println!("damage: {count} mutations of {} bytes, each an answer or a reason", whole.len());
}

/// One change: a bit, a byte, a word that looks like a length, a range, something missing or doubled.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len() as u64) as usize;
    let end = (at + 1 + random.below(64) as usize).min(bytes.len());
    match random.below(7) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.below(256) as u8,
        2 => bytes[at..end].fill(0),
        3 => bytes[at..end].fill(0xff),
        4 => drop(bytes.drain(at..end)),
        5 => {
            let doubled = bytes[at..end].to_vec();
            bytes.splice(at..at, doubled);
        }
        _ => bytes[at..end].iter_mut().for_each(|byte| *byte = random.below(256) as u8),
    }
}
