//! The call tree of an answer: frames as places in files, each under the frame that called it. Figures
//! hang on its nodes by number, so that a view can fold, filter and sum them as it likes.

/// A node of the merged call tree: an index into [`CallTree::nodes`]. 0 is the root, which is no frame:
/// what hangs on it directly has an unknown stack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The root: no frame at all, the unknown stack.
    pub const ROOT: NodeId = NodeId(0);
}

/// The calls of all processes, merged by file and place in the file so that the same code at different
/// addresses is one node. A node stands after its parent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallTree {
    /// The nodes; the first is the root.
    pub nodes: Vec<Node>,
    /// The files that frames lie in.
    pub modules: Vec<Module>,
}

impl Default for CallTree {
    fn default() -> Self {
        CallTree { nodes: vec![Node::default()], modules: Vec::new() }
    }
}

impl CallTree {
    /// From a node to the outermost frame, innermost first, without the root.
    pub fn frames(&self, node: NodeId) -> impl Iterator<Item = (NodeId, &Frame)> {
        let mut at = node;
        std::iter::from_fn(move || {
            let node = self.nodes.get(at.0 as usize).filter(|_| at != NodeId::ROOT)?;
            let this = at;
            at = node.parent;
            Some((this, &node.frame))
        })
    }

    /// Whether it is of no frame: the root, or a process.
    pub fn is_unknown(&self, node: NodeId) -> bool {
        let is_process = |node: &Node| node.frame.process().is_some();
        node == NodeId::ROOT || self.nodes.get(node.0 as usize).is_some_and(is_process)
    }

    /// For each node the sum over itself and everything below it. `own` is indexed by node.
    pub fn inclusive(&self, own: &[i64]) -> Vec<i64> {
        let mut sums = own.to_vec();
        sums.resize(self.nodes.len(), 0);
        for i in (1..sums.len()).rev() {
            let (parent, sum) = (self.nodes[i].parent.0 as usize, sums[i]);
            sums[parent] += sum;
        }
        sums
    }
}

/// A frame and who called it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Node {
    /// The caller; the root for an outermost frame. Always a smaller number, but for the root itself.
    pub parent: NodeId,
    /// The frame.
    pub frame: Frame,
}

/// A place in code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Frame {
    /// Index into [`CallTree::modules`]; none for code that no file was mapped for.
    pub module: Option<u32>,
    /// Address within the file (pc - bias); the pc itself when there is no module.
    pub address: u64,
    /// Whether the address is one that a call returns to, so that the call is before it.
    pub is_return_address: bool,
    /// Its caller was found by a frame pointer, for want of unwinding information: the caller and all
    /// frames beyond it may be wrong.
    pub guesses: bool,
    /// Set for a node that is no frame but stands for those that could not be followed: why, a number of
    /// `heapscribe_wire::head::LossReason`.
    pub cut: Option<u8>,
}

impl Frame {
    /// Stands for the stacks of what is known to have been allocated by events that a ring has evicted.
    pub const EVICTED: Frame =
        Frame { module: None, address: 0, is_return_address: false, guesses: false, cut: Some(u8::MAX) };

    const PROCESS: u8 = u8::MAX - 1;

    /// Stands above the outermost frames of a process, an index into [`super::Answer::processes`], where an answer
    /// keeps the stacks of processes apart.
    pub fn of_process(process: usize) -> Frame {
        Frame { address: process as u64, cut: Some(Frame::PROCESS), ..Frame::default() }
    }

    /// The process that it stands for, if it stands for one.
    pub fn process(&self) -> Option<usize> {
        (self.cut == Some(Frame::PROCESS)).then_some(self.address as usize)
    }
}

/// A file that code lies in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Module {
    /// Its path, as first seen.
    pub path: Vec<u8>,
    /// GNU build id; empty when it has none.
    pub build_id: Vec<u8>,
}
