//! A line of a log, and how it is written in either form. How it is read is in [`super::parse`]; one
//! property holds both against each other.

use heapscribe_wire::record::Call;

/// The two forms of lines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Style {
    /// `malloc 0x55d0 24 0`, of heaphook 0.1.
    Spaces,
    /// `alloc, 24, 1, 0x00000000000055d0, 130`, of heaphook after it.
    Commas,
}

/// What a call did, as its line says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// A block was asked for.
    Alloc {
        /// By this function. Commas know malloc, calloc, and memalign for all that ask for an alignment.
        call: Call,
        /// Bytes.
        size_bytes: u64,
        /// Alignment asked for; 1 for none. Spaces have no room for it.
        align: u64,
        /// Where it is; 0 when the call failed.
        address: u64,
    },
    /// A block was given back.
    Free {
        /// Where it was; 0 for none.
        address: u64,
    },
    /// A block was to have another size.
    Realloc {
        /// Where it was; 0 for none.
        old: u64,
        /// Bytes.
        size_bytes: u64,
        /// Where it is; 0 when the call failed, or freed it.
        new: u64,
    },
    /// The program asked how much room a block has.
    UsableSize {
        /// Where it is.
        address: u64,
        /// The answer, bytes.
        size_bytes: u64,
    },
}

/// A line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// What was called.
    pub what: What,
    /// How long the heap took, ns; spaces have no room for it.
    pub took_ns: Option<u64>,
}

impl Line {
    /// Appends the line with its newline. A time that is not known is 0 where there has to be one.
    pub fn write(&self, style: Style, out: &mut Vec<u8>) {
        let text = match style {
            Style::Spaces => self.with_spaces(),
            Style::Commas => self.with_commas(),
        };
        out.extend_from_slice(text.as_bytes());
        out.push(b'\n');
    }

    fn with_spaces(&self) -> String {
        let (name, address, size_bytes, new) = match self.what {
            What::Alloc { call, size_bytes, address, .. } => (call.name(), address, size_bytes, 0),
            What::Free { address } => ("free", address, 0, 0),
            What::Realloc { old, size_bytes, new } => ("realloc", old, size_bytes, new),
            What::UsableSize { address, size_bytes } => ("malloc_usable_size", address, size_bytes, 0),
        };
        // As streams of C++ print pointers.
        let pointer = |address: u64| if address == 0 { "0".to_owned() } else { format!("{address:#x}") };
        format!("{name} {} {size_bytes} {}", pointer(address), pointer(new))
    }

    fn with_commas(&self) -> String {
        let ns = self.took_ns.unwrap_or(0);
        match self.what {
            What::Alloc { call: Call::Calloc, size_bytes, address, .. } => {
                format!("alloc_zeroed, {size_bytes}, {address:#018x}, {ns}")
            }
            What::Alloc { size_bytes, align, address, .. } => {
                format!("alloc, {size_bytes}, {}, {address:#018x}, {ns}", align.max(1))
            }
            What::Free { address } | What::Realloc { old: address, size_bytes: 0, new: 0 } => {
                format!("dealloc, {address:#018x}, {ns}")
            }
            What::Realloc { old: 0, size_bytes, new } => format!("alloc, {size_bytes}, 1, {new:#018x}, {ns}"),
            What::Realloc { old, size_bytes, new } => {
                format!("realloc, {old:#018x}, {size_bytes}, {new:#018x}, {ns}")
            }
            What::UsableSize { address, size_bytes } => {
                format!("get_block_size, {address:#018x}, {size_bytes}, {ns}")
            }
        }
    }
}
