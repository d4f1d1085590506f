//! From memtrace to ours. Domains become threads; locations become places, see [`heapscribe_symbols::places`].
//!
//! *Lost on the way*: how many samples an object had, in which heap it was, promotions, the parameters of
//! OCaml's runtime, and the characters of a line where names are shown. Times keep their microsecond.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::ops::ControlFlow;

use anyhow::Result;
use heapscribe_formats::memtrace::{
    Alloc, Event as Theirs, Info, LocationCode, Locations, Moment, ObjectId, Reader,
};
use heapscribe_formats::{HowEnded, ProcessEnd, ProcessInfo, SessionInfo, Source, Trace};
use heapscribe_wire::definitions::{Definition, Module, Node};
use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::{CodeAddress, RateId, StackId, ThreadId};
use heapscribe_wire::record::{Block, Call, Event};

use super::places;
use super::tally::{Tally, estimate_bytes};
use crate::native::thread_chunk::{ThreadChunk, ns_at, ticks_at};
use crate::native::writer::{Definitions, NativeWriter};

/// Our trace's clock at the start of theirs: 1 s, as 0 stands for a moment that is not known.
const START_NS: u64 = 1_000_000_000;
/// Nodes of stacks, at most; a real trace has some ten thousand.
const NODES_MAX: u32 = 1 << 24;
/// What the header of a trace says that was made here.
const ORIGIN: &str = "from memtrace";
/// The number of the only rate.
const RATE: RateId = RateId(1);

/// What the size of a block is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sizes {
    /// That of the object; the trace says at which rate objects were drawn.
    AsAsked,
    /// What the object's samples stand for, so that sums over blocks are the estimates that memtrace's own
    /// tools give.
    Estimated,
}

/// Whether a trace was made of a memtrace file, and so lost what only such a file has.
pub fn is_origin<S: Source>(trace: &Trace<S>) -> bool {
    trace.session().is_some_and(|session| session.version.starts_with(ORIGIN))
}

/// An object that is there.
#[derive(Clone, Copy)]
struct Object {
    thread: u32,
    birth_ticks: u64,
    size_bytes: u64,
    stack: StackId,
    samples: u64,
}

/// Converts what is still to be read. Memory grows with different stacks and with objects that are there at
/// a time.
pub fn convert<S: Source, W: Write>(
    reader: &mut Reader<S>,
    out: W,
    sizes: Sizes,
) -> Result<(Tally, Vec<String>)> {
    let info = reader.info().clone();
    let mut to = Conversion::new(&info, out, sizes)?;
    let read = reader.for_each(|moment, event| match to.event(moment, event) {
        Ok(()) => ControlFlow::Continue(()),
        Err(e) => ControlFlow::Break(e),
    });
    let mut problems: Vec<_> = reader.skipped().iter().map(ToString::to_string).collect();
    let read_to_end = read.is_ok();
    match read {
        Ok(Some(e)) => return Err(e.into()),
        Ok(None) => {}
        Err(e) => problems.push(e.to_string()),
    }
    if reader.missing_objects() != 0 {
        problems.push(format!("objects missing because packets are missing: {}", reader.missing_objects()));
    }
    if !to.early.is_empty() {
        problems.push(format!("objects collected without an allocation in the file: {}", to.early.len()));
    }
    to.tally.hidden_stacks = reader.hidden_stacks();
    if to.stacks.calls_cut != 0 {
        let n = to.stacks.calls_cut;
        problems.push(format!(
            "calls left out of stacks, as the file has more than {NODES_MAX} different ones: {n}"
        ));
    }
    if reader.unread_objects() != 0 {
        let unread = reader.unread_objects();
        problems.push(format!("objects in packets that are cut or damaged: {unread}"));
    }
    let objects = reader.unread_objects().saturating_add(reader.missing_objects());
    let is_whole = objects == 0 && !reader.skips_own() && read_to_end;
    let tally = to.finish(reader.end_us(), (!is_whole).then_some(objects))?;
    if sizes == Sizes::AsAsked {
        problems.extend(tally.lost_in_native());
    }
    Ok((tally, problems))
}

struct Conversion<W> {
    made: NativeWriter<W>,
    sizes: Sizes,
    is_sampled: bool,
    threads: BTreeMap<u16, ThreadChunk>,
    objects: HashMap<ObjectId, Object>,
    /// Objects that another domain's packet collects before their own domain's packet tells of them: by
    /// which domain and when.
    early: HashMap<ObjectId, (u16, u64)>,
    stacks: Stacks,
    tally: Tally,
    first_domain: u16,
}

