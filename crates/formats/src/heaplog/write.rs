//! Writes a line in either form. How it is read is in [`super::parse`]; a property test holds both against each
//! other.

use heapscribe_wire::record::Call;

use super::line::{Line, Operation, Style};

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
        let (name, address, size_bytes, new) = match self.operation {
            Operation::Alloc { call, size_bytes, address, .. } => (call.name(), address, size_bytes, 0),
            Operation::Free { address } => ("free", address, 0, 0),
            Operation::Realloc { old, size_bytes, new } => ("realloc", old, size_bytes, new),
            Operation::UsableSize { address, size_bytes } => ("malloc_usable_size", address, size_bytes, 0),
        };
        // As streams of C++ print pointers.
        let pointer = |address: u64| if address == 0 { "0".to_owned() } else { format!("{address:#x}") };
        format!("{name} {} {size_bytes} {}", pointer(address), pointer(new))
    }

    fn with_commas(&self) -> String {
        let ns = self.took_ns.unwrap_or(0);
        match self.operation {
            Operation::Alloc { call: Call::Calloc, size_bytes, address, .. } => {
                format!("alloc_zeroed, {size_bytes}, {address:#018x}, {ns}")
            }
            Operation::Alloc { size_bytes, align, address, .. } => {
                format!("alloc, {size_bytes}, {}, {address:#018x}, {ns}", align.max(1))
            }
            Operation::Free { address } | Operation::Realloc { old: address, size_bytes: 0, new: 0 } => {
                format!("dealloc, {address:#018x}, {ns}")
            }
            Operation::Realloc { old: 0, size_bytes, new } => {
                format!("alloc, {size_bytes}, 1, {new:#018x}, {ns}")
            }
            Operation::Realloc { old, size_bytes, new } => {
                format!("realloc, {old:#018x}, {size_bytes}, {new:#018x}, {ns}")
            }
            Operation::UsableSize { address, size_bytes } => {
                format!("get_block_size, {address:#018x}, {size_bytes}, {ns}")
            }
        }
    }
}
