//! Some processes of a recording as a recording of their own, so that whatever can be asked of a whole can be
//! asked of one process: what it held, and where blocks were sampled how sure that is.

use heapscribe_wire::defs::Definition;
use heapscribe_wire::ids::StackId;

use super::facts::{ChunkFacts, NumberedChunk, ProcessFacts, SessionFacts};
use super::history::{EventsInOrder, History};

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
        let known = processes.iter().copied().filter(|number| *number < self.processes.len());
        let numbers: Vec<usize> = known.collect();
        let of_process = |(process, number): (usize, &usize)| {
            let renumbered = move |chunk: &NumberedChunk| NumberedChunk {
                number: chunk.number,
                facts: ChunkFacts { process, ..chunk.facts },
            };
            self.chunks[*number].iter().map(renumbered).collect::<Vec<_>>()
        };
        let chunks = numbers.iter().enumerate().flat_map(of_process).collect();
        Selection { split: self, numbers, chunks }
    }
}

/// Some processes of a recording. What is wrong with the recording as a whole is not theirs.
#[derive(Debug)]
pub struct Selection<'s, 'h, H> {
    split: &'s Split<'h, H>,
    numbers: Vec<usize>,
    /// With their numbers in the whole.
    chunks: Vec<NumberedChunk>,
}

impl<H: History> History for Selection<'_, '_, H> {
    type Scratch = H::Scratch;

    fn session(&self) -> SessionFacts {
        SessionFacts { evicted: Default::default(), ..self.split.history.session() }
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
        self.split.history.events(self.chunks[chunk].number, scratch)
    }

    fn definitions(
        &self,
        process: usize,
        take: &mut dyn FnMut(StackId, &Definition<'_>),
    ) -> Result<(), String> {
        self.split.history.definitions(self.numbers[process], take)
    }
}
