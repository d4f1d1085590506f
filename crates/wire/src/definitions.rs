//! Definitions: what the numbers in events mean. An append-only stream of records, committed by one
//! length in the head; a number is defined before the first event that has it.
//!
//! ```text
//!   tag 1 node        parent_back varint  pc zigzag varint    bit 4 of the tag: guesses, bit 5: exact
//!   tag 2 cut         reason varint                           also a node, in the place of frames that are missing:
//!                     parent_back varint if bit 4 of the tag  of the outermost, or of those inside this caller
//!   tag 3 thread      id  tid  born_ticks  name
//!   tag 4 module      start  end  bias(zigzag)  name  build id
//!   tag 6 rate        number  mean bytes                      a sampling rate: bytes between two samples, on average
//!   tag 7 name        number  name                            of a mark or a section
//!   tag 8 function    number  language  first line  name  file        of code that an interpreter runs
//!   tag 9 interpreted parent_back  function  line                     also a node: a frame of such code
//!   tag 10 code       start  bytes  function  line                   machine code that was made of such a function
//!                     bit 4 of the tag: first node                   the nodes that it names begin with this one
//!   tag 11 interpreter language  version  whether frames are read     the last one of a language counts
//!                     bit 4 of the tag: where it has its small objects
//!   tag 5 unmapped    -      modules named before this may be gone: addresses mean what comes after
//! ```
//! Strings are a varint length and bytes. A *node* is one frame of a stack; nodes are numbered from 1 in
//! the order in which they stand here, `parent_back` counts back from this one to the node of its caller
//! (its own number for a root: parent 0), and the pc is the difference to the pc of the node defined
//! before it. A stack is the number of its leaf. The order of the stream matters once: a node's pc is to
//! be looked up among the modules named before it and after the last `unmapped`, so that three plug-ins
//! loaded one after the other at one address keep their own stacks.

mod field_writer;
mod kinds;

use crate::frames_read::FramesRead;
use crate::ids::{CodeAddress, FunctionId, NameId, RateId, StackId, ThreadId};
use crate::language::Language;
use crate::limits::{
    BUILD_ID_BYTES_MAX, FUNCTION_NAME_BYTES_MAX, MARK_NAME_BYTES_MAX, NAME_BYTES_MAX, SOURCE_FILE_BYTES_MAX,
};
use crate::object_allocator::ObjectAllocator;
use crate::varint;

use field_writer::FieldWriter;

pub use kinds::{Code, Definition, Function, InterpretedNode, Interpreter, Module, Node};

const NODE: u8 = 1;
const CUT: u8 = 2;
const THREAD: u8 = 3;
const MODULE: u8 = 4;
const UNMAPPED: u8 = 5;
const RATE: u8 = 6;
const NAME: u8 = 7;
const FUNCTION: u8 = 8;
const INTERPRETED: u8 = 9;
const CODE: u8 = 10;
const INTERPRETER: u8 = 11;
const WITH_OBJECTS: u8 = 0x10;
const GUESSES: u8 = 0x10;
const EXACT: u8 = 0x20;
/// Of code: earlier nodes at its addresses are of other code.
const LATER: u8 = 0x10;
/// Of a cut: it has a caller.
const CALLED: u8 = 0x10;

/// Bytes of the longest definition.
pub const DEFINITION_BYTES_MAX: usize = 1 + 6 * varint::MAX_BYTES + NAME_BYTES_MAX + BUILD_ID_BYTES_MAX;
/// Bytes of the longest node.
pub const NODE_BYTES_MAX: usize = 1 + 2 * varint::MAX_BYTES;

/// Where in the numbering of nodes a stream stands: what the next record counts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// Number of the next node.
    pub next_node: u32,
    /// The pc of the node before it.
    pub last_pc: u64,
}

impl Default for Position {
    fn default() -> Self {
        Position { next_node: 1, last_pc: 0 }
    }
}

impl Node {
    const fn tag(&self) -> u8 {
        NODE | if self.guesses { GUESSES } else { 0 } | if self.exact { EXACT } else { 0 }
    }

