//! What numbers in events mean: texts, stacks and types, each within its generation.

use std::collections::HashMap;

/// A frame, as it stands in the file: texts by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// Where the call returns to.
    pub pc: u64,
    /// The function's name.
    pub function: u64,
    /// The source file.
    pub file: u64,
    /// The line in it.
    pub line: u64,
}

/// A frame with its texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedFrame<'n> {
    /// Where the call returns to.
    pub pc: u64,
    /// The function's name; empty when it is not in the file.
    pub function: &'n [u8],
    /// The source file; empty when it is not in the file.
    pub file: &'n [u8],
    /// The line in it.
    pub line: u64,
}

/// A type of Go's, as the experiment records it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Type<'n> {
    /// Its name.
    pub name: &'n [u8],
    /// Bytes of a value.
    pub size_bytes: u64,
    /// Bytes from its begin to the end of its last pointer.
    pub pointer_bytes: u64,
}

/// How the experiment's numbers become places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeapLayout {
    /// Where numbers of objects and spans count from.
    pub begin: u64,
    /// Bytes of a page, the unit of spans.
    pub page_bytes: u64,
    /// Bytes between two numbers of objects.
    pub object_align_bytes: u64,
    /// Bytes between two numbers of goroutine stacks.
    pub stack_align_bytes: u64,
}

/// A generation and a number in it.
type Key = (u32, u64);

/// A piece of a list.
#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    begin: usize,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct TypeEntry {
    name: Piece,
    size_bytes: u64,
    pointer_bytes: u64,
}

/// All names of a file. It grows with their bytes in the file.
#[derive(Debug, Default)]
pub(crate) struct Names {
    bytes: Vec<u8>,
    texts: HashMap<Key, Piece, foldhash::fast::RandomState>,
    frames: Vec<Frame>,
    stacks: HashMap<Key, Piece, foldhash::fast::RandomState>,
    types: HashMap<Key, TypeEntry, foldhash::fast::RandomState>,
    layout: Option<HeapLayout>,
}

impl Names {
    fn intern(&mut self, text: &[u8]) -> Piece {
        let piece = Piece { begin: self.bytes.len(), len: text.len() };
        self.bytes.extend_from_slice(text);
        piece
    }

    fn bytes(&self, piece: Piece) -> &[u8] {
        self.bytes.get(piece.begin..piece.begin + piece.len).unwrap_or_default()
    }

    /// Takes a text; false when its number is taken.
    pub(crate) fn add_text(&mut self, generation: u32, id: u64, text: &[u8]) -> bool {
        if self.texts.contains_key(&(generation, id)) {
            return false;
        }
        let piece = self.intern(text);
        self.texts.insert((generation, id), piece);
        true
    }

    /// Takes a stack; a later one of the same number stands for both, as Go has it.
    pub(crate) fn add_stack(&mut self, generation: u32, id: u64, frames: impl Iterator<Item = Frame>) {
        let begin = self.frames.len();
        self.frames.extend(frames);
        let piece = Piece { begin, len: self.frames.len() - begin };
        if id != 0 && piece.len != 0 {
            self.stacks.insert((generation, id), piece);
        }
    }

    pub(crate) fn add_type(&mut self, generation: u32, id: u64, of: &Type<'_>) {
        let name = self.intern(of.name);
        let entry = TypeEntry { name, size_bytes: of.size_bytes, pointer_bytes: of.pointer_bytes };
        self.types.insert((generation, id), entry);
    }

    /// Each generation repeats it unchanged.
    pub(crate) fn set_layout(&mut self, layout: HeapLayout) {
        self.layout.get_or_insert(layout);
    }

    pub(crate) fn text(&self, generation: u32, id: u64) -> Option<&[u8]> {
        self.texts.get(&(generation, id)).map(|piece| self.bytes(*piece))
    }

    pub(crate) fn frames(&self, generation: u32, id: u64) -> Option<&[Frame]> {
        let piece = self.stacks.get(&(generation, id))?;
        self.frames.get(piece.begin..piece.begin + piece.len)
    }

    /// The stacks' numbers, in order.
    pub(crate) fn stack_ids(&self) -> Vec<Key> {
        let mut ids: Vec<_> = self.stacks.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    pub(crate) fn type_of(&self, generation: u32, id: u64) -> Option<Type<'_>> {
        let entry = self.types.get(&(generation, id))?;
        let TypeEntry { name, size_bytes, pointer_bytes } = *entry;
        Some(Type { name: self.bytes(name), size_bytes, pointer_bytes })
    }

    pub(crate) fn layout(&self) -> Option<HeapLayout> {
        self.layout
    }

    pub(crate) fn texts(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn stacks(&self) -> usize {
        self.stacks.len()
    }
}
