//! One type for all histories of the tests: the analysis is compiled once for each type, optimized, at ten seconds each.

use heapscribe_analyze::input::{
    ChunkFacts, EventsInOrder, History, ProcessFacts, SessionFacts, TableMoment,
};
use heapscribe_analyze::{Answer, Options};
use heapscribe_formats::LiveBlock;
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::{BadEvent, Event};

type TakeDefinition<'t> = &'t mut dyn FnMut(StackId, &Definition<'_>);

/// The answer for any history that needs nothing to load a chunk.
pub(crate) fn analyze(history: &impl History<Scratch = ()>, options: &Options) -> Answer {
    heapscribe_analyze::analyze(&Erased(history), options)
}

/// A [`History`] without types of its own.
trait ObjectSafe: Sync {
    fn session(&self) -> SessionFacts;
    fn processes(&self) -> Vec<ProcessFacts>;
    fn chunks(&self) -> Vec<ChunkFacts>;
    fn events(&self, chunk: usize) -> Result<Vec<Read>, String>;
    fn keeps_native(&self) -> bool;
    fn definitions(&self, process: usize, take: TakeDefinition<'_>) -> Result<(), String>;
    fn live_at_end(
        &self,
        process: usize,
        take: &mut dyn FnMut(&LiveBlock),
    ) -> Result<Option<TableMoment>, String>;
    fn problems(&self) -> Vec<String>;
}

type Read = Result<(u64, Event), BadEvent>;

impl<H: History<Scratch = ()>> ObjectSafe for H {
    fn session(&self) -> SessionFacts {
        History::session(self)
    }

    fn processes(&self) -> Vec<ProcessFacts> {
        History::processes(self)
    }

    fn chunks(&self) -> Vec<ChunkFacts> {
        History::chunks(self)
    }

    fn events(&self, chunk: usize) -> Result<Vec<Read>, String> {
        Ok(History::events(self, chunk, &mut ())?.collect())
    }

    fn keeps_native(&self) -> bool {
        History::keeps_native(self)
    }

    fn definitions(&self, process: usize, take: TakeDefinition<'_>) -> Result<(), String> {
        History::definitions(self, process, take)
    }

    fn live_at_end(
        &self,
        process: usize,
        take: &mut dyn FnMut(&LiveBlock),
    ) -> Result<Option<TableMoment>, String> {
        History::live_at_end(self, process, take)
    }

    fn problems(&self) -> Vec<String> {
        History::problems(self)
    }
}

struct Erased<'h>(&'h dyn ObjectSafe);

impl History for Erased<'_> {
    type Scratch = ();

    fn session(&self) -> SessionFacts {
        self.0.session()
    }

    fn processes(&self) -> Vec<ProcessFacts> {
        self.0.processes()
    }

    fn chunks(&self) -> Vec<ChunkFacts> {
        self.0.chunks()
    }

    fn events<'a>(&'a self, chunk: usize, (): &'a mut ()) -> Result<impl EventsInOrder + 'a, String> {
        Ok(self.0.events(chunk)?.into_iter())
    }

    fn keeps_native(&self) -> bool {
        self.0.keeps_native()
    }

    fn definitions(&self, process: usize, take: TakeDefinition<'_>) -> Result<(), String> {
        self.0.definitions(process, take)
    }

    fn live_at_end(
        &self,
        process: usize,
        take: &mut dyn FnMut(&LiveBlock),
    ) -> Result<Option<TableMoment>, String> {
        self.0.live_at_end(process, take)
    }

    fn problems(&self) -> Vec<String> {
        self.0.problems()
    }
}