    /// As [`Definition::encode`] does, where there is room for any node.
    #[inline(always)]
    pub fn encode(&self, position: &mut Position, at: &mut [u8; NODE_BYTES_MAX]) -> Option<usize> {
        let (tag, rest) = at.split_first_mut()?;
        *tag = self.tag();
        let parent = varint::put(rest, u64::from(position.next_node.wrapping_sub(self.parent.0)));
        Some(1 + parent + self.encode_pc(position, rest.get_mut(parent..)?))
    }

    /// The same of a node whose caller is the node before it, as nearly all of a new stack are.
    #[inline(always)]
    pub fn encode_callee(&self, position: &mut Position, at: &mut [u8; NODE_BYTES_MAX]) -> usize {
        let [tag, parent_back, rest @ ..] = at;
        (*tag, *parent_back) = (self.tag(), 1);
        2 + self.encode_pc(position, rest)
    }

    #[inline(always)]
    fn encode_pc(&self, position: &mut Position, at: &mut [u8]) -> usize {
        let Position { next_node, last_pc } = *position;
        *position = Position { next_node: next_node + 1, last_pc: self.pc.0 };
        varint::put(at, varint::zigzag(self.pc.0.wrapping_sub(last_pc) as i64))
    }
}

impl FieldWriter<'_> {
    fn function(&mut self, function: &Function<'_>) {
        self.byte(FUNCTION);
        self.field(u64::from(function.id.0));
        self.field(u64::from(function.language.0));
        self.field(u64::from(function.first_line));
        self.text(function.name, FUNCTION_NAME_BYTES_MAX);
        self.text(function.file, SOURCE_FILE_BYTES_MAX);
    }

    fn code(&mut self, code: &Code) {
        let is_later = code.first_node != StackId::UNKNOWN;
        self.byte(if is_later { CODE | LATER } else { CODE });
        self.field(code.start);
        self.field(code.end.wrapping_sub(code.start));
        self.field(u64::from(code.function.0));
        self.field(u64::from(code.line));
        if is_later {
            self.field(u64::from(code.first_node.0));
        }
    }

    fn interpreter(&mut self, interpreter: &Interpreter) {
        let knows_objects = interpreter.objects != ObjectAllocator::UNKNOWN;
        self.byte(if knows_objects { INTERPRETER | WITH_OBJECTS } else { INTERPRETER });
        self.field(u64::from(interpreter.language.0));
        self.field(u64::from(interpreter.version));
        self.field(u64::from(interpreter.frames.0));
        if knows_objects {
            self.field(u64::from(interpreter.objects.0));
        }
    }
}

impl Definition<'_> {
    /// Writes the definition at the start of `at` and moves `position` past it: how many bytes it took,
    /// `None` (and nothing moved) when there is no room. Names longer than the limit are cut.
    pub fn encode(&self, position: &mut Position, at: &mut [u8]) -> Option<usize> {
        if let (Definition::Node(node), Some(at)) = (self, at.first_chunk_mut()) {
            return node.encode(position, at);
        }
        let room = at.len();
        let mut writer = FieldWriter { at, len: 0 };
        let mut after = *position;
        match self {
            Definition::Node(node) => {
                writer.byte(node.tag());
                writer.field(u64::from(position.next_node.wrapping_sub(node.parent.0)));
                writer.field(varint::zigzag(node.pc.0.wrapping_sub(position.last_pc) as i64));
                after = Position { next_node: position.next_node + 1, last_pc: node.pc.0 };
            }
            Definition::Cut { reason, parent } => {
                let is_called = *parent != StackId::UNKNOWN;
                writer.byte(if is_called { CUT | CALLED } else { CUT });
                writer.field(u64::from(*reason));
                if is_called {
                    writer.field(u64::from(position.next_node.wrapping_sub(parent.0)));
                }
                after.next_node += 1;
            }
            Definition::Thread { id, tid, born_ticks, name } => {
                writer.byte(THREAD);
                writer.field(u64::from(id.0));
                writer.field(u64::from(*tid));
                writer.field(*born_ticks);
                writer.text(name, NAME_BYTES_MAX);
            }
            Definition::Module(m) => {
                writer.byte(MODULE);
                writer.field(m.start);
                writer.field(m.end);
                writer.field(varint::zigzag(m.bias as i64));
                writer.text(m.name, NAME_BYTES_MAX);
                writer.text(m.build_id, BUILD_ID_BYTES_MAX);
            }
            Definition::Unmapped => writer.byte(UNMAPPED),
            Definition::Rate { id, mean_bytes } => {
                writer.byte(RATE);
                writer.field(u64::from(id.0));
                writer.field(*mean_bytes);
            }
            Definition::Name { id, name } => {
                writer.byte(NAME);
                writer.field(u64::from(id.0));
                writer.text(name, MARK_NAME_BYTES_MAX);
            }
            Definition::Function(function) => writer.function(function),
            Definition::Code(code) => writer.code(code),
            Definition::Interpreter(interpreter) => writer.interpreter(interpreter),
            Definition::Interpreted(node) => {
                writer.byte(INTERPRETED);
                writer.field(u64::from(position.next_node.wrapping_sub(node.parent.0)));
                writer.field(u64::from(node.function.0));
                writer.field(u64::from(node.line));
                after.next_node += 1;
            }
        }
        if writer.len > room {
            return None;
        }
        *position = after;
        Some(writer.len)
    }
}