impl<W: Write> Conversion<W> {
    fn new(info: &Info, out: W, sizes: Sizes) -> io::Result<Self> {
        let is_sampled = sizes == Sizes::AsAsked && info.sample_rate > 0.0 && info.sample_rate < 1.0;
        let mut to = Conversion {
            made: NativeWriter::begin(&session(info), &process(info), out)?,
            sizes,
            is_sampled,
            threads: BTreeMap::new(),
            objects: HashMap::new(),
            early: HashMap::new(),
            stacks: Stacks::default(),
            tally: Tally::new(info),
            first_domain: info.domain,
        };
        if is_sampled {
            let mean_bytes = (info.word_bytes() as f64 / info.sample_rate).round() as u64;
            to.stacks.definitions.define(&Definition::Rate { id: RATE, mean_bytes });
        }
        Ok(to)
    }

    fn event(&mut self, moment: &Moment<'_>, event: &Theirs<'_>) -> io::Result<()> {
        let ns = START_NS.saturating_add(u64::try_from(moment.time_us).unwrap_or(0).saturating_mul(1000));
        self.begin(moment.domain)?;
        match event {
            Theirs::Alloc(alloc) => {
                self.alloc(ns, moment, alloc);
                if let Some((domain, ended_ns)) = self.early.remove(&alloc.id) {
                    self.begin(domain)?;
                    self.collect(ended_ns, domain, alloc.id);
                }
            }
            Theirs::Promote(id) => {
                if let Some(object) = self.objects.get(id) {
                    self.tally.promoted.add(object.samples);
                }
            }
            Theirs::Collect(id) => self.collect(ns, moment.domain, *id),
        }
        Ok(())
    }

    /// Makes sure that the thread of a domain is there and has room.
    fn begin(&mut self, domain: u16) -> io::Result<()> {
        let number = u32::from(domain) + 1;
        if !self.threads.contains_key(&domain) {
            let name = format!("domain {domain}");
            self.stacks.definitions.define(&Definition::Thread {
                id: ThreadId(number),
                tid: u32::from(domain),
                born_ticks: ticks_at(START_NS),
                name: name.as_bytes(),
            });
            self.threads.insert(domain, ThreadChunk::new(number, ticks_at(START_NS) - 1));
        }
        if self.threads[&domain].is_full() {
            self.seal(domain)?;
        }
        let is_sampled = self.is_sampled;
        if let Some(thread) = self.threads.get_mut(&domain).filter(|t| is_sampled && t.payload.is_empty()) {
            thread.put(thread.last_ticks, &Event::Rate { rate: RATE });
        }
        Ok(())
    }

    fn alloc(&mut self, ns: u64, moment: &Moment<'_>, alloc: &Alloc<'_>) {
        let samples = u64::try_from(alloc.samples).unwrap_or(0);
        self.tally.alloc(moment.domain, alloc.heap, samples);
        let size_bytes = match self.sizes {
            Sizes::AsAsked => {
                u64::try_from(alloc.length_words).unwrap_or(0).saturating_mul(self.tally.word_bytes)
            }
            Sizes::Estimated => estimate_bytes(samples, self.tally.sample_rate, self.tally.word_bytes),
        };
        let stack = self.stacks.number(moment.domain, alloc, moment.locations);
        let Some(thread) = self.threads.get_mut(&moment.domain) else { return };
        let ticks = thread.ticks(ns);
        thread.put(ticks, &Event::Alloc { call: Call::Malloc, size_bytes, stack, align_log2: 0 });
        let object = Object { thread: thread.number, birth_ticks: ticks, size_bytes, stack, samples };
        self.objects.insert(alloc.id, object);
    }

    /// A block is named by its thread and its birth, which a reader has from the ticks and the age: an end that
    /// is told late makes the block older than it was, but leaves it the same block.
    fn collect(&mut self, ns: u64, domain: u16, id: ObjectId) {
        let Some(thread) = self.threads.get_mut(&domain) else { return };
        let Some(object) = self.objects.remove(&id) else {
            self.early.insert(id, (domain, ns));
            return;
        };
        self.tally.collected.add(object.samples);
        let ticks = thread.ticks(ns).max(object.birth_ticks);
        let is_own = object.thread == thread.number;
        let block = Block {
            size_bytes: object.size_bytes,
            stack: object.stack,
            age_ticks: ticks - object.birth_ticks,
            birth_thread: (!is_own).then_some(ThreadId(object.thread)),
        };
        thread.put(ticks, &Event::Free { call: Call::Free, block });
    }

    /// Writes the chunk of a domain, and before it the definitions that it needs.
    fn seal(&mut self, domain: u16) -> io::Result<()> {
        let Some(thread) = self.threads.get_mut(&domain) else { return Ok(()) };
        self.made.seal(thread, &mut self.stacks.definitions)
    }

