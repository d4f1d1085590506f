//! Functions in which most is allocated, and for each the callers that explain it: the answer of memtrace's `hotspots`.
//!
//! Every stack ends in one function, so the functions add up to the whole. `main` is in every stack and explains none of
//! them; a caller explains a function if what it leads to is allocated there far more often than elsewhere:
//!
//! ```text
//!   share     = allocated in the function / allocated in the whole program
//!   of caller = allocated in the function below the caller / all that is allocated below the caller
//!
//!   shown:  functions with a share of more than 0.5 %
//!           callers with "of caller" above 10 % and above 1.2 x share, for more than 0.5 % of the whole
//! ```
//! No caller can do so where a function has five sixths of the whole: of that one the functions are named that call it.
//!
//! A function that is several times in a stack has its weight once. (memtrace's weighs callers by objects in place of their
//! samples, and counts a function that allocates below itself twice; its list of functions is ours to the byte.) Memory
//! grows with stacks, and no stack is unfolded: one walk over the tree of calls sums what lies below each function.

mod below;
mod functions;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use heapscribe_analyze::answer::NodeId;
use heapscribe_symbols::NamedStacks;

pub use below::Caller;

use below::Below;
use functions::{FunctionId, Functions};

/// Functions and callers with less than one part in so many are not shown.
const PARTS_OF_WHOLE: u64 = 200;
/// A caller explains a function from this part on of what is allocated below it.
const OF_CALLER_MIN: f64 = 0.10;
/// And when that is so many times the function's share in the whole.
const TIMES_SHARE_MIN: f64 = 1.2;

/// Where most is allocated.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hotspots {
    /// The weight of all stacks.
    pub whole: u64,
    /// The heaviest functions, heaviest first.
    pub functions: Vec<Hotspot>,
}

/// A function that allocates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hotspot {
    /// Its name.
    pub name: String,
    /// Its source file.
    pub file: Option<String>,
    /// What is allocated in it.
    pub weight: u64,
    /// The same by line, heaviest first.
    pub lines: Vec<(u32, u64)>,
    /// Who explains it, heaviest first; of the same weight, who leads least elsewhere.
    pub callers: Vec<Caller>,
    /// Who calls it, heaviest first; of a function with so much of the whole that nobody can explain it.
    pub called_by: Vec<DirectCaller>,
    /// How many others call it, each for too little to be shown, and for how much together.
    pub called_by_others: (usize, u64),
}

/// Who calls a function that allocates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DirectCaller {
    /// Its name.
    pub name: String,
    /// Its source file.
    pub file: Option<String>,
    /// What is allocated in the function by its calls.
    pub weight: u64,
}

/// Finds them among stacks with weights.
pub fn find(names: &NamedStacks<'_>, stacks: &[(NodeId, u64)]) -> Hotspots {
    let functions = Functions::of(names, stacks);
    let whole = stacks.iter().map(|(_, weight)| weight).sum();
    let mut by_function: BTreeMap<FunctionId, (u64, BTreeMap<u32, u64>)> = BTreeMap::new();
    for (node, weight) in stacks {
        let (function, line) = functions.allocating(names.tree(), *node);
        let sums = by_function.entry(function).or_default();
        sums.0 += weight;
        line.into_iter().for_each(|line| *sums.1.entry(line).or_default() += weight);
    }
    let is_heavy = |weight: u64| weight.saturating_mul(PARTS_OF_WHOLE) > whole;
    by_function.retain(|_, (weight, _)| is_heavy(*weight));
    let below = Below::sum(names.tree(), &functions, stacks, |function| by_function.contains_key(&function));
    let hotspot = |(function, (weight, lines)): (FunctionId, (u64, BTreeMap<u32, u64>))| {
        let share = weight as f64 / whole as f64;
        let explains = |caller: &Caller| {
            let of_caller = caller.weight as f64 / caller.below as f64;
            is_heavy(caller.weight) && of_caller > OF_CALLER_MIN.max(share * TIMES_SHARE_MIN)
        };
        let (name, file) = functions.name(function);
        let (called_by, others): (Vec<_>, Vec<_>) = match share * TIMES_SHARE_MIN < 1.0 {
            true => Default::default(),
            false => called_by(function, names, &functions, stacks).partition(|of| is_heavy(of.weight)),
        };
        Hotspot {
            name: name.to_owned(),
            file: file.map(str::to_owned),
            weight,
            lines: heaviest(lines.into_iter().collect(), |(_, weight)| *weight),
            callers: heaviest(below.callers(function, &functions).filter(explains).collect(), |c| {
                (c.weight, Reverse(c.below))
            }),
            called_by: heaviest(called_by, |of| of.weight),
            called_by_others: (others.len(), others.iter().map(|of| of.weight).sum()),
        }
    };
    let all = by_function.into_iter().map(hotspot).collect();
    Hotspots { whole, functions: heaviest(all, |hotspot| hotspot.weight) }
}

