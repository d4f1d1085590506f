//! A tree of calls that grows: a function below a caller is one node, however often it is asked for.

use std::collections::HashMap;

use super::function::FunctionId;

/// A node: an index into the nodes of a tree; 0 is the root, which is no call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct CallId(pub(crate) u32);

/// A function and who called it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Call {
    /// Always a smaller number, but for the root itself.
    pub(crate) caller: CallId,
    pub(crate) function: FunctionId,
    /// Whether the function is in none of the callers: figures of functions count these only.
    pub(crate) is_outermost: bool,
}

/// Nodes, each with a greater number than its caller.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    nodes: Vec<Call>,
    known: HashMap<(CallId, FunctionId), CallId>,
}

impl Nodes {
    /// Of a root alone.
    pub(super) fn new(root: FunctionId) -> Nodes {
        Nodes::from(vec![Call { function: root, ..Call::default() }])
    }

    /// What a function that is called by a node is called in.
    pub(super) fn add(&mut self, caller: CallId, function: FunctionId) -> CallId {
        if let Some(known) = self.known.get(&(caller, function)) {
            return *known;
        }
        let is_outermost = self.callers(caller).all(|at| self.get(at).function != function);
        let id = CallId(self.nodes.len() as u32);
        self.nodes.push(Call { caller, function, is_outermost });
        self.known.insert((caller, function), id);
        id
    }

    pub(super) fn get(&self, id: CallId) -> &Call {
        &self.nodes[id.0 as usize]
    }

    /// The node and its callers, the innermost first, without the root.
    pub(super) fn callers(&self, id: CallId) -> impl Iterator<Item = CallId> {
        std::iter::successors(Some(id), |at| Some(self.get(*at).caller)).take_while(|at| at.0 != 0)
    }

    /// All of them.
    pub(super) fn into_calls(self) -> Vec<Call> {
        self.nodes
    }
}

impl From<Vec<Call>> for Nodes {
    fn from(nodes: Vec<Call>) -> Nodes {
        let place = |(n, node): (u32, &Call)| ((node.caller, node.function), CallId(n));
        let known = (0..).zip(&nodes).skip(1).map(place).collect();
        Nodes { nodes, known }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_below_a_caller_is_one_node_and_outermost_where_no_caller_is_it() {
        let [root, a, b] = [0, 1, 2].map(FunctionId);
        let mut nodes = Nodes::new(root);
        let first = nodes.add(CallId(0), a);
        let below = nodes.add(first, b);
        assert_eq!(nodes.add(CallId(0), a), first);
        // What was there before is known again.
        let mut nodes = Nodes::from(nodes.into_calls());
        assert_eq!(nodes.add(first, b), below);
        let inner = nodes.add(below, a);
        assert_eq!(nodes.callers(inner).collect::<Vec<_>>(), [inner, below, first]);
        let outermost = |id: CallId| nodes.get(id).is_outermost;
        assert_eq!([first, below, inner].map(outermost), [true, true, false]);
    }
}
