//! Histories made of steps, each with a slow twin that looks at every block.
#![allow(dead_code)] // not every test uses all of it

use std::collections::BTreeMap;

use heapscribe_analyze::History;
use heapscribe_analyze::answer::Ended;
use heapscribe_analyze::input::{ChunkFacts, Clock, EventsInOrder, ProcessFacts, SessionFacts};
use heapscribe_index::{Amount, Death, Key, Question, SizeClass};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::{StackId, ThreadId};
use heapscribe_wire::record::{Block, Call, Event};

/// A step of a history: what one of the threads does after so many ticks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Alloc {
        size: u64,
        stack: u32,
    },
    /// Frees one of the process's live blocks.
    Free {
        which: usize,
    },
    Realloc {
        which: usize,
        size: u64,
        stack: u32,
    },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) process: usize,
    pub(crate) thread: u32,
    pub(crate) ticks: u64,
    pub(crate) action: Action,
    /// Whether the thread's chunk ends after it.
    pub(crate) seals: bool,
}

/// A block of the twin.
#[derive(Clone, Copy, Debug)]
struct Life {
    key: Key,
    size: u64,
    born: u64,
    died: Option<u64>,
}

#[derive(Default)]
struct Chunk {
    facts: ChunkFacts,
    events: Vec<(u64, Event)>,
}

/// A history, and its twin.
pub(crate) struct Random {
    processes: Vec<ProcessFacts>,
    chunks: Vec<Chunk>,
    lives: Vec<Life>,
}

fn clock(process: usize) -> Clock {
    match process {
        0 => Clock::default(),
        _ => Clock { origin_ticks: 70, origin_ns: 1_000, ns_per_tick_q32: 5 << 31, unit_shift: 0 }, // 2.5 ns
    }
}

impl Random {
    pub(crate) fn new(steps: &[Step], end_ns: u64) -> Random {
        let mut open = BTreeMap::<(usize, u32), Chunk>::new();
        let mut random = Random { processes: Vec::new(), chunks: Vec::new(), lives: Vec::new() };
        for process in 0..2 {
            let end_mono_ns = if process == 1 { end_ns } else { 0 };
            random.processes.push(ProcessFacts {
                clock: clock(process),
                end_mono_ns,
                ended: Ended::Exited,
                ..ProcessFacts::default()
            });
        }
        let (mut now, mut live) = ([100, 100], [vec![], vec![]]);
        for step in steps {
            let (process, thread) = (step.process, step.thread);
            now[process] += step.ticks;
            let ticks = now[process];
            let Some(event) = random.event(step, ticks, &mut live[process]) else { continue };
            let chunk = open.entry((process, thread)).or_insert_with(|| Chunk {
                facts: ChunkFacts {
                    process,
                    thread,
                    begin_ticks: ticks - 1,
                    last_ticks: ticks - 1,
                    ..ChunkFacts::default()
                },
                events: Vec::new(),
            });
            chunk.events.push((ticks - chunk.facts.last_ticks, event));
            chunk.facts.last_ticks = ticks;
            chunk.facts.events += 1;
            if step.seals {
                random.chunks.extend(open.remove(&(process, thread)));
            }
        }
        random.chunks.extend(open.into_values());
        random
    }

    fn event(&mut self, step: &Step, ticks: u64, live: &mut Vec<usize>) -> Option<Event> {
        let Step { process, thread, .. } = *step;
        let mut alloc = |size: u64, stack: u32, live: &mut Vec<usize>| {
            let key =
                Key { process: process as u32, stack: StackId(stack), thread, size: SizeClass::of(size) };
            live.push(self.lives.len());
            self.lives.push(Life { key, size, born: ticks, died: None });
            (size, StackId(stack))
        };
        match step.action {
            Action::Alloc { size, stack } => {
                let (size_bytes, stack) = alloc(size, stack, live);
                Some(Event::Alloc { call: Call::Malloc, size_bytes, stack, align_log2: 0 })
            }
            Action::Free { .. } | Action::Realloc { .. } if live.is_empty() => None,
            Action::Free { which } => {
                let block = self.free(which, ticks, thread, live);
                Some(Event::Free { call: Call::Free, block })
            }
            Action::Realloc { which, size, stack } => {
                let (size_bytes, stack) = alloc(size, stack, live);
                let new = live.pop().unwrap();
                let old = self.free(which, ticks, thread, live);
                live.push(new);
                Some(Event::Realloc { call: Call::Realloc, old, size_bytes, stack })
            }
        }
    }

