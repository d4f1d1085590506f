//! A history whose truth is known, and what a recorder makes of it that samples: blocks of all sizes from
//! stacks that allocate a little or a lot, on two threads, freed at once, later, by the other thread or
//! never.

use heapscribe_analyze::answer::{Answer, Ended};
use heapscribe_analyze::estimate::StackEstimates;
use heapscribe_analyze::input::{ChunkFacts, EventsInOrder, History, ProcessFacts, SessionFacts};
use heapscribe_wire::definitions::{Definition, Node};
use heapscribe_wire::ids::{CodeAddress, RateId, StackId, ThreadId};
use heapscribe_wire::limits::EVENT_BYTES_MAX;
use heapscribe_wire::record::{Block, Call, Event, Events};
use heapscribe_wire::sampler::Sampler;

/// Bytes between two samples.
pub const MEAN_BYTES: u64 = 8 << 10;
const SIZE_MAX: f64 = (10 << 20) as f64;
const BLOCKS_MAX: usize = 8_000;
const BLOCKS_OF_NOTHING: usize = 60_000;
/// Blocks of a stack, the size of most, every how many one is large, and its size. Of the small ones 5 samples and more are
/// expected: without any nobody knows how many there are.
const MIXED: [(usize, u64, usize, u64); 6] = [
    (2_000, 40, 7, 3_000),
    (2_000, 40, 50, 9_000),
    (4_000, 16, 200, 30_000),
    (4_000, 200, 400, 2_000),
    (3_000, 24, 10, 4_000),
    (800, 100, 3, 5_000),
];
const THREADS: usize = 2;
const RATE: RateId = RateId(1);

/// What a stack did, as blocks and bytes.
#[derive(Clone, Copy, Default, Debug)]
pub struct Truth {
    pub expected_samples: f64,
    pub allocated: (f64, f64),
    pub freed: (f64, f64),
    pub leaked: (f64, f64),
    pub temporary: (f64, f64),
}

#[derive(Clone, Copy)]
struct Born {
    stack: usize,
    size_bytes: u64,
    thread: usize,
}

/// What happens at a tick.
#[derive(Clone, Copy)]
enum Step {
    Comes(usize),
    Goes { block: usize, thread: usize },
}

/// A block of a [`Population`].
#[derive(Clone, Copy)]
pub struct BlockNumber(usize);

/// The history.
#[derive(Default)]
pub struct Population {
    blocks: Vec<Born>,
    steps: Vec<Step>,
    truths: Vec<Truth>,
}

/// Uniform numbers from 0 to 1, and normal ones.
pub struct Chance(pub u64);

impl Chance {
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1u64 << 31) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    fn between(&mut self, from: f64, to: f64) -> f64 {
        (from.ln() + self.uniform() * (to / from).ln()).exp()
    }
}

fn chance_of(size_bytes: u64) -> f64 {
    -f64::exp_m1(-(size_bytes as f64 + 1.0) / MEAN_BYTES as f64)
}

fn add(sum: &mut (f64, f64), size_bytes: u64) {
    *sum = (sum.0 + 1.0, sum.1 + size_bytes as f64);
}

impl Population {
    pub fn new() -> Population {
        let mut chance = Chance(42);
        let mut blocks = Vec::new();
        for stack in 0..60 {
            blocks.append(&mut of_stack(stack, &mut chance));
        }
        Population::of(blocks, 60, chance)
    }

    /// Stacks that allocate small blocks and a few large ones: every so many, of these sizes.
    pub fn of_mixed_sizes() -> Population {
        let mut chance = Chance(7);
        let mut blocks = Vec::new();
        for (stack, (count, small_bytes, every, large_bytes)) in MIXED.into_iter().enumerate() {
            blocks.extend((0..count).map(|number| {
                let size_bytes = if number % every == 0 { large_bytes } else { small_bytes };
                let size_bytes = size_bytes + (chance.uniform() * size_bytes as f64 / 8.0) as u64;
                Born { stack, size_bytes, thread: usize::from(chance.uniform() < 0.4) }
            }));
        }
        Population::of(blocks, MIXED.len(), chance)
    }

    fn of(mut blocks: Vec<Born>, stacks: usize, mut chance: Chance) -> Population {
        for i in (1..blocks.len()).rev() {
            blocks.swap(i, (chance.uniform() * (i + 1) as f64) as usize);
        }
        let truths = vec![Truth::default(); stacks];
        let mut population = Population { blocks, steps: Vec::new(), truths };
        population.live(&mut chance);
        population
    }

    /// A block of a stack is allocated, by the first thread.
    pub fn alloc(&mut self, stack: usize, size_bytes: u64) -> BlockNumber {
        let number = self.blocks.len();
        self.truths.resize(self.truths.len().max(stack + 1), Truth::default());
        self.blocks.push(Born { stack, size_bytes, thread: 0 });
        self.steps.push(Step::Comes(number));
        BlockNumber(number)
    }

