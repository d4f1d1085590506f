//! The same operations in as many threads as made them, one at a time in the recorded order: a heap that gives each thread
//! an arena or a cache then has as many of them as in the program. A thread begins with its first operation and ends with
//! its last, as far as that is known, so that what it leaves behind is left behind here, too.
//!
//! Threads pass the turn on to each other; contention is not measured.

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, scope};

use heapscribe_alloc::Heap;

use crate::observer::Observer;
use crate::op::Op;
use crate::program::{Ops, Program};
use crate::run::{Outcome, Run, Touch};

/// The stack of a thread: replaying is shallow.
const STACK_BYTES: usize = 256 << 10;
/// The thread that calls, which makes the calls of the first recorded thread.
const FIRST: usize = 0;

/// A point of a program at which no call is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Point {
    /// Before a moment is measured; its number, from 1.
    Moment(u64),
    /// A mark, or the end of a section.
    Mark,
}

/// Runs a program that names its threads, `threads` in number. `at_point` is called by the thread whose turn it is.
///
/// # Errors
/// When the program cannot be read or is damaged, or there is no thread to be had.
pub fn run_in_threads<H: Heap + ?Sized, W: Observer + Send>(
    heap: &H,
    program: &Program<'_>,
    touch: Touch,
    observer: &mut W,
    (threads, at_point): (usize, &(dyn Fn(Point) + Sync)),
) -> io::Result<Outcome> {
    let threads = threads.max(1);
    let turns_left = turns(program, threads)?;
    let run = Run::new(heap, program.slots(), touch, observer);
    let state = State {
        run,
        ops: program.ops(),
        turn: FIRST,
        turns_left,
        is_started: vec![false; threads],
        moments: 0,
        ended: None,
    };
    let replay =
        Replay { state: Mutex::new(state), turned: (0..threads).map(|_| Condvar::new()).collect(), at_point };
    {
        let mut state = replay.lock();
        state.is_started[FIRST] = true;
        state.run.begin();
    }
    scope(|scope| replay.work(scope, FIRST));
    let state = replay.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    state.ended.unwrap_or(Ok(()))?;
    Ok(state.run.finish())
}

/// How often each thread has its turn.
fn turns(program: &Program<'_>, threads: usize) -> io::Result<Vec<u64>> {
    let (mut turns, mut ops) = (vec![0; threads], program.ops());
    while let Some(op) = ops.next_op()? {
        if let Op::Thread { number } = op {
            *turns.get_mut(number as usize).ok_or_else(damaged)? += 1;
        }
    }
    Ok(turns)
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a thread that was not announced")
}

struct State<'a, 'f, H: Heap + ?Sized, W> {
    run: Run<'a, H, W>,
    ops: Ops<'f>,
    turn: usize,
    turns_left: Vec<u64>,
    is_started: Vec<bool>,
    moments: u64,
    /// How it ended, once it has.
    ended: Option<io::Result<()>>,
}

struct Replay<'a, 'f, H: Heap + ?Sized, W> {
    state: Mutex<State<'a, 'f, H, W>>,
    /// By thread: its turn has come, or all is over.
    turned: Vec<Condvar>,
    at_point: &'a (dyn Fn(Point) + Sync),
}

type Locked<'l, 'a, 'f, H, W> = MutexGuard<'l, State<'a, 'f, H, W>>;

impl<'a, 'f, H: Heap + ?Sized, W: Observer + Send> Replay<'a, 'f, H, W> {
    fn lock(&self) -> Locked<'_, 'a, 'f, H, W> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a thread does: its turns, until it has no more.
    fn work<'s, 'e>(&'e self, scope: &'s Scope<'s, 'e>, own: usize) {
        let mut state = self.lock();
        loop {
            while state.turn != own && state.ended.is_none() {
                state = self.turned[own].wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.ended.is_some() {
                return;
            }
            match self.take_turn(&mut state) {
                Ok(Some(next)) => self.pass_on(&mut state, scope, own, next),
                Ok(None) => self.end(&mut state, Ok(())),
                Err(e) => self.end(&mut state, Err(e)),
            }
            // The first thread waits for the end: the others were started for it.
            if own != FIRST && state.turns_left[own] == 0 && state.turn != own {
                return;
            }
        }
    }

    /// Runs operations until the turn is another thread's: whose, or `None` at the end.
    fn take_turn(&self, state: &mut State<'a, 'f, H, W>) -> io::Result<Option<usize>> {
        loop {
            match state.ops.next_op()? {
                None => return Ok(None),
                Some(Op::Thread { number }) => {
                    let next = number as usize;
                    *state.turns_left.get_mut(next).ok_or_else(damaged)? -= 1;
                    if next != state.turn {
                        return Ok(Some(next));
                    }
                }
                Some(op) => {
                    match op {
                        Op::Moment { .. } => {
                            state.moments += 1;
                            (self.at_point)(Point::Moment(state.moments));
                        }
                        Op::Mark => (self.at_point)(Point::Mark),
                        _ => {}
                    }
                    state.run.step(op);
                }
            }
        }
    }

    fn pass_on<'s, 'e>(
        &'e self,
        state: &mut State<'a, 'f, H, W>,
        scope: &'s Scope<'s, 'e>,
        own: usize,
        next: usize,
    ) {
        state.turn = next;
        if !std::mem::replace(&mut state.is_started[next], true) {
            let thread = Builder::new().stack_size(STACK_BYTES);
            if let Err(e) = thread.spawn_scoped(scope, move || self.work(scope, next)) {
                return self.end(state, Err(e));
            }
        }
        debug_assert_ne!(own, next);
        self.turned[next].notify_one();
    }

    fn end(&self, state: &mut State<'a, 'f, H, W>, how: io::Result<()>) {
        state.ended = Some(how);
        self.turned.iter().for_each(Condvar::notify_one);
    }
}
