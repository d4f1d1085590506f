//! The texts, instructions and stacks of a file, by the numbers of their lines, and the definitions that become of them.

use heapscribe_symbols::places::{Place, path_of};
use heapscribe_wire::definitions::{Definition, Module, Node};
use heapscribe_wire::ids::{CodeAddress, StackId};

use crate::native::writer::Definitions;

/// Nodes of stacks, at most; a real file has some hundred thousand.
const NODES_MAX: u32 = 1 << 24;
/// Bytes of all texts, at most.
const TEXT_BYTES_MAX: usize = 1 << 28;

/// An instruction: its address, and numbers of texts for its module and for function, file and line of what is there.
pub(super) struct Instruction {
    pub(super) address: u64,
    pub(super) module: u64,
    pub(super) lines: Vec<(u64, u64, u64)>,
}

/// What a file numbers.
#[derive(Default)]
pub(super) struct Frames {
    texts: Vec<String>,
    text_bytes: usize,
    instructions: Vec<Instruction>,
    /// Whether the instruction of a number is defined as a place.
    is_defined: Vec<bool>,
    stacks: Vec<StackId>,
    /// Those that are still to be written.
    pub(super) definitions: Definitions,
    left_out: u64,
}

impl Frames {
    pub(super) fn text(&mut self, text: String) {
        let fits = self.text_bytes + text.len() <= TEXT_BYTES_MAX;
        self.text_bytes += if fits { text.len() } else { 0 };
        self.left_out += u64::from(!fits);
        self.texts.push(if fits { text } else { String::new() });
    }

    pub(super) fn instruction(&mut self, instruction: Instruction) {
        self.instructions.push(instruction);
        self.is_defined.push(false);
    }

    /// A stack of a raw file, whose instruction is an address; whether its caller is known.
    pub(super) fn address(&mut self, address: u64, caller: u64) -> bool {
        self.push(address, caller, false)
    }

    /// A stack of an interpreted file; whether its instruction and its caller are known.
    pub(super) fn place(&mut self, instruction: u64, caller: u64) -> bool {
        let index = instruction.checked_sub(1).and_then(|index| usize::try_from(index).ok());
        let Some(index) = index.filter(|index| *index < self.instructions.len()) else {
            self.stacks.push(StackId::UNKNOWN);
            return false;
        };
        if !std::mem::replace(&mut self.is_defined[index], true) {
            let path = self.path(&self.instructions[index]);
            let (start, name) = (instruction, path.as_bytes());
            let module = Module { start, end: start + 1, bias: start, name, build_id: &[] };
            self.definitions.define(&Definition::Module(module));
        }
        self.push(instruction, caller, true)
    }

    fn push(&mut self, address: u64, caller: u64, exact: bool) -> bool {
        let is_known = caller <= self.stacks.len() as u64;
        let parent = self.stack(caller);
        let number = match self.definitions.next_node() {
            NODES_MAX.. => {
                self.left_out += 1;
                parent
            }
            next => {
                let pc = CodeAddress(address);
                self.definitions.define(&Definition::Node(Node { parent, pc, guesses: false, exact }));
                StackId(next)
            }
        };
        self.stacks.push(number);
        is_known
    }

    /// The stack of a number; the unknown one for 0 and for what there is not.
    pub(super) fn stack(&self, number: u64) -> StackId {
        let index = number.checked_sub(1).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.stacks.get(index)).copied().unwrap_or(StackId::UNKNOWN)
    }

    /// What is shown of an instruction: its functions, or its place in its module.
    fn path(&self, instruction: &Instruction) -> String {
        let text = |number: u64| {
            let index = number.checked_sub(1).and_then(|index| usize::try_from(index).ok());
            index.and_then(|index| self.texts.get(index)).cloned().unwrap_or_default()
        };
        let module = text(instruction.module);
        let unnamed = || {
            let module = module.rsplit('/').next().unwrap_or_default();
            format!("{module}+{:#x}", instruction.address).trim_start_matches('+').to_owned()
        };
        let place = |(function, file, line): &(u64, u64, u64)| Place {
            function: Some(text(*function)).filter(|name| !name.is_empty()).unwrap_or_else(unnamed),
            file: text(*file),
            line: i64::try_from(*line).unwrap_or(0),
            start_char: 0,
            end_char: 0,
        };
        let places: Vec<Place> = match instruction.lines.is_empty() {
            true => vec![place(&(0, 0, 0))],
            false => instruction.lines.iter().map(place).collect(),
        };
        path_of(&places)
    }

    /// What had no room, in words.
    pub(super) fn problem(&self) -> Option<String> {
        let n = self.left_out;
        (n != 0).then(|| format!("calls and names left out, as the file has too many of them: {n}"))
    }
}