    /// It is freed.
    pub fn free(&mut self, BlockNumber(block): BlockNumber) {
        self.steps.push(Step::Goes { block, thread: 0 });
    }

    /// The most bytes that are live at a time.
    pub fn peak_bytes(&self) -> u64 {
        let (mut live_bytes, mut peak_bytes) = (0, 0);
        for step in &self.steps {
            match step {
                Step::Comes(number) => live_bytes += self.blocks[*number].size_bytes,
                Step::Goes { block, .. } => live_bytes -= self.blocks[*block].size_bytes,
            }
            peak_bytes = live_bytes.max(peak_bytes);
        }
        peak_bytes
    }

    /// Decides when each block goes: at once, some blocks later, or never.
    fn live(&mut self, chance: &mut Chance) {
        let (mut waiting, mut newest) = (Vec::new(), [usize::MAX; THREADS]);
        for (number, block) in self.blocks.iter().enumerate() {
            let truth = &mut self.truths[block.stack];
            self.steps.push(Step::Comes(number));
            newest[block.thread] = number;
            truth.expected_samples += chance_of(block.size_bytes);
            add(&mut truth.allocated, block.size_bytes);
            match chance.uniform() {
                at_once if at_once < 0.3 => {
                    self.steps.push(Step::Goes { block: number, thread: block.thread });
                    add(&mut truth.temporary, block.size_bytes);
                    add(&mut truth.freed, block.size_bytes);
                }
                later if later < 0.7 => waiting.push(number),
                _ => add(&mut truth.leaked, block.size_bytes),
            }
            // The newest of a thread would be a temporary one.
            let at = (chance.uniform() * waiting.len() as f64) as usize;
            if waiting.len() > 50 && !newest.contains(&waiting[at]) {
                let block = waiting.swap_remove(at);
                let (born, other) = (self.blocks[block], usize::from(chance.uniform() < 0.3));
                self.steps.push(Step::Goes { block, thread: (born.thread + other) % THREADS });
                add(&mut self.truths[born.stack].freed, born.size_bytes);
            }
        }
        for number in waiting {
            add(&mut self.truths[self.blocks[number].stack].leaked, self.blocks[number].size_bytes);
        }
    }

    /// The truth of each stack.
    pub fn truths(&self) -> &[Truth] {
        &self.truths
    }

    /// Blocks and bytes of all.
    pub fn total(&self) -> (f64, f64) {
        let sizes = self.blocks.iter().map(|block| block.size_bytes as f64);
        (self.blocks.len() as f64, sizes.sum())
    }

    /// What an answer says of each stack; nothing of those that no sample hit.
    pub fn by_stack(&self, answer: &Answer) -> Vec<StackEstimates> {
        let mut found = vec![StackEstimates::default(); self.truths.len()];
        let sampling = answer.sampling.as_ref().expect("a sampled recording");
        for (stack, estimates) in answer.stacks.iter().zip(&sampling.stacks) {
            let frame = answer.tree.nodes[stack.node.0 as usize].frame;
            found[frame.address as usize - 1] = *estimates;
        }
        found
    }

    /// What a recorder writes that samples with this seed.
    pub fn sampled(&self, seed: u64) -> Sampled {
        self.sampled_by(seed, [Call::Malloc, Call::Free])
    }

    /// The same of blocks that come and go by these calls.
    pub fn sampled_by(&self, seed: u64, calls: [Call; 2]) -> Sampled {
        let mut recorder = Recorder::new(seed, self.truths.len(), self.blocks.len(), calls);
        // No two runs of a program have the same times, and rounding goes by them.
        for (tick, step) in (seed << 24..).zip(&self.steps) {
            match *step {
                Step::Comes(number) => recorder.comes(tick, number, &self.blocks[number]),
                Step::Goes { block, thread } => recorder.goes(tick, block, &self.blocks[block], thread),
            }
        }
        recorder.out
    }
}

/// The blocks of a stack: as many as give some number of samples, of similar sizes or of all.
fn of_stack(stack: usize, chance: &mut Chance) -> Vec<Born> {
    let typical = if stack == 0 { 0.0 } else { chance.between(12.0, 300_000.0) };
    let spread = [0.0, 0.3, 1.0][stack % 3];
    let wanted = if stack % 6 == 5 { chance.between(0.1, 5.0) } else { chance.between(5.0, 2000.0) };
    // Blocks of no bytes stand for a whole mean each: without a few hits of them nobody knows the total.
    let most = if stack == 0 { BLOCKS_OF_NOTHING } else { BLOCKS_MAX };
    let (mut blocks, mut samples) = (Vec::new(), 0.0);
    while samples < wanted && blocks.len() < most {
        let size_bytes = (typical * (spread * chance.normal()).exp()).min(SIZE_MAX) as u64;
        samples += chance_of(size_bytes);
        blocks.push(Born { stack, size_bytes, thread: usize::from(chance.uniform() < 0.4) });
    }
    blocks
}

