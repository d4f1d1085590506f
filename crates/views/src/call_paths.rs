//! The call paths of a recording, from the outermost functions to those that ask for memory: where the program's own code
//! ends on each, and which library it calls there.
//!
//! A thread that a library started has no code of the program on its paths. It is where such a program works whose `main`
//! sets the library up and ends by `pthread_exit`, or waits: who starts threads stands for the program there.

use heapscribe_analyze::answer::{CallTree, Frame, NodeId};
use heapscribe_symbols::{NamedStacks, lossy};

use crate::system_libraries::{is_runtime, is_system_library};
use crate::thin_main::Path;

/// The number that stands for the function that starts threads; those of the program have others.
const STARTS_THREADS: u32 = 0;

/// All paths that are known as a whole; `own` is the number of the program's function that a frame is of, if any, and
/// whether that has a name.
pub(crate) fn of(
    names: &NamedStacks<'_>,
    mut own: impl FnMut(NodeId, &Frame) -> Option<(u32, bool)>,
) -> Vec<Path> {
    let tree = names.tree();
    let mut is_leaf = vec![true; tree.nodes.len()];
    tree.nodes.iter().for_each(|node| is_leaf[node.parent.0 as usize] = false);
    let leaves = (1..tree.nodes.len()).filter(|number| is_leaf[*number]);
    leaves.filter_map(|number| path(names, NodeId(number as u32), &mut own)).collect()
}

fn path(
    names: &NamedStacks<'_>,
    stack: NodeId,
    own: &mut impl FnMut(NodeId, &Frame) -> Option<(u32, bool)>,
) -> Option<Path> {
    let tree = names.tree();
    let (mut inner, mut outermost): (Option<u32>, Option<u32>) = (None, None);
    let (mut library, mut is_whole) = (None, true);
    for (node, frame) in tree.frames(stack) {
        if let Some((function, is_named)) = own(node, frame) {
            let library = inner.filter(|module| is_used(tree, *module));
            return Some(Path { program: Some(frame.module?), function, is_named, library });
        }
        is_whole &= names.lines_of(frame).iter().all(|line| line.cut.is_none());
        inner = frame.module;
        library = inner.filter(|module| is_used(tree, *module)).or(library);
        outermost = inner.or(outermost);
    }
    let begins = outermost.is_some_and(|module| is_runtime(&path_of(tree, module)));
    let of_thread = Path { program: None, function: STARTS_THREADS, is_named: false, library };
    (is_whole && begins).then_some(of_thread)
}

/// Whether a module is a library of the system that not every program has.
fn is_used(tree: &CallTree, module: u32) -> bool {
    let path = path_of(tree, module);
    is_system_library(&path) && !is_runtime(&path)
}

fn path_of(tree: &CallTree, module: u32) -> String {
    tree.modules.get(module as usize).map(|of| lossy(&of.path)).unwrap_or_default()
}