    /// Ends the trace. Of a file of which so many objects could not be read nobody knows what else was not: the end of
    /// its process stays open, so that figures are least ones.
    fn finish(mut self, end_us: i64, unread: Option<u64>) -> io::Result<Tally> {
        if let Some(count) = unread.filter(|count| *count != 0) {
            self.begin(self.first_domain)?;
            let thread = self.threads.get_mut(&self.first_domain);
            let lost = Event::Lost { count, reason: LossReason::Damaged as u8 };
            thread.into_iter().for_each(|thread| thread.put(thread.last_ticks, &lost));
        }
        let domains: Vec<_> = self.threads.keys().copied().collect();
        for domain in domains {
            self.seal(domain)?;
        }
        let end_us = u64::try_from(end_us).unwrap_or(0);
        let end_ns = START_NS.saturating_add(end_us.saturating_mul(1000));
        let last_ns = self.threads.values().map(|thread| ns_at(thread.last_ticks)).max().unwrap_or(0);
        let ended_mono_ns = end_ns.max(last_ns);
        let end = ProcessEnd {
            ended_mono_ns,
            how: HowEnded::Exited,
            threads: self.threads.len() as u32,
            ..ProcessEnd::default()
        };
        match unread {
            None => self.made.finish(&end)?,
            Some(_) => self.made.finish_open(ended_mono_ns)?,
        }
        Ok(self.tally)
    }
}

/// Stacks by number, and the definitions that are still to be written.
#[derive(Default)]
struct Stacks {
    nodes: HashMap<(StackId, LocationCode), StackId>,
    places: HashMap<LocationCode, bool>,
    /// Of each domain the last stack and the number of each of its frames.
    last: HashMap<u16, Vec<(LocationCode, StackId)>>,
    definitions: Definitions,
    /// Calls that had no number left.
    calls_cut: u64,
}

impl Stacks {
    /// What the reader took over from the stack before is not compared: of a deep stack that is nearly all.
    fn number(&mut self, domain: u16, alloc: &Alloc<'_>, locations: &Locations) -> StackId {
        let mut last = self.last.remove(&domain).unwrap_or_default();
        let reused = alloc.reused_frames.min(last.len()).min(alloc.stack.len());
        let further = last[reused..].iter().zip(&alloc.stack[reused..]);
        let same = reused + further.take_while(|((a, _), b)| a == *b).count();
        last.truncate(same);
        for &code in &alloc.stack[same..] {
            let parent = last.last().map_or(StackId::UNKNOWN, |(_, number)| *number);
            last.push((code, self.node(parent, code, locations)));
        }
        let leaf = last.last().map_or(StackId::UNKNOWN, |(_, number)| *number);
        self.last.insert(domain, last);
        leaf
    }

    fn node(&mut self, parent: StackId, code: LocationCode, locations: &Locations) -> StackId {
        if let Some(known) = self.nodes.get(&(parent, code)) {
            return *known;
        }
        if self.definitions.next_node() >= NODES_MAX {
            self.calls_cut += 1;
            return parent;
        }
        self.place(code, locations);
        let number = StackId(self.definitions.next_node());
        let pc = CodeAddress(code.0 as u64);
        self.definitions.define(&Definition::Node(Node { parent, pc, guesses: false, exact: true }));
        self.nodes.insert((parent, code), number);
        number
    }

    /// Names a code once, as soon as it has a name.
    fn place(&mut self, code: LocationCode, locations: &Locations) {
        let frames = locations.get(code).unwrap_or_default();
        let is_named = self.places.get(&code).copied().unwrap_or(false);
        self.places.insert(code, is_named || !frames.is_empty());
        let start = code.0 as u64;
        if let (false, Some(end), false) = (is_named, start.checked_add(1), frames.is_empty()) {
            let path = places::path(frames, locations);
            let name = path.as_bytes();
            self.definitions.define(&Definition::Module(Module {
                start,
                end,
                bias: start,
                name,
                build_id: &[],
            }));
        }
    }
}

fn session(info: &Info) -> SessionInfo {
    SessionInfo {
        command: vec![info.executable.clone()],
        host: String::from_utf8_lossy(&info.host).into_owned(),
        version: format!("{ORIGIN}, {}", env!("CARGO_PKG_VERSION")),
        started_real_ns: u64::try_from(info.start_us).unwrap_or(0).saturating_mul(1000),
        started_mono_ns: START_NS,
        ..SessionInfo::default()
    }
}

fn process(info: &Info) -> ProcessInfo {
    ProcessInfo {
        pid: u32::try_from(info.pid).unwrap_or(0),
        created_mono_ns: START_NS,
        created_real_ns: u64::try_from(info.start_us).unwrap_or(0).saturating_mul(1000),
        created_ticks: ticks_at(START_NS),
        exe: info.executable.clone(),
        command: vec![info.executable.clone()],
        ..ProcessInfo::default()
    }
}
