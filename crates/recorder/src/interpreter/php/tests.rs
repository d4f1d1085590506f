//! Frames as PHP has them, made of words of ours.

use heapscribe_wire::ids::FunctionId;

use super::calls::{assign, rest};
use super::chain::{BEYOND, PhpFrames};
use super::check::Php;
use super::layout::{CALLED_BY_C, INTERNAL, USER};
use super::loops::LoopCall;
use super::names::PhpFunctions;
use super::source::{Place, Source};
use crate::interpreter::chain::Walked;
use crate::interpreter::read::Kernel;
use crate::platform::lock::Lock;
use crate::unwind::PathHash;

const WORDS: usize = 64;

/// Words that stay.
fn words(set: &[(usize, usize)]) -> &'static mut [usize; WORDS] {
    let words = Box::leak(Box::new([0; WORDS]));
    for (offset, word) in set {
        words[offset / 8] = *word;
    }
    words
}

fn at(words: &[usize; WORDS]) -> usize {
    words.as_ptr() as usize
}

fn instruction(line: usize) -> usize {
    at(words(&[(24, line)]))
}

/// A user's function at a line of a file with this hash.
fn function(file: usize, first_line: usize) -> &'static mut [usize; WORDS] {
    let file = at(words(&[(8, file)]));
    words(&[(0, USER), (152, file), (160, first_line << 32 | first_line)])
}

fn frame(function: usize, line: usize, call: usize, previous: usize) -> &'static mut [usize; WORDS] {
    words(&[(0, instruction(line)), (24, function), (40, call), (48, previous)])
}

/// Walks, and gives functions that are new the numbers from `first` on: how many there were, and the hash.
fn walk(frames: &mut PhpFrames, innermost: usize, line: u32, known: &PhpFunctions) -> (usize, PathHash) {
    let (lock, php) = (Lock::default(), Php::of_tests());
    let read = Kernel { pid: std::process::id() };
    let source = Source { read, php: &php, innermost, line };
    let (mut walked, mut new) = (frames.walk(&source, known), 0);
    loop {
        walked = match walked {
            Walked::Known(hash) => return (new, hash),
            Walked::New(index) => {
                new += 1;
                let key = frames.key(index).unwrap();
                known.know(key, FunctionId(key as u32 | 1), &lock.hold().unwrap());
                frames.resolve(known)
            }
            Walked::NoRoom => {
                assert!(frames.grow(&lock.hold().unwrap()));
                frames.walk(&source, known)
            }
            Walked::Nothing | Walked::Unreadable => panic!("{walked:?}"),
        }
    }
}

#[test]
fn what_is_unchanged_is_known_and_what_took_its_place_is_told_apart() {
    let (mut frames, known) = (PhpFrames::default(), PhpFunctions::default());
    let (file, compare) = (at(function(11, 1)), function(11, 20));
    let sort = at(words(&[(0, INTERNAL), (8, 0x4000)]));
    let main = frame(file, 7, CALLED_BY_C, 0);
    let internal = at(frame(sort, 0, 0, at(main)));
    let innermost = at(frame(at(compare), 21, CALLED_BY_C, at(words(&[(48, internal)]))));
    let (new, first) = walk(&mut frames, innermost, 22, &known);
    assert_eq!((new, frames.len()), (3, 4));
    let seen: Vec<_> =
        (0..4).map(|index| frames.frame(index).unwrap().0.and_then(|f| f.as_interpreted())).collect();
    assert_eq!(
        seen.iter().map(|frame| frame.map(|(_, line)| line)).collect::<Vec<_>>(),
        [Some(7), Some(0), None, Some(22)]
    );
    assert_eq!(walk(&mut frames, innermost, 22, &known), (0, first));
    assert_ne!(walk(&mut frames, innermost, 23, &known), (0, first), "another line");
    assert_eq!(walk(&mut frames, innermost, 22, &known), (0, first));
    main[0] = instruction(8);
    assert_ne!(walk(&mut frames, innermost, 22, &known), (0, first), "another line further out");
    main[0] = instruction(7);
    compare[160 / 8] = 30 << 32 | 30;
    let (new, _) = walk(&mut frames, innermost, 22, &known);
    assert_eq!(new, 1, "another function in the same place");
    compare[160 / 8] = 20 << 32 | 20;
    assert_eq!(walk(&mut frames, innermost, 22, &known), (0, first));
    frames.end();
    assert_eq!(walk(&mut frames, innermost, 22, &known).0, 3, "another request");
}

fn call(frame: usize, sp: usize) -> LoopCall {
    LoopCall { frame: Some(frame), instruction: None, sp, places: None }
}

/// Gives calls their frames: the call of each frame, when all fit.
fn calls_of(innermost: usize, calls: &[LoopCall]) -> Option<Vec<usize>> {
    let (mut frames, known) = (PhpFrames::default(), PhpFunctions::default());
    walk(&mut frames, innermost, 0, &known);
    let kernel = Kernel { pid: std::process::id() };
    let mut left = frames.len();
    for call in calls.iter().take_while(|_| left > 0).copied().collect::<Vec<_>>() {
        left = if left > 0 { assign(&mut frames, left, call, &Php::of_tests(), kernel)? } else { 0 };
    }
    rest(&mut frames, left).then(|| (0..frames.len()).map(|index| frames.frame(index).unwrap().1).collect())
}

#[test]
fn calls_run_the_frames_that_their_registers_lead_to() {
    let (user, sort) = (at(function(1, 1)), at(words(&[(0, INTERNAL), (8, 0x4000)])));
    let main = at(frame(user, 1, CALLED_BY_C, 0));
    let order = at(frame(user, 2, 0, main));
    let sorted = at(frame(sort, 0, 0, order));
    let compare = at(frame(user, 3, CALLED_BY_C, sorted));
    let length = at(frame(sort, 0, 0, compare));
    assert_eq!(
        calls_of(length, &[call(compare, 100), call(order, 200)]),
        Some(vec![200, 200, 200, 100, 100])
    );
    assert_eq!(calls_of(sorted, &[call(order, 200)]), Some(vec![200, 200, 200]));
    assert_eq!(calls_of(length, &[call(order, 200)]), None, "no call runs the inner one");
    assert_eq!(calls_of(length, &[call(compare, 100)]), None, "nor the outer one");
    assert_eq!(calls_of(length, &[call(0x5000, 100)]), None, "a register that leads nowhere");

    // A function that C code has called frees its variables: its call has no frame; one that it has called itself does.
    let ended = at(frame(user, 9, CALLED_BY_C, sorted));
    assert_eq!(calls_of(sorted, &[call(ended, 50), call(order, 200)]), Some(vec![200, 200, 200]));
    let returned = at(frame(user, 9, 0, order));
    assert_eq!(calls_of(order, &[call(returned, 50)]), Some(vec![50, 50]));
    let other = at(frame(user, 9, 0, main));
    assert_eq!(calls_of(order, &[call(other, 50)]), None);
}

#[test]
fn what_is_outside_of_a_fiber_runs_on_no_part_of_its_stack() {
    let user = at(function(1, 1));
    let main = at(frame(user, 1, CALLED_BY_C, 0));
    let bottom = at(frame(at(words(&[(0, INTERNAL)])), 0, 0, main));
    let inner = at(frame(user, 3, CALLED_BY_C, bottom));
    assert_eq!(calls_of(inner, &[call(inner, 100)]), Some(vec![BEYOND, BEYOND, 100]));
    let mut frames = PhpFrames::default();
    walk(&mut frames, inner, 0, &PhpFunctions::default());
    assert_eq!(frames.raw(1).map(|raw| raw.place), Some(Place::Fiber));
}