/// Bytes that are no definition: at which offset of the bytes given, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadDefinition {
    /// Offset of the record in the bytes given.
    pub offset: usize,
    /// What is wrong with it.
    pub why: &'static str,
}

impl core::fmt::Display for BadDefinition {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} at byte {} of the definitions", self.why, self.offset)
    }
}

impl core::error::Error for BadDefinition {}

/// Reads definitions in order. Nodes come with their own number. After an error it ends.
#[derive(Clone, Debug)]
pub struct Definitions<'a> {
    bytes: &'a [u8],
    offset: usize,
    position: Position,
    failed: bool,
}

impl<'a> Definitions<'a> {
    /// Over bytes that start at a record, where the numbering stands at `position`.
    pub const fn new(bytes: &'a [u8], position: Position) -> Self {
        Definitions { bytes, offset: 0, position, failed: false }
    }

    /// Where the next record starts.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Where the numbering stands after what was read.
    pub const fn position(&self) -> Position {
        self.position
    }

    fn field(&self, at: &mut usize) -> Result<u64, &'static str> {
        let rest = self.bytes.get(*at..).unwrap_or_default();
        let (value, n) = varint::get(rest).ok_or("cut or overlong number")?;
        *at += n;
        Ok(value)
    }

    fn small(&self, at: &mut usize) -> Result<u32, &'static str> {
        u32::try_from(self.field(at)?).map_err(|_| "number over 32 bits")
    }

    fn text(&self, at: &mut usize, max: usize) -> Result<&'a [u8], &'static str> {
        let n = self.field(at)?;
        if n > max as u64 {
            return Err("name over its limit");
        }
        let end = *at + n as usize;
        let text = self.bytes.get(*at..end).ok_or("cut name")?;
        *at = end;
        Ok(text)
    }

    fn parent(&self, at: &mut usize) -> Result<StackId, &'static str> {
        let back = self.small(at)?;
        let id = self.position.next_node;
        if back == 0 || back > id {
            return Err("node with a caller that does not exist");
        }
        Ok(StackId(id - back))
    }

    fn node(&mut self, at: &mut usize, tag: u8) -> Result<Definition<'a>, &'static str> {
        let parent = self.parent(at)?;
        let id = self.position.next_node;
        let difference = varint::unzigzag(self.field(at)?);
        let pc = self.position.last_pc.wrapping_add(difference as u64);
        self.position = Position { next_node: id.checked_add(1).ok_or("too many nodes")?, last_pc: pc };
        Ok(Definition::Node(Node {
            parent,
            pc: CodeAddress(pc),
            guesses: tag & GUESSES != 0,
            exact: tag & EXACT != 0,
        }))
    }

    fn interpreted(&mut self, at: &mut usize) -> Result<Definition<'a>, &'static str> {
        let parent = self.parent(at)?;
        let function = FunctionId(self.small(at)?);
        let line = self.small(at)?;
        self.position.next_node = self.position.next_node.checked_add(1).ok_or("too many nodes")?;
        Ok(Definition::Interpreted(InterpretedNode { parent, function, line }))
    }

    fn code(&self, at: &mut usize, tag: u8) -> Result<Definition<'a>, &'static str> {
        let (start, bytes) = (self.field(at)?, self.field(at)?);
        let end = start.checked_add(bytes).ok_or("code beyond all addresses")?;
        let (function, line) = (FunctionId(self.small(at)?), self.small(at)?);
        let first_node = if tag & LATER != 0 { StackId(self.small(at)?) } else { StackId::UNKNOWN };
        Ok(Definition::Code(Code { start, end, function, line, first_node }))
    }

    fn interpreter(&self, at: &mut usize, tag: u8) -> Result<Definition<'a>, &'static str> {
        let language = Language(self.small(at)?.min(255) as u8);
        let version = self.small(at)?;
        let frames = FramesRead(self.small(at)?.min(255) as u8);
        let mut objects = ObjectAllocator::UNKNOWN;
        if tag & WITH_OBJECTS != 0 {
            objects = ObjectAllocator(self.small(at)?.min(255) as u8);
        }
        Ok(Definition::Interpreter(Interpreter { language, version, frames, objects }))
    }

    fn decode(&mut self) -> Result<(StackId, Definition<'a>), &'static str> {
        let tag = self.bytes[self.offset];
        let mut at = self.offset + 1;
        let id = StackId(self.position.next_node);
        let definition = match tag {
            t if t & !(GUESSES | EXACT) == NODE => self.node(&mut at, t)?,
            t if t & !CALLED == CUT => {
                let reason = self.small(&mut at)?.min(255) as u8;
                let parent = if t == CUT { StackId::UNKNOWN } else { self.parent(&mut at)? };
                self.position.next_node = id.0.checked_add(1).ok_or("too many nodes")?;
                Definition::Cut { reason, parent }
            }
            THREAD => Definition::Thread {
                id: ThreadId(self.small(&mut at)?),
                tid: self.small(&mut at)?,
                born_ticks: self.field(&mut at)?,
                name: self.text(&mut at, NAME_BYTES_MAX)?,
            },
            MODULE => Definition::Module(Module {
                start: self.field(&mut at)?,
                end: self.field(&mut at)?,
                bias: varint::unzigzag(self.field(&mut at)?) as u64,
                name: self.text(&mut at, NAME_BYTES_MAX)?,
                build_id: self.text(&mut at, BUILD_ID_BYTES_MAX)?,
            }),
            UNMAPPED => Definition::Unmapped,
            RATE => Definition::Rate {
                id: RateId(self.small(&mut at)?.min(255) as u8),
                mean_bytes: self.field(&mut at)?,
            },
            NAME => Definition::Name {
                id: NameId(self.small(&mut at)?),
                name: self.text(&mut at, MARK_NAME_BYTES_MAX)?,
            },
            FUNCTION => Definition::Function(Function {
                id: FunctionId(self.small(&mut at)?),
                language: Language(self.small(&mut at)?.min(255) as u8),
                first_line: self.small(&mut at)?,
                name: self.text(&mut at, FUNCTION_NAME_BYTES_MAX)?,
                file: self.text(&mut at, SOURCE_FILE_BYTES_MAX)?,
            }),
            INTERPRETED => self.interpreted(&mut at)?,
            t if t & !LATER == CODE => self.code(&mut at, t)?,
            t if t & !WITH_OBJECTS == INTERPRETER => self.interpreter(&mut at, t)?,
            _ => return Err("unknown kind of definition"),
        };
        self.offset = at;
        Ok((id, definition))
    }
}

impl<'a> Iterator for Definitions<'a> {
    type Item = Result<(StackId, Definition<'a>), BadDefinition>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.offset >= self.bytes.len() {
            return None;
        }
        let before = self.position;
        let result = self.decode().map_err(|why| BadDefinition { offset: self.offset, why });
        if result.is_err() {
            self.failed = true;
            self.position = before;
        }
        Some(result)
    }
}

#[cfg(test)]
mod tests;
