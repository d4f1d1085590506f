//! Calls for tests, of stacks that are given as names.

use std::collections::HashMap;

use heapscribe_analyze::answer::{Amount, CallTree, Frame, Module, Node, NodeId};
use heapscribe_symbols::Resolver;
use heapscribe_symbols::places::{Place, path_of};

use super::calls::Calls;
use super::own::Own;

/// Calls and figures of stacks, the outermost function first, each with its blocks and bytes. An empty one is unknown.
pub(super) fn sample(stacks: &[(&[&str], u64, u64)]) -> (Calls, Own) {
    let mut tree = CallTree::default();
    let mut ends = Vec::new();
    for (names, ..) in stacks {
        ends.push(names.iter().fold(NodeId::ROOT, |parent, name| {
            let frame = frame(&mut tree, name);
            let node = Node { parent, frame };
            let at = tree.nodes.iter().skip(1).position(|other| *other == node);
            let at = at.map_or(tree.nodes.len(), |at| at + 1);
            if at == tree.nodes.len() {
                tree.nodes.push(node);
            }
            NodeId(at as u32)
        }));
    }
    let (calls, _) = Calls::new(&tree, &ends, &Resolver::new("/nonexistent"), &HashMap::new());
    let amounts = stacks.iter().map(|(_, blocks, bytes)| Amount { blocks: *blocks, bytes: *bytes });
    let own = Own::new(&calls, calls.tips().iter().copied().zip(amounts));
    (calls, own)
}

/// A frame in a module that is the place of this function; or, of `lib+0x10`, in a library without names.
fn frame(tree: &mut CallTree, name: &str) -> Frame {
    let (path, address) = match name.split_once("+0x") {
        Some((library, offset)) => (format!("/lib/{library}"), u64::from_str_radix(offset, 16).unwrap()),
        None => {
            let (function, file) = (name.to_owned(), format!("{name}.c"));
            (path_of(&[Place { function, file, line: 1, start_char: 0, end_char: 0 }]), 0x10)
        }
    };
    let path = path.into_bytes();
    let known = tree.modules.iter().position(|module| module.path == path);
    let module = known.unwrap_or_else(|| {
        tree.modules.push(Module { path, build_id: Vec::new() });
        tree.modules.len() - 1
    });
    Frame { module: Some(module as u32), address, ..Frame::default() }
}
