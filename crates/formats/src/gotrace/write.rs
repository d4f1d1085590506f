//! Writes a Go trace in layout one, as Go's tracer does it: into buffers of 64 KiB, each record at its final
//! place, none across two buffers.
//!
//! Definitions are written first. A text is written when [`Writer::text`] is called, and a stack names texts by
//! their [`TextId`], so that no text ever begins within an open stack. The buffer of definitions is written out
//! before any event. (Go writes stacks at the end, and of a program that is killed none.)
//!
//! *You bring* events of each P in the order of their time. *It guarantees* that every prefix of the file
//! defines what the events in it name, and that its memory does not grow with events. *It refuses* nothing:
//! texts are cut after 1 KiB, stacks beyond their 1000 innermost frames, and a time that decreases is written
//! as the one before it.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use super::layout_go1_11;
use super::limits::{
    BUFFER_BYTES, EVENT_BYTES_MAX, FRAMES_MAX, NUMBERS_BYTES_MAX, VALUES_MAX, WRITTEN_TEXT_BYTES_MAX,
    stack_bytes_max,
};
use super::names::Frame;
use super::spec::Spec;
use super::version::Version;
use heapscribe_wire::varint;

/// Bytes of events of all Ps that are buffered, at most.
const LANES_BYTES_MAX: usize = 16 << 20;

/// A text that is in the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TextId(u64);

impl TextId {
    /// Its number in the file.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// A frame whose texts are in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameOf {
    /// Where the call returns to.
    pub pc: u64,
    /// The function's name.
    pub function: TextId,
    /// The source file.
    pub file: TextId,
    /// The line in it.
    pub line: u64,
}

/// What an event carries besides its values, of a kind that has it. The default is nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Attached<'a> {
    /// The number of its stack; 0 for none.
    pub stack: u64,
    /// Its text.
    pub text: &'a [u8],
}

/// The events of a P that are not in the file yet.
#[derive(Debug, Default)]
struct Lane {
    bytes: Vec<u8>,
    ticks: u64,
}

