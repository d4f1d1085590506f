//! The frames of a store's stacks, each once, and the names that are known of them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use heapscribe_symbols::{NamedFrame, Names, SourceFrame};

use super::super::read_stacks::StoredLine;
use super::super::stacks::Line;

/// The number of a frame.
pub(super) type FrameNumber = u32;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Place {
    build_id: Option<Arc<str>>,
    offset: u64,
    call_bytes: u8,
    /// What else tells frames apart that lie in no file with a build id: module and names.
    other: Option<Arc<str>>,
}

#[derive(Debug)]
struct Frame {
    place: Place,
    module: Option<Arc<str>>,
    /// The innermost first; none where nothing is known.
    lines: Vec<SourceFrame>,
}

/// What a build id lacks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Unnamed {
    /// Where hosts had the file.
    pub paths: BTreeSet<String>,
    /// Addresses without a function, or without a line.
    pub addresses: BTreeSet<u64>,
    /// Of them, those without a function.
    pub nameless: BTreeSet<u64>,
}

/// Frames by their numbers.
#[derive(Debug, Default)]
pub(super) struct Frames {
    all: Vec<Frame>,
    numbers: HashMap<Place, FrameNumber>,
    texts: HashSet<Arc<str>>,
}

impl Frames {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The frames of a stack; names that it has and others of the same place have not are taken.
    pub(super) fn add(&mut self, lines: &[StoredLine<'_>]) -> Vec<FrameNumber> {
        let frames = lines.split_inclusive(|line| !line.inlined);
        frames.map(|lines| self.frame(lines)).collect()
    }

    fn frame(&mut self, lines: &[StoredLine<'_>]) -> FrameNumber {
        let own = lines[lines.len() - 1];
        let module = own.module.map(|path| self.text(path));
        let build_id = own.build_id.filter(|id| !id.is_empty()).map(|id| self.text(id));
        let other = build_id.is_none().then(|| format!("{:?}", lines));
        let other = other.map(|text| self.text(&text));
        let place = Place { build_id, offset: own.offset, call_bytes: own.call_bytes, other };
        let lines = named(lines);
        if let Some(number) = self.numbers.get(&place) {
            let known = &mut self.all[*number as usize];
            if rank(&lines) > rank(&known.lines) {
                known.lines = lines;
            }
            return *number;
        }
        let number = self.all.len() as FrameNumber;
        self.numbers.insert(place.clone(), number);
        self.all.push(Frame { place, module, lines });
        number
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let new: Arc<str> = text.into();
        self.texts.insert(new.clone());
        new
    }

    /// What is to be looked up, by build id.
    pub(super) fn unnamed(&self) -> BTreeMap<Vec<u8>, Unnamed> {
        let mut all: BTreeMap<Vec<u8>, Unnamed> = BTreeMap::new();
        for frame in self.all.iter().filter(|frame| rank(&frame.lines) < 2) {
            let Some(id) = frame.place.build_id.as_deref().and_then(bytes) else { continue };
            let unnamed = all.entry(id).or_default();
            unnamed.paths.extend(frame.module.as_deref().map(str::to_owned));
            unnamed.addresses.insert(frame.place.address());
            if frame.lines.is_empty() {
                unnamed.nameless.insert(frame.place.address());
            }
        }
        all
    }

    /// Takes names that were looked up; of how many frames more is known now.
    pub(super) fn name(&mut self, found: &BTreeMap<Vec<u8>, Names>) -> usize {
        let mut named = 0;
        for frame in &mut self.all {
            let id = frame.place.build_id.as_deref().and_then(bytes);
            let Some(names) = id.and_then(|id| found.get(&id)) else { continue };
            let lines = names.at(frame.place.address());
            if rank(lines) > rank(&frame.lines) {
                frame.lines = lines.to_vec();
                named += 1;
            }
        }
        named
    }

    /// The lines of a stack.
    pub(super) fn lines(&self, stack: &[FrameNumber]) -> Vec<Line> {
        let frames = stack.iter().filter_map(|number| self.all.get(*number as usize));
        frames.flat_map(Frame::lines).skip_while(|line| line.frame.is_recorders()).collect()
    }
}

impl Place {
    /// Where names are looked up.
    fn address(&self) -> u64 {
        self.offset.saturating_sub(self.call_bytes.into())
    }
}

impl Frame {
    fn lines(&self) -> Vec<Line> {
        let bare = [SourceFrame::default()];
        let lines = if self.lines.is_empty() { &bare[..] } else { &self.lines };
        let line = |of: &SourceFrame| Line {
            build_id: self.place.build_id.as_deref().map(str::to_owned),
            frame: NamedFrame {
                function: of.function.clone(),
                file: of.file.clone(),
                line: of.line,
                module: self.module.as_deref().map(str::to_owned),
                offset: self.place.offset,
                inlined: of.inlined,
                ..NamedFrame::default()
            },
            call_bytes: self.place.call_bytes,
        };
        lines.iter().map(line).collect()
    }
}

fn named(lines: &[StoredLine<'_>]) -> Vec<SourceFrame> {
    let line = |line: &StoredLine<'_>| SourceFrame {
        function: line.function.map(str::to_owned),
        file: line.file.map(str::to_owned),
        line: line.line,
        inlined: line.inlined,
    };
    let lines: Vec<SourceFrame> = lines.iter().map(line).collect();
    if rank(&lines) == 0 { Vec::new() } else { lines }
}

/// How much is known: nothing, a function, or its source, too.
fn rank(lines: &[SourceFrame]) -> u8 {
    let has_function = lines.iter().any(|line| line.function.is_some());
    u8::from(has_function) + u8::from(lines.iter().any(|line| line.file.is_some()))
}

/// The bytes of hexadecimal digits.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |two: &[u8]| Some((digit(two[0])? << 4 | digit(*two.get(1)?)?) as u8);
    digits.chunks(2).map(byte).collect()
}
