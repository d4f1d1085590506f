//! The same figures as three trees: of callees from the root or from a function downward, and of callers upward.

use std::collections::HashMap;

use heapscribe_analyze::answer::Amount;

use super::calls::Calls;
use super::function::FunctionId;
use super::nodes::CallId;
use super::own::{Figures, Own};

/// A box of a tree that is not made yet.
pub(super) struct Child<N> {
    pub(super) function: FunctionId,
    /// With all below it.
    pub(super) amount: Amount,
    /// What ends here.
    pub(super) own: Amount,
    /// With all below it, in what is compared with.
    pub(super) before: Amount,
    pub(super) node: N,
}

/// A tree whose boxes are made when they are looked at.
pub(super) trait Tree {
    /// What the boxes below one are made of.
    type Node;

    fn root(&self) -> Child<Self::Node>;

    /// The boxes below one, in any order.
    fn below(&self, node: &Self::Node) -> Vec<Child<Self::Node>>;
}

/// Who is called: a box is all calls of a function below one box.
pub(super) struct Callees<'a> {
    pub(super) calls: &'a Calls,
    pub(super) figures: Figures<'a>,
    /// The calls of this function only.
    pub(super) focus: Option<FunctionId>,
}

impl Callees<'_> {
    fn child(&self, function: FunctionId, node: Vec<CallId>) -> Child<Vec<CallId>> {
        let sum = |of: &dyn Fn(CallId) -> Amount| {
            let mut sum = Amount::default();
            node.iter().for_each(|id| sum.add(&of(*id)));
            sum
        };
        let own = self.figures.own;
        let (amount, own) = (sum(&|id| own.inclusive(id)), sum(&|id| own.own(id)));
        Child { function, amount, own, before: sum(&|id| self.figures.before(id)), node }
    }
}

impl Tree for Callees<'_> {
    type Node = Vec<CallId>;

    fn root(&self) -> Child<Self::Node> {
        match self.focus {
            Some(function) => self.child(function, outermost(self.calls, function).collect()),
            None => self.child(self.calls.node(CallId(0)).function, vec![CallId(0)]),
        }
    }

    fn below(&self, node: &Self::Node) -> Vec<Child<Self::Node>> {
        let mut by_function = HashMap::<FunctionId, Vec<CallId>>::new();
        let callees = node.iter().flat_map(|id| self.calls.callees(*id));
        for id in callees.filter(|id| self.figures.has(**id)) {
            by_function.entry(self.calls.node(*id).function).or_default().push(*id);
        }
        by_function.into_iter().map(|(function, node)| self.child(function, node)).collect()
    }
}

/// Who calls: a box is a caller of the box that it is on, by the stacks that run through both.
pub(super) struct Callers<'a> {
    pub(super) calls: &'a Calls,
    pub(super) figures: Figures<'a>,
    /// The callers of this function only.
    pub(super) focus: Option<FunctionId>,
}

/// Stacks in a box: the call that is looked at next, what they allocated, and what they did before.
type Climbing = Vec<(CallId, Amount, Amount)>;

impl Callers<'_> {
    fn child(&self, function: FunctionId, stacks: &[(CallId, Amount, Amount)]) -> Child<Climbing> {
        let (mut amount, mut own, mut before) = (Amount::default(), Amount::default(), Amount::default());
        let mut node = Climbing::new();
        for (at, of_stack, of_before) in stacks {
            amount.add(of_stack);
            before.add(of_before);
            match self.calls.node(*at).caller {
                CallId(0) => own.add(of_stack),
                caller => node.push((caller, *of_stack, *of_before)),
            }
        }
        Child { function, amount, own, before, node }
    }

    /// Where each stack ends that is in any of the figures.
    fn stacks(&self) -> Climbing {
        let own = |figures: Option<&Own>, id| figures.map_or(Amount::default(), |figures| figures.own(id));
        let Figures { own: after, before } = self.figures;
        let all = (1..self.calls.nodes().len() as u32).map(CallId);
        let stacks = all.map(|id| (id, after.own(id), own(before, id)));
        stacks
            .filter(|(_, after, before)| *after != Amount::default() || *before != Amount::default())
            .collect()
    }
}

impl Tree for Callers<'_> {
    type Node = Climbing;

    fn root(&self) -> Child<Climbing> {
        if let Some(function) = self.focus {
            let calls = outermost(self.calls, function);
            let stack = |id| (id, self.figures.own.inclusive(id), self.figures.before(id));
            let stacks: Climbing = calls.map(stack).collect();
            return self.child(function, &stacks);
        }
        Child {
            function: self.calls.node(CallId(0)).function,
            amount: self.figures.own.total(),
            own: Amount::default(),
            before: self.figures.before(CallId(0)),
            node: self.stacks(),
        }
    }

    fn below(&self, node: &Climbing) -> Vec<Child<Climbing>> {
        let mut by_function = HashMap::<FunctionId, Climbing>::new();
        for stack in node {
            by_function.entry(self.calls.node(stack.0).function).or_default().push(*stack);
        }
        by_function.into_iter().map(|(function, stacks)| self.child(function, &stacks)).collect()
    }
}

/// The calls of a function that are in no other call of it.
fn outermost(calls: &Calls, function: FunctionId) -> impl Iterator<Item = CallId> {
    let all = (0..).map(CallId).zip(calls.nodes());
    all.filter(move |(_, node)| node.function == function && node.is_outermost).map(|(id, _)| id)
}