/// Writes a file.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    /// Texts and stacks that are not in the file yet, and how many bytes of the buffer they take.
    definitions: Vec<u8>,
    used: usize,
    texts: HashMap<Vec<u8>, TextId>,
    lanes: BTreeMap<u64, Lane>,
    lanes_bytes: usize,
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of the output.
    pub fn create(mut out: W) -> io::Result<Self> {
        out.write_all(&Version::WRITTEN.encode())?;
        Ok(Writer {
            out,
            definitions: vec![0; BUFFER_BYTES],
            used: 0,
            texts: HashMap::new(),
            lanes: BTreeMap::new(),
            lanes_bytes: 0,
        })
    }

    /// The number of a text, which is written when it is new. The empty text has the number 0.
    ///
    /// # Errors
    /// Those of the output.
    pub fn text(&mut self, text: &[u8]) -> io::Result<TextId> {
        let text = cut(text);
        if text.is_empty() {
            return Ok(TextId(0));
        }
        if let Some(id) = self.texts.get(text) {
            return Ok(*id);
        }
        let id = TextId(self.texts.len() as u64 + 1);
        self.ensure(1 + 2 * varint::MAX_BYTES + text.len())?;
        self.used += layout_go1_11::encode_text(&mut self.definitions[self.used..], id.0, text).unwrap_or(0);
        self.texts.insert(text.to_vec(), id);
        Ok(id)
    }

    /// Writes a stack under a number of its own, not 0, the innermost frame first.
    ///
    /// # Errors
    /// Those of the output.
    pub fn stack(&mut self, id: u64, frames: &[FrameOf]) -> io::Result<()> {
        let resolved = |frame: &FrameOf| Frame {
            pc: frame.pc,
            function: frame.function.0,
            file: frame.file.0,
            line: frame.line,
        };
        let frames: Vec<_> = frames.iter().take(FRAMES_MAX).map(resolved).collect();
        self.ensure(stack_bytes_max(frames.len()))?;
        self.used +=
            layout_go1_11::encode_stack(&mut self.definitions[self.used..], id, &frames).unwrap_or(0);
        Ok(())
    }

    /// Writes an event of a P: as many values as its kind has, and its stack and its text.
    ///
    /// # Errors
    /// Those of the output.
    pub fn event(
        &mut self,
        p: u64,
        ticks: u64,
        kind: &Spec,
        values: &[u64],
        attached: Attached<'_>,
    ) -> io::Result<()> {
        let Attached { stack, text } = attached;
        if self.lanes.get(&p).is_some_and(|lane| lane.bytes.len() + EVENT_BYTES_MAX > BUFFER_BYTES) {
            self.flush_lane(p)?;
        }
        if self.lanes_bytes + EVENT_BYTES_MAX > LANES_BYTES_MAX {
            self.flush()?;
        }
        let lane = self.lanes.entry(p).or_default();
        let before = lane.bytes.len();
        lane.put(p, ticks, kind, values, stack, cut(text));
        self.lanes_bytes += lane.bytes.len() - before;
        Ok(())
    }

    /// Ends the file; `frequency` is the ticks of a second.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self, frequency: u64) -> io::Result<W> {
        self.flush()?;
        let mut at = [0; 2 + varint::MAX_BYTES];
        let n = layout_go1_11::encode(&mut at, layout_go1_11::FREQUENCY, &[frequency.max(1)]).unwrap_or(0);
        self.out.write_all(&at[..n])?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Makes room for a definition of at most this many bytes.
    fn ensure(&mut self, bound: usize) -> io::Result<()> {
        if self.definitions.len() - self.used < bound { self.flush_definitions() } else { Ok(()) }
    }

    fn flush_definitions(&mut self) -> io::Result<()> {
        self.out.write_all(&self.definitions[..self.used])?;
        self.used = 0;
        Ok(())
    }

    fn flush_lane(&mut self, p: u64) -> io::Result<()> {
        self.flush_definitions()?;
        if let Some(lane) = self.lanes.get_mut(&p) {
            self.out.write_all(&lane.bytes)?;
            self.lanes_bytes -= lane.bytes.len();
            lane.bytes.clear();
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flush_definitions()?;
        for lane in self.lanes.values_mut() {
            self.out.write_all(&lane.bytes)?;
            // A P that rests needs no buffer.
            lane.bytes = Vec::new();
        }
        self.lanes_bytes = 0;
        Ok(())
    }
}

impl Lane {
    /// Adds an event, behind a batch's begin when it is the first one of the buffer.
    fn put(&mut self, p: u64, ticks: u64, kind: &Spec, values: &[u64], stack: u64, text: &[u8]) {
        let mut at = [0; NUMBERS_BYTES_MAX];
        let ticks = ticks.max(self.ticks);
        if self.bytes.is_empty() {
            let n = layout_go1_11::encode(&mut at, layout_go1_11::BATCH, &[p, ticks]).unwrap_or(0);
            self.bytes.extend_from_slice(&at[..n]);
            self.ticks = ticks;
        }
        let (mut all, count) = ([0; VALUES_MAX + 2], kind.values.len());
        all[0] = ticks - self.ticks;
        for (at, value) in all[1..=count].iter_mut().zip(values) {
            *at = *value;
        }
        // What is behind the values is not written of an event without a stack.
        all[1 + count] = stack;
        let all = &all[..1 + count + usize::from(kind.has_stack)];
        let n = layout_go1_11::encode(&mut at, kind.code, all).unwrap_or(0);
        self.bytes.extend_from_slice(&at[..n]);
        if kind.code == layout_go1_11::USER_LOG {
            let n = varint::put(&mut at, text.len() as u64);
            self.bytes.extend_from_slice(&at[..n]);
            self.bytes.extend_from_slice(text);
        }
        self.ticks = ticks;
    }
}

/// What is written of a text, a whole number of characters when it is UTF-8.
fn cut(text: &[u8]) -> &[u8] {
    if text.len() <= WRITTEN_TEXT_BYTES_MAX {
        return text;
    }
    let is_inside = |at: usize| text[at] & 0xc0 == 0x80;
    let end = (WRITTEN_TEXT_BYTES_MAX - 3..=WRITTEN_TEXT_BYTES_MAX).rev().find(|at| !is_inside(*at));
    &text[..end.unwrap_or(WRITTEN_TEXT_BYTES_MAX)]
}
