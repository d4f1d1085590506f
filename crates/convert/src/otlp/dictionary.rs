//! The tables that all profiles of a message share. Element 0 of each is the zero value: what nothing names.

use std::collections::HashMap;

use heapscribe_analyze::answer::{Frame, NodeId};
use heapscribe_symbols::{NamedFrame, NamedStacks, file_of_module};

use crate::protobuf::Message;

/// Fields of `ProfilesDictionary`.
mod field {
    pub(super) const MAPPING: u32 = 1;
    pub(super) const LOCATION: u32 = 2;
    pub(super) const FUNCTION: u32 = 3;
    pub(super) const LINK: u32 = 4;
    pub(super) const STRING: u32 = 5;
    pub(super) const ATTRIBUTE: u32 = 6;
    pub(super) const STACK: u32 = 7;
}

/// The value of an attribute.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Value {
    Text(String),
    Number(u64),
}

impl Value {
    /// As an `AnyValue`.
    pub(super) fn message(&self) -> Message {
        let mut message = Message::default();
        match self {
            Value::Text(text) => message.bytes(1, text.as_bytes()),
            // 0 is a value here: which of them is set is what counts.
            Value::Number(0) => message.zero(3),
            Value::Number(number) => message.number(3, *number),
        }
        message
    }
}

/// The tables, as far as they were made.
pub(super) struct Dictionary<'a> {
    out: Message,
    names: &'a NamedStacks<'a>,
    texts: HashMap<String, u64>,
    attributes: HashMap<(String, Value), u64>,
    functions: HashMap<(String, String), u64>,
    locations: HashMap<Option<Frame>, u64>,
    stacks: HashMap<NodeId, u64>,
    /// The number of each module that is a file.
    mappings: HashMap<u32, u64>,
}

impl<'a> Dictionary<'a> {
    /// With the files that frames lie in.
    pub(super) fn new(names: &'a NamedStacks<'a>) -> Dictionary<'a> {
        let mut dictionary = Dictionary {
            out: Message::default(),
            names,
            texts: HashMap::new(),
            attributes: HashMap::new(),
            functions: HashMap::new(),
            locations: HashMap::new(),
            stacks: HashMap::new(),
            mappings: HashMap::new(),
        };
        for table in
            [field::MAPPING, field::LOCATION, field::FUNCTION, field::LINK, field::ATTRIBUTE, field::STACK]
        {
            dictionary.out.message(table, &Message::default());
        }
        dictionary.text("");
        dictionary.add_mappings();
        dictionary
    }

    /// The number of a text.
    pub(super) fn text(&mut self, text: &str) -> u64 {
        if let Some(number) = self.texts.get(text) {
            return *number;
        }
        let number = self.texts.len() as u64;
        self.out.bytes(field::STRING, text.as_bytes());
        self.texts.insert(text.to_owned(), number);
        number
    }

    /// The number of an attribute.
    pub(super) fn attribute(&mut self, key: &str, value: Value) -> u64 {
        let key = (key.to_owned(), value);
        if let Some(known) = self.attributes.get(&key) {
            return *known;
        }
        let number = self.attributes.len() as u64 + 1;
        let mut attribute = Message::default();
        attribute.number(1, self.text(&key.0));
        attribute.message(2, &key.1.message());
        self.out.message(field::ATTRIBUTE, &attribute);
        self.attributes.insert(key, number);
        number
    }

    /// A mapping for each file, with its build id; what is none, like a function of Python, has no mapping.
    fn add_mappings(&mut self) {
        for (number, module) in (0..).zip(&self.names.tree().modules) {
            let Some(path) = file_of_module(&module.path) else { continue };
            self.mappings.insert(number, self.mappings.len() as u64 + 1);
            let mut mapping = Message::default();
            mapping.number(4, self.text(&path));
            if !module.build_id.is_empty() {
                let id = module.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
                let id = self.attribute("process.executable.build_id.gnu", Value::Text(id));
                mapping.numbers(5, &[id]);
            }
            self.out.message(field::MAPPING, &mapping);
        }
    }

    /// The number of a stack, the innermost frame first.
    pub(super) fn stack(&mut self, node: NodeId) -> u64 {
        if let Some(known) = self.stacks.get(&node) {
            return *known;
        }
        let frames = self.names.tree().frames(node).map(|(_, frame)| *frame);
        let frames: Vec<Frame> = frames.filter(|frame| frame.process().is_none()).collect();
        let mut locations: Vec<u64> = frames.into_iter().map(|frame| self.location(Some(frame))).collect();
        if locations.is_empty() {
            locations.push(self.location(None));
        }
        let number = self.stacks.len() as u64 + 1;
        let mut stack = Message::default();
        stack.numbers(1, &locations);
        self.out.message(field::STACK, &stack);
        self.stacks.insert(node, number);
        number
    }

    /// A frame with the functions that are inlined there; none stands for an unknown stack.
    fn location(&mut self, frame: Option<Frame>) -> u64 {
        if let Some(known) = self.locations.get(&frame) {
            return *known;
        }
        let unknown = || NamedFrame { function: Some("[unknown stack]".to_owned()), ..NamedFrame::default() };
        let lines = frame.map_or_else(|| vec![unknown()], |frame| self.names.lines_of(&frame));
        let frame_or_none = frame.unwrap_or_default();
        let mut location = Message::default();
        let mapping = frame_or_none.module.and_then(|module| self.mappings.get(&module)).copied();
        // The address of what is no file is none.
        let address =
            if mapping.is_none() && frame_or_none.module.is_some() { 0 } else { frame_or_none.address };
        location.number(1, mapping.unwrap_or(0));
        location.number(2, address);
        for named in lines {
            let mut line = Message::default();
            line.number(1, self.function(&named));
            line.number(2, named.line.map_or(0, u64::from));
            location.message(3, &line);
        }
        let number = self.locations.len() as u64 + 1;
        self.out.message(field::LOCATION, &location);
        self.locations.insert(frame, number);
        number
    }

    fn function(&mut self, frame: &NamedFrame) -> u64 {
        let key = (frame.name(), frame.file.clone().unwrap_or_default());
        if let Some(known) = self.functions.get(&key) {
            return *known;
        }
        let number = self.functions.len() as u64 + 1;
        let mut function = Message::default();
        function.number(1, self.text(&key.0));
        function.number(2, self.text(&key.0));
        function.number(3, self.text(&key.1));
        self.out.message(field::FUNCTION, &function);
        self.functions.insert(key, number);
        number
    }

    /// The message.
    pub(super) fn finish(self) -> Message {
        self.out
    }
}
