//! One process image on its way into its file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use heapscribe_formats::memtrace::Order;
use heapscribe_formats::model::ProcessInfo;
use heapscribe_wire::definitions::{Definitions, Position};
use heapscribe_wire::ids::RateId;
use heapscribe_wire::record::{Event, Events};

use super::clock::LiveClock;
use super::message::Piece;
use super::packets::Packets;
use super::plan::{FilesPlan, Written};
use heapscribe_convert::memtrace::objects::{self, At, Objects};
use heapscribe_convert::stacks::Stacks;
use heapscribe_diagnostics as diagnostics;
use heapscribe_symbols::CachedResolver;

/// How far a thread's open chunk was taken.
#[derive(Clone, Copy)]
struct Progress {
    ticks: u64,
    rate: RateId,
}

/// A process image: its definitions, and its file as soon as it has events.
pub(super) struct Image {
    pub(super) info: ProcessInfo,
    clock: LiveClock,
    /// Definitions that came before the file was opened.
    waiting: Vec<(Position, Vec<u8>)>,
    file: Option<(Objects<Packets>, Written)>,
    threads: BTreeMap<u32, Progress>,
}

impl Image {
    pub(super) fn new(info: ProcessInfo) -> Image {
        Image {
            clock: LiveClock::new(&info),
            info,
            waiting: Vec::new(),
            file: None,
            threads: BTreeMap::new(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Begins the file; the first events are this thread's.
    pub(super) fn open(&mut self, path: PathBuf, plan: &FilesPlan, thread: u32) {
        let start_us = (self.info.created_real_ns / 1000) as i64;
        let about =
            objects::info(&self.info, &plan.host, plan.sample_rate, start_us, objects::domain(thread));
        let packets = Packets::create(&path);
        let written = Written {
            path,
            pid: self.info.pid,
            objects: 0,
            bytes: 0,
            problems: Vec::new(),
            left_out: None,
            is_cut: false,
        };
        match Objects::create(packets, &about, Stacks::default(), Order::Apart) {
            Ok(objects) => self.file = Some((objects, written)),
            Err(e) => diagnostics::error(&e.to_string()),
        }
        for (position, bytes) in std::mem::take(&mut self.waiting) {
            self.definitions(position, &bytes);
        }
    }

    pub(super) fn written_mut(&mut self) -> Option<&mut Written> {
        self.file.as_mut().map(|(_, written)| written)
    }

    pub(super) fn definitions(&mut self, position: Position, bytes: &[u8]) {
        let Some((objects, _)) = &mut self.file else {
            return self.waiting.push((position, bytes.to_vec()));
        };
        let mut definitions = Definitions::new(bytes, position);
        while let Some(Ok((id, definition))) = definitions.next() {
            objects.define(id, &definition);
        }
    }

    /// Writes events of a chunk.
    pub(super) fn events(&mut self, piece: &Piece, resolver: &mut CachedResolver) {
        let Some((objects, written)) = &mut self.file else { return };
        objects.name_new(|requests| resolver.resolve(requests));
        let chunk = &piece.info;
        let mut at = match self.threads.get(&chunk.thread) {
            Some(at) if piece.from > 0 => *at,
            _ => Progress { ticks: chunk.begin_ticks, rate: RateId::FULL },
        };
        let dts = Events::new(&piece.payload).flatten().map(|(dt, _)| dt);
        let last_ticks = dts.fold(at.ticks, u64::wrapping_add);
        self.clock.chunk(chunk, last_ticks, piece.copied_mono_ns);
        let start_us = (self.info.created_real_ns / 1000) as i64;
        let since_us = |mono_ns: u64| (mono_ns.saturating_sub(self.info.created_mono_ns) / 1000) as i64;
        let time_us = |ticks| start_us.saturating_add(since_us(self.clock.mono_ns(chunk, ticks)));
        let mut all = || {
            for (dt, event) in Events::new(&piece.payload).flatten() {
                if let Event::Rate { rate } = event {
                    at.rate = rate;
                    continue;
                }
                at.ticks = at.ticks.wrapping_add(dt);
                let time_us = time_us(at.ticks);
                objects
                    .event(At { thread: chunk.thread, ticks: at.ticks, time_us, rate: at.rate }, &event)?;
            }
            objects.reached(chunk.thread, time_us(at.ticks))
        };
        // The sink takes everything; errors of the disk are reported there.
        if let Err(e) = all() {
            written.problems.push(e.to_string());
        }
        self.threads.insert(chunk.thread, at);
    }

    pub(super) fn flush(&mut self) {
        if let Some((objects, written)) = &mut self.file
            && let Err(e) = objects.flush()
        {
            written.problems.push(e.to_string());
        }
    }

    /// Ends the file, if there is one.
    pub(super) fn end(self) -> Option<Written> {
        let (objects, mut written) = self.file?;
        written.objects = objects.written;
        match objects.finish() {
            Ok(finished) => {
                written.problems.extend(finished.problems_of_whole());
                written.left_out = finished.left_out;
                (written.bytes, written.is_cut) = (finished.sink.written, finished.sink.is_cut);
            }
            Err(e) => written.problems.push(e.to_string()),
        }
        Some(written)
    }
}