/// The recorder, as far as it decides what is written.
struct Recorder {
    out: Sampled,
    threads: Vec<Thread>,
    /// Ticks of birth of sampled blocks.
    births: Vec<Option<u64>>,
    calls: [Call; 2],
}

struct Thread {
    sampler: Sampler,
    gap: u64,
    chunk: usize,
    rate: RateId,
    ticks: u64,
    /// Ticks of the block that was told last, and the gap after it.
    told: (u64, u64),
}

impl Recorder {
    fn new(seed: u64, stacks: usize, blocks: usize, calls: [Call; 2]) -> Recorder {
        let thread = |number| {
            let mut sampler = Sampler::new(seed, number as u64);
            let gap = sampler.next_gap(MEAN_BYTES);
            Thread { sampler, gap, chunk: number, rate: RateId::FULL, ticks: 0, told: (0, 0) }
        };
        let chunk = |number| {
            let facts = ChunkFacts { thread: number as u32 + 1, ..ChunkFacts::default() };
            (facts, Vec::new())
        };
        Recorder {
            out: Sampled { stacks: stacks as u32, chunks: (0..THREADS).map(chunk).collect() },
            threads: (0..THREADS).map(thread).collect(),
            births: vec![None; blocks],
            calls,
        }
    }

    fn comes(&mut self, tick: u64, number: usize, born: &Born) {
        let thread = &mut self.threads[born.thread];
        if thread.gap > born.size_bytes {
            thread.gap -= born.size_bytes + 1;
            return;
        }
        thread.gap = thread.sampler.next_gap(MEAN_BYTES);
        thread.told = (tick + 1, thread.gap);
        self.births[number] = Some(tick + 1);
        let (stack, size_bytes) = (StackId(born.stack as u32 + 1), born.size_bytes);
        let event = Event::Alloc { call: self.calls[0], size_bytes, stack, align_log2: 0 };
        self.tell(born.thread, tick + 1, &event);
    }

    fn goes(&mut self, tick: u64, number: usize, born: &Born, by: usize) {
        let Some(birth) = self.births[number] else { return };
        let thread = &self.threads[by];
        if thread.told.0 == birth && thread.gap != thread.told.1 {
            self.append(by, 0, &Event::Rate { rate: RATE });
        }
        let birth_thread = (by != born.thread).then_some(ThreadId(born.thread as u32 + 1));
        let (stack, age_ticks) = (StackId(born.stack as u32 + 1), tick + 1 - birth);
        let block = Block { size_bytes: born.size_bytes, stack, age_ticks, birth_thread };
        self.tell(by, tick + 1, &Event::Free { call: self.calls[1], block });
    }

    fn tell(&mut self, number: usize, ticks: u64, event: &Event) {
        if self.threads[number].rate != RATE {
            self.threads[number].rate = RATE;
            self.append(number, 0, &Event::Rate { rate: RATE });
        }
        self.append(number, ticks - self.threads[number].ticks, event);
        self.threads[number].ticks = ticks;
        let facts = &mut self.out.chunks[self.threads[number].chunk].0;
        facts.events += 1;
        facts.last_ticks = ticks;
    }

    fn append(&mut self, number: usize, dt: u64, event: &Event) {
        let mut at = [0; EVENT_BYTES_MAX];
        let len = event.encode(dt, &mut at);
        self.out.chunks[self.threads[number].chunk].1.extend_from_slice(&at[..len]);
    }
}

/// A sampled recording: one chunk for each thread.
pub struct Sampled {
    stacks: u32,
    chunks: Vec<(ChunkFacts, Vec<u8>)>,
}

impl History for Sampled {
    type Scratch = ();

    fn session(&self) -> SessionFacts {
        SessionFacts::default()
    }

    fn processes(&self) -> Vec<ProcessFacts> {
        vec![super::facts(1, Ended::Exited)]
    }

    fn chunks(&self) -> Vec<ChunkFacts> {
        self.chunks.iter().map(|(facts, _)| *facts).collect()
    }

    fn events<'a>(&'a self, chunk: usize, (): &'a mut ()) -> Result<impl EventsInOrder + 'a, String> {
        Ok(Events::new(&self.chunks[chunk].1))
    }

    fn definitions(&self, _: usize, take: &mut dyn FnMut(StackId, &Definition<'_>)) -> Result<(), String> {
        take(StackId::UNKNOWN, &Definition::Rate { id: RATE, mean_bytes: MEAN_BYTES });
        for number in 1..=self.stacks {
            let pc = CodeAddress(u64::from(number));
            let node = Node { parent: StackId::UNKNOWN, pc, guesses: false, exact: true };
            take(StackId(number), &Definition::Node(node));
        }
        Ok(())
    }
}
