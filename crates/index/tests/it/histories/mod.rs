//! Histories made of steps, each with a slow twin that looks at every block.

use std::collections::BTreeMap;

use heapscribe_analyze::answer::Ended;
use heapscribe_analyze::input::{ChunkFacts, Clock, EventsInOrder, ProcessFacts, SessionFacts};
use heapscribe_analyze::moments::{NoteKind, NoteMoment};
use heapscribe_analyze::{History, LostInChunks};
use heapscribe_index::{Amount, Death, Key, Question, SizeClass};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::{NameId, StackId, ThreadId};
use heapscribe_wire::record::{Block, Call, Event, Note};

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
    /// A mark, or an end of a section.
    Note {
        name: u32,
        note: Note,
    },
    /// Events that are missing.
    Lost {
        count: u64,
        reason: u8,
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
    notes: BTreeMap<Vec<u8>, Vec<NoteMoment>>,
    lost: LostInChunks,
}

/// How many names there are; the processes number them differently.
const NAMES: u32 = 3;

fn name(process: usize, number: u32) -> Vec<u8> {
    let number = if process == 0 { number } else { NAMES + 1 - number };
    format!("name {number}").into_bytes()
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
        let mut random = Random {
            processes: Vec::new(),
            chunks: Vec::new(),
            lives: Vec::new(),
            notes: BTreeMap::new(),
            lost: LostInChunks::new(2),
        };
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
        random.notes.values_mut().for_each(|moments| moments.sort_unstable());
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
            Action::Lost { count, reason } => {
                self.lost.add(process, reason, count);
                Some(Event::Lost { count, reason })
            }
            Action::Note { name: number, note } => {
                let moment = NoteKind::of(note).map(|kind| NoteMoment {
                    ns: clock(process).ns(ticks),
                    process,
                    thread,
                    kind,
                });
                self.notes.entry(name(process, number)).or_default().extend(moment);
                Some(Event::Note { note, name: NameId(number) })
            }
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
    /// Births and, of what was freed, deaths and ages, ns.
    pub(crate) fn ages(&self) -> impl Iterator<Item = (Key, u64, u64, Option<(u64, u64)>)> {
        self.lives.iter().map(|life| {
            let clock = clock(life.key.process as usize);
            let died = life.died.map(|died| (clock.ns(died), clock.span_ns(died - life.born)));
            (life.key, life.size, clock.ns(life.born), died)
        })
    }

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

    /// What is missing.
    pub(crate) fn lost(&self) -> &LostInChunks {
        &self.lost
    }

    /// All notes, by name and time.
    pub(crate) fn notes(&self) -> &BTreeMap<Vec<u8>, Vec<NoteMoment>> {
        &self.notes
    }

    /// What is live, of one process or of all, after all that happens at each moment at which anything does.
    pub(crate) fn levels(&self, of: Option<u32>) -> BTreeMap<u64, i64> {
        let mut changes = BTreeMap::<u64, i64>::new();
        for life in self.lives.iter().filter(|life| of.is_none_or(|process| life.key.process == process)) {
            let process = &self.processes[life.key.process as usize];
            let end_ns = process.end_ns(Some(self.last_ns_of(life.key.process as usize)));
            let died_ns = life.died.map(|ticks| process.clock.ns(ticks)).or(end_ns);
            *changes.entry(process.clock.ns(life.born)).or_default() += life.size as i64;
            *changes.entry(died_ns.unwrap_or(u64::MAX)).or_default() -= life.size as i64;
        }
        changes.remove(&u64::MAX);
        let mut level = 0;
        let sum = |(ns, change)| {
            level += change;
            (ns, level)
        };
        changes.into_iter().map(sum).collect()
    }

    /// Blocks and bytes that a process, or each, allocated and freed from one moment to another.
    pub(crate) fn traffic(&self, of: Option<u32>, from_ns: u64, to_ns: u64) -> [u64; 4] {
        let mut sums = [0; 4];
        for life in self.lives.iter().filter(|life| of.is_none_or(|process| life.key.process == process)) {
            let clock = clock(life.key.process as usize);
            for (at, ticks) in [(0, Some(life.born)), (2, life.died)] {
                if ticks.is_some_and(|ticks| (from_ns..to_ns).contains(&clock.ns(ticks))) {
                    sums[at] += 1;
                    sums[at + 1] += life.size;
                }
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

    fn definitions(
        &self,
        process: usize,
        take: &mut dyn FnMut(StackId, &Definition<'_>),
    ) -> Result<(), String> {
        for number in 1..=NAMES {
            take(StackId(0), &Definition::Name { id: NameId(number), name: &name(process, number) });
        }
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

/// Its first thread sets a mark.
pub(crate) fn mark(name: u32) -> Step {
    let action = Action::Note { name, note: Note::Mark };
    Step { process: 0, thread: 1, ticks: 0, action, seals: false }
}