/// Who calls a function that allocates, with what is allocated in it by that.
fn called_by(
    function: FunctionId,
    names: &NamedStacks<'_>,
    functions: &Functions,
    stacks: &[(NodeId, u64)],
) -> impl Iterator<Item = DirectCaller> {
    let mut callers: BTreeMap<FunctionId, u64> = BTreeMap::new();
    let of = |stack: NodeId| functions.allocating(names.tree(), stack).0 == function;
    for (stack, weight) in stacks.iter().filter(|(stack, _)| of(*stack)) {
        let caller = functions.caller(names.tree(), *stack, function);
        caller.into_iter().for_each(|caller| *callers.entry(caller).or_default() += weight);
    }
    callers.into_iter().map(|(caller, weight)| {
        let (name, file) = functions.name(caller);
        DirectCaller { name: name.to_owned(), file: file.map(str::to_owned), weight }
    })
}

fn heaviest<T, K: Ord>(mut all: Vec<T>, weight: impl Fn(&T) -> K) -> Vec<T> {
    all.sort_by_key(|one| Reverse(weight(one)));
    all
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::{CallTree, Frame, Module, Node};
    use heapscribe_symbols::Resolver;

    use super::*;

    /// `malloc`'s wrapper of a program: no caller can have 1.2 times all of it, and a stranger looked in vain for who calls it.
    #[test]
    fn who_calls_a_function_that_allocates_nearly_all_is_named() {
        let mut tree = CallTree::default();
        tree.modules.push(Module { path: b"/home/me/app".to_vec(), build_id: Vec::new() });
        let mut call = |parent: u32, address: u64| {
            let frame = Frame { module: Some(0), address, ..Frame::default() };
            tree.nodes.push(Node { parent: NodeId(parent), frame });
            tree.nodes.len() as u32 - 1
        };
        const WRAPPER: u64 = 0x90;
        let main = call(0, 0x10);
        let (one, other) = (call(main, 0x20), call(main, 0x30));
        let by_one = call(one, WRAPPER);
        let by_other = call(other, WRAPPER);
        let by_itself = call(by_other, WRAPPER);
        let stacks =
            [(by_one, 60), (by_other, 10), (by_itself, 25), (one, 5)].map(|(node, n)| (NodeId(node), n));
        let names =
            NamedStacks::look_up(&tree, stacks.iter().map(|(node, _)| *node), &Resolver::new("/nowhere"));
        let found = find(&names, &stacks);
        let shown: Vec<_> =
            found.functions.iter().map(|of| (of.weight, &of.callers[..], of.called_by.len())).collect();
        assert_eq!(shown, [(95, &[][..], 2), (5, &[][..], 0)]);
        let callers: Vec<_> =
            found.functions[0].called_by.iter().map(|of| (of.name.as_str(), of.weight)).collect();
        assert_eq!(callers, [("app+0x20", 60), ("app+0x30", 35)]);
        // Of 10,000 times as much by the one the other is not shown by itself.
        let stacks = [(NodeId(by_one), 600_000), (NodeId(by_other), 60)];
        let of = &find(&names, &stacks).functions[0];
        assert_eq!((of.called_by.len(), of.called_by_others), (1, (1, 60)));
    }
}
