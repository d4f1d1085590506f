//! What is allocated below each function, by where: one walk over the tree, which keeps the sums of the nodes that it
//! is in.
//!
//! ```text
//!   enter a node:  its functions are on the path once more
//!   leave a node:  a function that is not on the path any more has all that was summed below this node
//!                  the sums are added to the caller's, the smaller to the larger
//! ```

use std::collections::HashMap;

use heapscribe_analyze::answer::{CallTree, NodeId};

use super::functions::{FunctionId, Functions};

/// A function below which a hotspot is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Caller {
    /// Its name.
    pub name: String,
    /// Its source file.
    pub file: Option<String>,
    /// What is allocated in the hotspot below it.
    pub weight: u64,
    /// All that is allocated in it and below it.
    pub below: u64,
}

/// Sums by function.
pub(super) struct Below {
    /// All that is allocated in and below a function.
    all: Vec<u64>,
    /// What of it is allocated in a heavy function: that one first.
    pairs: HashMap<(FunctionId, FunctionId), u64>,
}

/// What was summed below a node.
#[derive(Default)]
struct Sums {
    all: u64,
    heavy: HashMap<FunctionId, u64>,
}

impl Sums {
    fn add(&mut self, mut other: Sums) {
        self.all += other.all;
        if other.heavy.len() > self.heavy.len() {
            std::mem::swap(&mut self.heavy, &mut other.heavy);
        }
        other
            .heavy
            .into_iter()
            .for_each(|(function, weight)| *self.heavy.entry(function).or_default() += weight);
    }
}

impl Below {
    /// Sums the weights of stacks, by function for those that are heavy.
    pub(super) fn sum(
        tree: &CallTree,
        functions: &Functions,
        stacks: &[(NodeId, u64)],
        is_heavy: impl Fn(FunctionId) -> bool,
    ) -> Below {
        let mut own: HashMap<NodeId, Sums> = HashMap::new();
        for (stack, weight) in stacks {
            let sums = own.entry(*stack).or_default();
            sums.all += weight;
            let (function, _) = functions.allocating(tree, *stack);
            if is_heavy(function) {
                *sums.heavy.entry(function).or_default() += weight;
            }
        }
        let mut walk = Walk {
            functions,
            on_path: vec![0; functions.len()],
            below: Below { all: vec![0; functions.len()], pairs: HashMap::new() },
        };
        walk.over(&Children::of(tree, functions), own);
        walk.below
    }

    /// Who a heavy function is below.
    pub(super) fn callers<'a>(
        &'a self,
        function: FunctionId,
        functions: &'a Functions,
    ) -> impl Iterator<Item = Caller> + 'a {
        let of =
            self.pairs.iter().filter(move |((heavy, caller), _)| *heavy == function && *caller != function);
        let mut of: Vec<_> = of.map(|((_, caller), weight)| (*caller, *weight)).collect();
        of.sort_unstable();
        of.into_iter().map(|(caller, weight)| {
            let (name, file) = functions.name(caller);
            let (name, file) = (name.to_owned(), file.map(str::to_owned));
            Caller { name, file, weight, below: self.all[caller.0 as usize] }
        })
    }
}

/// The way through the tree.
struct Walk<'a> {
    functions: &'a Functions,
    /// How often each function is on the path from the root.
    on_path: Vec<u32>,
    below: Below,
}

impl Walk<'_> {
    fn over(&mut self, children: &Children, mut own: HashMap<NodeId, Sums>) {
        let mut open: Vec<(NodeId, Sums, u32)> = vec![(NodeId::ROOT, Sums::default(), children.first[0])];
        while let Some((_, _, next)) = open.last_mut() {
            if let Some(child) = (*next != 0).then_some(NodeId(*next)) {
                *next = children.next[child.0 as usize];
                self.functions.of_node(child).for_each(|f| self.on_path[f.0 as usize] += 1);
                open.push((child, own.remove(&child).unwrap_or_default(), children.first[child.0 as usize]));
                continue;
            }
            if let Some((node, sums, _)) = open.pop() {
                self.leave(node, &sums);
                if let Some((_, outer, _)) = open.last_mut() {
                    outer.add(sums);
                }
            }
        }
    }

    fn leave(&mut self, node: NodeId, sums: &Sums) {
        for function in self.functions.of_node(node) {
            let times = &mut self.on_path[function.0 as usize];
            *times -= 1;
            if *times == 0 {
                self.below.all[function.0 as usize] += sums.all;
                for (heavy, weight) in &sums.heavy {
                    *self.below.pairs.entry((*heavy, function)).or_default() += weight;
                }
            }
        }
    }
}

/// The first child and the next sibling of each node that is used; 0 for none.
struct Children {
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Children {
    fn of(tree: &CallTree, functions: &Functions) -> Children {
        let n = tree.nodes.len();
        let mut children = Children { first: vec![0; n], next: vec![0; n] };
        for node in (1..n).rev().filter(|node| functions.is_used(NodeId(*node as u32))) {
            let parent = tree.nodes[node].parent.0 as usize;
            children.next[node] = std::mem::replace(&mut children.first[parent], node as u32);
        }
        children
    }
}