    fn free(&mut self, which: usize, ticks: u64, thread: u32, live: &mut Vec<usize>) -> Block {
        let life = &mut self.lives[live.swap_remove(which % live.len())];
        life.died = Some(ticks);
        Block {
            size_bytes: life.size,
            stack: life.key.stack,
            age_ticks: ticks - life.born,
            birth_thread: (life.key.thread != thread).then_some(ThreadId(life.key.thread)),
        }
    }

    /// The answer, block by block.
    pub(crate) fn answer(&self, question: &Question) -> BTreeMap<Key, Amount> {
        let mut sums = BTreeMap::<Key, Amount>::new();
        for life in &self.lives {
            let process = &self.processes[life.key.process as usize];
            let dies =
                |is_it: &dyn Fn(u64) -> bool| life.died.is_some_and(|ticks| is_it(process.clock.ns(ticks)));
            let is_in = match question.death {
                Death::Any => true,
                Death::In(span) => dies(&|ns| span.contains(ns)),
                Death::After(ns) => {
                    let last_ns = self.last_ns_of(life.key.process as usize);
                    let end_ns = process.end_mono_ns.max(last_ns + 1);
                    let has_ended = process.end_mono_ns != 0 && end_ns <= ns;
                    !has_ended && !dies(&|death| death <= ns)
                }
                Death::NotUntil(ns) => !dies(&|death| death <= ns),
            };
            if is_in && question.born.contains(process.clock.ns(life.born)) {
                sums.entry(life.key).or_default().add(Amount::new(1, life.size));
            }
        }
        sums
    }

    pub(crate) fn last_ns(&self) -> u64 {
        (0..2).map(|process| self.last_ns_of(process)).max().unwrap_or(0)
    }

    fn last_ns_of(&self, process: usize) -> u64 {
        let of_process = self.chunks.iter().filter(|chunk| chunk.facts.process == process);
        of_process.map(|chunk| clock(process).ns(chunk.facts.last_ticks)).max().unwrap_or(0)
    }
}

impl History for Random {
    type Scratch = ();

    fn session(&self) -> SessionFacts {
        SessionFacts::default()
    }

    fn processes(&self) -> Vec<ProcessFacts> {
        self.processes.clone()
    }

    fn chunks(&self) -> Vec<ChunkFacts> {
        self.chunks.iter().map(|chunk| chunk.facts).collect()
    }

    fn events<'a>(&'a self, chunk: usize, (): &'a mut ()) -> Result<impl EventsInOrder + 'a, String> {
        Ok(self.chunks[chunk].events.iter().map(|event| Ok(*event)))
    }

    fn definitions(&self, _: usize, _: &mut dyn FnMut(StackId, &Definition<'_>)) -> Result<(), String> {
        Ok(())
    }
}

/// A process's second thread allocates.
pub(crate) fn alloc(ticks: u32, size: u64, stack: u32) -> Step {
    let action = Action::Alloc { size, stack };
    Step { process: 0, thread: 2, ticks: u64::from(ticks % 5), action, seals: ticks.is_multiple_of(9) }
}

/// One of its threads frees a block.
pub(crate) fn free(which: u32, thread: u32) -> Step {
    let action = Action::Free { which: which as usize };
    Step { process: 0, thread, ticks: 1, action, seals: which.is_multiple_of(7) }
}
