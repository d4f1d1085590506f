//! The number of a stack, by which tables of many recordings and hosts are joined: FNV-1a of 64 bits over the frames,
//! the outermost first.
//!
//! ```text
//!   frame   bytes of the id (4, the lowest first), id, address in the file (8)
//!   id      the build id; of a file without one its path; of code in no file nothing; where the stack was cut, why
//! ```
//! A stack of which nothing is known has the number of no frames. Inlined functions and names are not in it: the same
//! build has the same numbers with and without debug information.

use heapscribe_analyze::answer::{CallTree, Frame, NodeId};
use heapscribe_wire::head::LossReason;

const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// The numbers of all nodes of a tree.
pub struct StackHashes(Vec<u64>);

impl StackHashes {
    /// Of this tree.
    pub fn of(tree: &CallTree) -> StackHashes {
        let mut hashes = Vec::with_capacity(tree.nodes.len());
        for (number, node) in tree.nodes.iter().enumerate() {
            // A process on top, where an answer keeps them apart, is no frame.
            let is_frame = number > 0 && node.frame.process().is_none();
            let parent = if is_frame { hashes.get(node.parent.0 as usize).copied() } else { None };
            hashes.push(parent.map_or(OFFSET_BASIS, |parent| with_frame(parent, tree, &node.frame)));
        }
        StackHashes(hashes)
    }

    /// The number of a stack.
    pub fn get(&self, node: NodeId) -> i64 {
        self.0.get(node.0 as usize).map_or(OFFSET_BASIS, |hash| *hash).cast_signed()
    }
}

fn with_frame(hash: u64, tree: &CallTree, frame: &Frame) -> u64 {
    let module = frame.module.and_then(|module| tree.modules.get(module as usize));
    let id: &[u8] = match (module, frame.cut) {
        (Some(module), _) if module.build_id.is_empty() => &module.path,
        (Some(module), _) => &module.build_id,
        (None, None) => &[],
        (None, Some(reason)) => {
            LossReason::from_number(reason).map_or(&b"evicted"[..], |of| of.name().as_bytes())
        }
    };
    let hash = with_bytes(hash, &(id.len() as u32).to_le_bytes());
    with_bytes(with_bytes(hash, id), &frame.address.to_le_bytes())
}

fn with_bytes(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::{Module, Node};

    use super::*;

    fn tree(process: bool, path: &str) -> CallTree {
        let mut tree = CallTree::default();
        tree.modules.push(Module { path: path.into(), build_id: vec![0xab, 0xcd] });
        if process {
            tree.nodes.push(Node { parent: NodeId::ROOT, frame: Frame::of_process(3) });
        }
        for address in [0x1000, 0x2000] {
            let parent = NodeId(tree.nodes.len() as u32 - 1);
            let frame = Frame { module: Some(0), address, ..Frame::default() };
            tree.nodes.push(Node { parent, frame });
        }
        tree
    }

    #[test]
    fn a_stack_has_one_number_wherever_its_file_lies() {
        let of = |tree: &CallTree| StackHashes::of(tree).get(NodeId(tree.nodes.len() as u32 - 1));
        let number = of(&tree(false, "/usr/bin/app"));
        assert_eq!(number, of(&tree(true, "/opt/app")));
        // As a user computes it from the description.
        let bytes = b"\x02\0\0\0\xab\xcd\0\x10\0\0\0\0\0\0\x02\0\0\0\xab\xcd\0\x20\0\0\0\0\0\0";
        assert_eq!(number, with_bytes(OFFSET_BASIS, bytes).cast_signed());
        assert_ne!(number, StackHashes::of(&tree(false, "")).get(NodeId(1)));
    }
}
