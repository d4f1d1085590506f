//! A profile being made: its tables of texts, mappings, functions and locations, which samples name.

use std::collections::{HashMap, HashSet};

use heapscribe_analyze::answer::{CallTree, NodeId};

use crate::protobuf::Message;
use heapscribe_symbols::{NamedFrame, NamedStacks, file_of_module};

/// Fields of a profile.
mod field {
    pub(super) const SAMPLE_TYPE: u32 = 1;
    pub(super) const SAMPLE: u32 = 2;
    pub(super) const MAPPING: u32 = 3;
    pub(super) const LOCATION: u32 = 4;
    pub(super) const FUNCTION: u32 = 5;
    pub(super) const STRING_TABLE: u32 = 6;
    pub(super) const TIME_NANOS: u32 = 9;
    pub(super) const DURATION_NANOS: u32 = 10;
    pub(super) const PERIOD_TYPE: u32 = 11;
    pub(super) const PERIOD: u32 = 12;
    pub(super) const DEFAULT_SAMPLE_TYPE: u32 = 14;
}

/// A label of a sample.
pub(super) enum Label {
    /// In words.
    Text(&'static str, String),
    /// In numbers of this unit.
    Number(&'static str, u64, &'static str),
}

/// A profile, as far as it was made.
pub(super) struct Profile<'a> {
    out: Message,
    tree: &'a CallTree,
    names: &'a NamedStacks<'a>,
    texts: HashMap<String, u64>,
    functions: HashMap<(String, String), u64>,
    /// The location of each node, the innermost frame of a stack.
    locations: HashMap<NodeId, u64>,
    stacks: HashMap<NodeId, Vec<u64>>,
    /// The modules that are files.
    mapped: HashSet<u32>,
}

impl<'a> Profile<'a> {
    /// A profile of these kinds and units of figures, without samples yet.
    pub(super) fn new(names: &'a NamedStacks<'a>, kinds: &[(&str, &str)]) -> Profile<'a> {
        let mut profile = Profile {
            out: Message::default(),
            tree: names.tree(),
            names,
            texts: HashMap::new(),
            functions: HashMap::new(),
            locations: HashMap::new(),
            stacks: HashMap::new(),
            mapped: HashSet::new(),
        };
        profile.text("");
        for (kind, unit) in kinds {
            let mut of = Message::default();
            of.number(1, profile.text(kind));
            of.number(2, profile.text(unit));
            profile.out.message(field::SAMPLE_TYPE, &of);
        }
        profile.mappings();
        profile
    }

    /// A text's number; the first is the empty one.
    fn text(&mut self, text: &str) -> u64 {
        if let Some(number) = self.texts.get(text) {
            return *number;
        }
        let number = self.texts.len() as u64;
        self.out.bytes(field::STRING_TABLE, text.as_bytes());
        self.texts.insert(text.to_owned(), number);
        number
    }

    /// A mapping for each file; what is none, like a function of Python, has no mapping. The same code of several
    /// processes or loads is one place in its file here, so addresses are those within the file, and no two mappings
    /// share any.
    fn mappings(&mut self) {
        for number in 0..self.tree.modules.len() {
            let module = &self.tree.modules[number];
            let Some(path) = file_of_module(&module.path) else { continue };
            let id = hex(&module.build_id);
            self.mapped.insert(number as u32);
            let mut mapping = Message::default();
            mapping.number(1, number as u64 + 1);
            mapping.number(2, base(number as u32));
            mapping.number(3, base(number as u32 + 1));
            mapping.number(5, self.text(&path));
            mapping.number(6, self.text(&id));
            (7..=9).for_each(|has| mapping.number(has, 1)); // functions, files and lines were looked up
            self.out.message(field::MAPPING, &mapping);
        }
    }

    /// The figures of a stack, or of a block of it, one of each kind.
    pub(super) fn sample(&mut self, stack: NodeId, figures: &[u64], labels: &[Label]) {
        let locations = self.stack(stack);
        let mut sample = Message::default();
        sample.numbers(1, &locations);
        sample.numbers(2, figures);
        for label in labels {
            let mut message = Message::default();
            match label {
                Label::Text(key, text) => {
                    message.number(1, self.text(key));
                    message.number(2, self.text(text));
                }
                Label::Number(key, n, unit) => {
                    message.number(1, self.text(key));
                    message.number(3, *n);
                    message.number(4, self.text(unit));
                }
            }
            sample.message(3, &message);
        }
        self.out.message(field::SAMPLE, &sample);
    }

    /// The locations of a stack, the innermost first.
    fn stack(&mut self, stack: NodeId) -> Vec<u64> {
        if let Some(known) = self.stacks.get(&stack) {
            return known.clone();
        }
        let tree = self.tree;
        let locations: Vec<u64> = tree
            .frames(stack)
            .filter(|(_, frame)| frame.process().is_none())
            .map(|(node, _)| self.location(node))
            .collect();
        self.stacks.insert(stack, locations.clone());
        locations
    }

    /// The location of a frame, with the functions that are inlined there.
    fn location(&mut self, node: NodeId) -> u64 {
        if let Some(known) = self.locations.get(&node) {
            return *known;
        }
        let number = self.locations.len() as u64 + 1;
        self.locations.insert(node, number);
        let frame = self.tree.nodes[node.0 as usize].frame;
        let mut location = Message::default();
        location.number(1, number);
        let (mapping, address) = match frame.module {
            Some(module) if self.mapped.contains(&module) => {
                (u64::from(module) + 1, base(module).wrapping_add(frame.address))
            }
            // The address of what is no file is none.
            Some(_) => (0, 0),
            None => (0, frame.address),
        };
        location.number(2, mapping);
        location.number(3, address);
        for named in self.names.lines_of(&frame) {
            let mut line = Message::default();
            line.number(1, self.function(&named));
            line.number(2, named.line.map_or(0, u64::from));
            location.message(4, &line);
        }
        self.out.message(field::LOCATION, &location);
        number
    }

    fn function(&mut self, frame: &NamedFrame) -> u64 {
        let key = (frame.name(), frame.file.clone().unwrap_or_default());
        if let Some(known) = self.functions.get(&key) {
            return *known;
        }
        let number = self.functions.len() as u64 + 1;
        let mut function = Message::default();
        function.number(1, number);
        function.number(2, self.text(&key.0));
        function.number(3, self.text(&key.0));
        function.number(4, self.text(&key.1));
        self.out.message(field::FUNCTION, &function);
        self.functions.insert(key, number);
        number
    }

    /// The mean bytes between two samples; 1 where each block was recorded.
    pub(super) fn period(&mut self, mean_bytes: u64) {
        let mut kind = Message::default();
        kind.number(1, self.text("space"));
        kind.number(2, self.text("bytes"));
        self.out.message(field::PERIOD_TYPE, &kind);
        self.out.number(field::PERIOD, mean_bytes);
    }

    /// The profile's bytes: when it was taken, of how long a time it is, and the kind that is shown first.
    pub(super) fn finish(mut self, time_ns: u64, duration_ns: u64, default: &str) -> Vec<u8> {
        self.out.number(field::TIME_NANOS, time_ns);
        self.out.number(field::DURATION_NANOS, duration_ns);
        let default = self.text(default);
        self.out.number(field::DEFAULT_SAMPLE_TYPE, default);
        self.out.into_bytes()
    }
}

/// Where a file's addresses begin in a profile: each has a range of its own.
fn base(module: u32) -> u64 {
    (u64::from(module) + 1) << 40
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
