//! A thread writes sealed chunks out itself because the drainer is lost (`record::log::Log::spill`):
//! killed at each step, and with a drainer that was not lost after all.

use std::sync::{Arc, Mutex};

use crate::sync::Ordering;
use loom::thread;

use crate::chunk::State;
use crate::explore;
use crate::parties::{Chunk, Copied, Drainer, Log, Manner, Read, Writer};

/// The file that is written to: headers, each followed by its events once they are there.
#[derive(Debug, Default)]
struct File(Mutex<Vec<(Copied, Option<Vec<u32>>)>>);

impl File {
    /// What of it a reader takes: chunks that are whole.
    fn whole(&self) -> Vec<(Copied, Vec<u32>)> {
        self.0.lock().unwrap().iter().filter_map(|(h, events)| Some((*h, events.clone()?))).collect()
    }
}

fn take_back(chunk: &Chunk) -> bool {
    let (sealed, open) = (State::Sealed as u32, State::Open as u32);
    chunk.header.state.compare_exchange(sealed, open, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

fn write_header(chunk: &Chunk, file: &File) {
    file.0.lock().unwrap().push((Read::Running.header(&chunk.header), None));
}

fn write_events(chunk: &Chunk, file: &File) {
    let n = chunk.header.committed.load(Ordering::Relaxed) as usize;
    let events = chunk.payload[..n].iter().map(|word| Read::Running.word(word)).collect();
    file.0.lock().unwrap().last_mut().unwrap().1 = Some(events);
}

/// The steps of writing a chunk out, of which a killed thread does the first `steps`.
fn spill(chunk: &Chunk, file: &File, steps: usize) {
    let all: [&dyn Fn(); 4] = [
        &|| write_header(chunk, file),
        &|| write_events(chunk, file),
        &|| chunk.header.committed.store(0, Ordering::Relaxed),
        &|| chunk.header.state.store(State::Free as u32, Ordering::Release),
    ];
    if steps > 0 && take_back(chunk) {
        all.iter().take(steps - 1).for_each(|step| step());
    }
}

/// The thread is killed after `steps` of writing out its two events. `looks`: the reader leaves out a
/// chunk whose thread and sequence it has got from the file.
fn killed_after(steps: usize, looks: bool) {
    let (log, file) = (Log::new(1), File::default());
    assert!(Writer::new(&log, 1).fill(2));
    spill(&log.chunks[0], &file, steps);
    let mut drainer = Drainer::new(&log, Manner::Careful);
    drainer.drain();
    let spilled = file.whole();
    drainer.got.extend(spilled.iter().flat_map(|(_, events)| events));
    let is_new = |h: &Copied| !spilled.iter().any(|(s, _)| (s.thread, s.sequence) == (h.thread, h.sequence));
    drainer.end(Read::Dead, |header| !looks || is_new(header));
    assert_eq!(drainer.numbers(1), [1, 2], "killed after {steps} steps");
}

/// A thread believes the drainer lost, writes its chunk out and goes on with it; the drainer comes back.
fn drainer_comes_back(manner: Manner) {
    let (log, file) = (Log::new(1), Arc::new(File::default()));
    let mut writer = Writer::new(&log, 1);
    assert!(writer.fill(1));
    let (its_log, its_file) = (Arc::clone(&log), Arc::clone(&file));
    let thread = thread::spawn(move || {
        spill(&its_log.chunks[0], &its_file, 5);
        writer.fill(2);
    });
    let mut drainer = Drainer::new(&log, manner);
    drainer.drain();
    thread.join().unwrap();
    drainer.drain();
    drainer.got.extend(file.whole().iter().flat_map(|(_, events)| events));
    drainer.end(Read::Dead, |_| true);
    assert_eq!(drainer.numbers(1), (1..=log.committed(1)).collect::<Vec<_>>());
}

#[test]
fn a_reader_that_knows_what_wout_gets_all_once() {
    explore("killed while it writes out", 0, || (0..=5).for_each(|steps| killed_after(steps, true)));
}

/// Between the last byte in the file and `committed = 0` the events are in both.
#[test]
#[should_panic = "killed after 3 steps"]
fn a_kill_while_writing_out_doubles_events() {
    explore("killed while it writes out", 0, || (0..=5).for_each(|steps| killed_after(steps, false)));
}

#[test]
fn a_drainer_that_claims_its_chunks_may_come_back() {
    explore("claims", 4, || drainer_comes_back(Manner::Claims));
}

/// The drainer stores `free` into a chunk that by now is a thread's again.
#[test]
#[should_panic]
fn a_drainer_that_only_stores_may_not_come_back() {
    explore("comes back", 4, || drainer_comes_back(Manner::Careful));
}

/// Both take what was sealed; and between the comparison and the store the chunk may change hands.
#[test]
#[should_panic]
fn a_drainer_that_compares_and_comes_back_does_harm() {
    explore("compares and comes back", 4, || drainer_comes_back(Manner::Compares));
}
