//! The stacks of a process, looked up in a file: 8 bytes for each node, its caller and its place in code.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use heapscribe_wire::ids::StackId;

const NODE_BYTES: u64 = 8;
/// Frames of stacks in the cache.
const CACHED_FRAMES_MAX: usize = 1 << 20;

/// Takes nodes in the order of their numbers.
pub struct NodeTableWriter {
    file: BufWriter<File>,
    next: u64,
}

impl NodeTableWriter {
    /// Writes into `file`, from its beginning.
    pub fn new(file: File) -> NodeTableWriter {
        NodeTableWriter { file: BufWriter::new(file), next: 0 }
    }

    /// Adds a node: its caller, and the number of its place in code.
    ///
    /// # Errors
    /// Those of the medium.
    pub fn put(&mut self, node: StackId, caller: StackId, place: u32) -> io::Result<()> {
        let at = u64::from(node.0);
        if at != self.next {
            // Numbers that are missing read as 0, which is no caller.
            self.file.seek(SeekFrom::Start(at * NODE_BYTES))?;
        }
        self.next = at + 1;
        self.file.write_all(&caller.0.to_le_bytes())?;
        self.file.write_all(&place.to_le_bytes())
    }

    /// The table, when all nodes are in it.
    ///
    /// # Errors
    /// Those of the medium.
    pub fn finish(self) -> io::Result<NodeTable> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(NodeTable { file, cache: HashMap::new(), cached_frames: 0 })
    }
}

/// Looks stacks up, as places outermost first.
pub struct NodeTable {
    file: File,
    cache: HashMap<StackId, Vec<u32>>,
    cached_frames: usize,
}

impl NodeTable {
    /// The places of a stack.
    ///
    /// # Errors
    /// Those of the medium.
    pub fn stack(&mut self, leaf: StackId) -> io::Result<&[u32]> {
        if !self.cache.contains_key(&leaf) {
            let stack = self.look_up(leaf)?;
            if self.cached_frames > CACHED_FRAMES_MAX {
                self.cache.clear();
                self.cached_frames = 0;
            }
            self.cached_frames += stack.len() + 1;
            self.cache.insert(leaf, stack);
        }
        Ok(&self.cache[&leaf])
    }

    fn look_up(&self, leaf: StackId) -> io::Result<Vec<u32>> {
        let (mut places, mut at) = (Vec::new(), leaf.0);
        while at != 0 {
            let mut bytes = [0; NODE_BYTES as usize];
            if self.file.read_at(&mut bytes, u64::from(at) * NODE_BYTES)? < bytes.len() {
                break;
            }
            let [caller, place] =
                [0, 4].map(|from| u32::from_le_bytes([0, 1, 2, 3].map(|n| bytes[from + n])));
            // 0 stands for a number that is missing. A caller has a smaller number, in a trace that is whole.
            if place == 0 || caller >= at {
                break;
            }
            places.push(place);
            at = caller;
        }
        places.reverse();
        Ok(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_end_where_numbers_are_missing() {
        let mut nodes = NodeTableWriter::new(tempfile::tempfile().unwrap());
        for (node, caller, place) in [(1, 0, 10), (2, 1, 20), (3, 2, 30), (6, 5, 60), (7, 9, 70)] {
            nodes.put(StackId(node), StackId(caller), place).unwrap();
        }
        let mut nodes = nodes.finish().unwrap();
        for (leaf, places) in
            [(3, &[10, 20, 30][..]), (2, &[10, 20]), (6, &[60]), (7, &[]), (5, &[]), (99, &[])]
        {
            assert_eq!(nodes.stack(StackId(leaf)).unwrap(), places, "{leaf}");
        }
    }
}
