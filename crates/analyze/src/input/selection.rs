//! Some processes and threads of a recording as a recording of their own, so that whatever can be asked of a whole can be
//! asked of one process: what it held, and where blocks were sampled how sure that is.

use std::collections::BTreeSet;

use heapscribe_formats::{Evicted, LiveBlock};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::StackId;

use super::choice::Chosen;
use super::facts::{ChunkFacts, NumberedChunk, ProcessFacts, SessionFacts, TableMoment};
use super::history::{EventsInOrder, History};
use super::of_threads::OfThreads;

/// A recording whose chunks are known by process.
#[derive(Debug)]
pub struct Split<'h, H> {
    history: &'h H,
    processes: Vec<ProcessFacts>,
    /// Numbers of the chunks, by process.
    chunks: Vec<Vec<NumberedChunk>>,
}

impl<'h, H: History> Split<'h, H> {
    /// Looks at all chunks once.
    pub fn new(history: &'h H) -> Self {
        let processes = history.processes();
        let mut chunks = vec![Vec::new(); processes.len()];
        for (number, facts) in history.chunks().into_iter().enumerate() {
            if let Some(of_process) = chunks.get_mut(facts.process) {
                of_process.push(NumberedChunk { number, facts });
            }
        }
        Split { history, processes, chunks }
    }

    /// All processes.
    pub fn processes(&self) -> &[ProcessFacts] {
        &self.processes
    }

    /// These processes and no others, in this order.
    pub fn only(&self, processes: &[usize]) -> Selection<'_, 'h, H> {
        let all = processes.iter().map(|number| (*number, None)).collect();
        self.chosen(Chosen { processes: all })
    }

    /// All processes, those too of which nothing but sums is left.
    pub fn whole(&self) -> Selection<'_, 'h, H> {
        let all = (0..self.processes.len()).map(|number| (number, None)).collect();
        Selection { has_evicted: true, ..self.chosen(Chosen { processes: all }) }
    }

    /// These processes and, of those that have any, these threads: the blocks that they allocated.
    pub fn chosen(&self, chosen: Chosen) -> Selection<'_, 'h, H> {
        let known = chosen.processes.into_iter().filter(|(number, _)| *number < self.processes.len());
        let (numbers, threads): (Vec<usize>, Vec<_>) = known.unzip();
        let of_process = |(process, number): (usize, &usize)| {
            let renumbered = move |chunk: &NumberedChunk| NumberedChunk {
                number: chunk.number,
                facts: ChunkFacts { process, ..chunk.facts },
            };
            self.chunks[*number].iter().map(renumbered).collect::<Vec<_>>()
        };
        let chunks = numbers.iter().enumerate().flat_map(of_process).collect();
        Selection { split: self, numbers, threads, chunks, has_evicted: false }
    }
}

/// Some processes of a recording. What is wrong with the recording as a whole is not theirs.
#[derive(Debug)]
pub struct Selection<'s, 'h, H> {
    split: &'s Split<'h, H>,
    numbers: Vec<usize>,
    /// Of each process the threads, where not all are meant.
    threads: Vec<Option<BTreeSet<u32>>>,
    /// With their numbers in the whole.
    chunks: Vec<NumberedChunk>,
    /// Whether processes belong to it that a ring has evicted.
    has_evicted: bool,
}

impl<H: History> History for Selection<'_, '_, H> {
    type Scratch = H::Scratch;

    fn session(&self) -> SessionFacts {
        let session = self.split.history.session();
        let evicted = if self.has_evicted { session.evicted } else { Evicted::default() };
        SessionFacts { evicted, ..session }
    }

    fn processes(&self) -> Vec<ProcessFacts> {
        let parent = |facts: &ProcessFacts| {
            facts.parent.and_then(|parent| self.numbers.iter().position(|number| *number == parent))
        };
        let facts = self.numbers.iter().map(|number| &self.split.processes[*number]);
        facts.map(|facts| ProcessFacts { parent: parent(facts), ..facts.clone() }).collect()
    }

    fn chunks(&self) -> Vec<ChunkFacts> {
        self.chunks.iter().map(|chunk| chunk.facts).collect()
    }

    fn events<'a>(
        &'a self,
        chunk: usize,
        scratch: &'a mut Self::Scratch,
    ) -> Result<impl EventsInOrder + 'a, String> {
        let NumberedChunk { number, facts } = &self.chunks[chunk];
        let events = self.split.history.events(*number, scratch)?;
        let wanted = self.threads[facts.process].as_ref();
        Ok(OfThreads { events, thread: facts.thread, wanted, skipped_ticks: 0, has_skipped: false })
    }

    fn keeps_native(&self) -> bool {
        self.split.history.keeps_native()
    }

    fn definitions(
        &self,
        process: usize,
        take: &mut dyn FnMut(StackId, &Definition<'_>),
    ) -> Result<(), String> {
        self.split.history.definitions(self.numbers[process], take)
    }

    fn live_at_end(
        &self,
        process: usize,
        take: &mut dyn FnMut(&LiveBlock),
    ) -> Result<Option<TableMoment>, String> {
        let wanted = self.threads[process].as_ref();
        self.split.history.live_at_end(self.numbers[process], &mut |block| {
            if wanted.is_none_or(|threads| threads.contains(&block.thread.0)) {
                take(block);
            }
        })
    }
}
