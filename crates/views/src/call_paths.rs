//! The call paths of a recording, from the outermost functions to those that ask for memory: where the program's own code
//! ends on each, and which library it calls there.
//!
//! A thread that a library started has no code of the program on its paths. It is where such a program works whose `main`
//! sets the library up and ends by `pthread_exit`, or waits: who starts threads stands for the program there.

use heapscribe_analyze::answer::Frame;
use heapscribe_symbols::{NamedStacks, lossy};
use heapscribe_wire::head::LossReason;

use crate::system_libraries::{is_runtime, is_system_library};
use crate::thin_main::Path;

/// The number that stands for the function that starts threads; those of the program have others.
const STARTS_THREADS: u32 = 0;

/// The program's own function that a path leads to, and the module that it is in.
#[derive(Clone, Copy, Default)]
struct Own {
    module: Option<u32>,
    function: u32,
    is_named: bool,
}

/// What is known of the path from a node outwards.
#[derive(Clone, Copy, Default)]
struct PathOutwards {
    /// The first frame that is the program's own, and whether that is the node's.
    own: Option<Own>,
    is_own: bool,
    /// The library that it calls; without one the outermost library.
    library: Option<u32>,
    /// The outermost module.
    outermost: Option<u32>,
    is_cut: bool,
}

/// All paths that are known as a whole; `own` is the number of the program's function that a frame is of, if any, and
/// whether that has a name. Callers come before those that they call in the tree, so that each node is looked at once:
/// frame by frame a compiler's 350,000 paths took 13 s.
pub(crate) fn of(names: &NamedStacks<'_>, mut own: impl FnMut(&Frame) -> Option<(u32, bool)>) -> Vec<Path> {
    let tree = names.tree();
    let modules = tree.modules.iter().map(|module| Kind::of(&lossy(&module.path))).collect::<Vec<_>>();
    let mut is_leaf = vec![true; tree.nodes.len()];
    let mut outwards = vec![PathOutwards::default(); tree.nodes.len()];
    for (number, node) in tree.nodes.iter().enumerate().skip(1) {
        let parent = node.parent.0 as usize;
        is_leaf[parent] = false;
        let module = node.frame.module;
        let own = own(&node.frame).map(|(function, is_named)| Own { module, function, is_named });
        outwards[number] = outwards[parent].called(&node.frame, own, &modules);
    }
    let leaves = is_leaf.iter().zip(&outwards).skip(1).filter(|(is_leaf, _)| **is_leaf);
    leaves.filter_map(|(_, path)| path.of_leaf(&modules)).collect()
}

impl PathOutwards {
    /// The path from a frame that the innermost of this one calls.
    fn called(self, frame: &Frame, own: Option<Own>, modules: &[Kind]) -> PathOutwards {
        let used = frame.module.filter(|module| modules.get(*module as usize) == Some(&Kind::Used));
        match (own, self.own) {
            (Some(_), _) => PathOutwards { own, is_own: true, library: None, ..self },
            (None, Some(_)) if self.is_own => PathOutwards { is_own: false, library: used, ..self },
            (None, Some(_)) => self,
            (None, None) => PathOutwards {
                library: self.library.or(used),
                outermost: self.outermost.or(frame.module),
                is_cut: self.is_cut || frame.cut.and_then(LossReason::from_number).is_some(),
                ..self
            },
        }
    }

    /// The path of a leaf; `None` when it is not known as a whole.
    fn of_leaf(&self, modules: &[Kind]) -> Option<Path> {
        let library = self.library;
        if let Some(Own { module, function, is_named }) = self.own {
            return Some(Path { program: Some(module?), function, is_named, library });
        }
        let begins = modules.get(self.outermost? as usize) == Some(&Kind::Runtime);
        let of_thread = Path { program: None, function: STARTS_THREADS, is_named: false, library };
        (!self.is_cut && begins).then_some(of_thread)
    }
}

/// What a module is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A library of the system that every program has.
    Runtime,
    /// Another one.
    Used,
    Other,
}

impl Kind {
    fn of(path: &str) -> Kind {
        match (is_runtime(path), is_system_library(path)) {
            (true, _) => Kind::Runtime,
            (false, true) => Kind::Used,
            (false, false) => Kind::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::{CallTree, Module, Node, NodeId};
    use heapscribe_symbols::Resolver;
    use proptest::prelude::*;

    use super::*;

    const MODULES: [&str; 4] =
        ["/home/me/app", "/usr/lib/libgs.so.10", "/lib/libc.so.6", "/usr/lib/libcairo.so.2"];

    /// Functions of the program at even addresses.
    fn own(frame: &Frame) -> Option<(u32, bool)> {
        let is_own = frame.cut.is_none() && frame.address.is_multiple_of(2);
        (frame.module != Some(2) && is_own).then_some((frame.address as u32, frame.address > 4))
    }

    /// The same, frame by frame from the innermost out.
    fn slow_twin(tree: &CallTree, leaf: NodeId) -> Option<Path> {
        let path = |module: Option<u32>| module.map_or("", |module| MODULES[module as usize]);
        let used = |module: &Option<u32>| is_system_library(path(*module)) && !is_runtime(path(*module));
        let frames: Vec<Frame> = tree.frames(leaf).map(|(_, frame)| *frame).collect();
        if let Some(at) = frames.iter().position(|frame| own(frame).is_some()) {
            let (function, is_named) = own(&frames[at])?;
            let library =
                at.checked_sub(1).and_then(|inner| frames[inner].module.filter(|of| used(&Some(*of))));
            return Some(Path { program: Some(frames[at].module?), function, is_named, library });
        }
        let outwards = || frames.iter().rev().map(|frame| frame.module);
        let begins = is_runtime(path(outwards().find(Option::is_some)?));
        let is_whole = frames.iter().all(|frame| frame.cut.is_none());
        let library = outwards().find(|module| used(module)).flatten();
        let of_thread = Path { program: None, function: STARTS_THREADS, is_named: false, library };
        (is_whole && begins).then_some(of_thread)
    }

    proptest! {
        #[test]
        fn each_leaf_has_the_path_that_its_frames_say(
            nodes in prop::collection::vec((any::<prop::sample::Index>(), 0..5_u32, 0..8_u64, 0..9_u8), 1..40)
        ) {
            let mut tree = CallTree::default();
            let module = |path: &str| Module { path: path.as_bytes().to_vec(), build_id: Vec::new() };
            tree.modules = MODULES.map(module).to_vec();
            for (parent, module, address, cut) in nodes {
                let parent = NodeId(parent.index(tree.nodes.len()) as u32);
                let (module, cut) = (Some(module).filter(|n| *n < 4), (cut == 0).then_some(4));
                tree.nodes.push(Node { parent, frame: Frame { module, address, cut, ..Frame::default() } });
            }
            let all = (1..tree.nodes.len() as u32).map(NodeId);
            let is_leaf = |node: &NodeId| tree.nodes.iter().skip(1).all(|other| other.parent != *node);
            let expected: Vec<String> = all.clone().filter(is_leaf).filter_map(|leaf| slow_twin(&tree, leaf)).map(|path| format!("{path:?}")).collect();
            let names = NamedStacks::look_up(&tree, all, &Resolver::new("/nowhere"));
            let found: Vec<String> = of(&names, own).iter().map(|path| format!("{path:?}")).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
