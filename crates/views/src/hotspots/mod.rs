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
//! A function that is several times in a stack has its weight once. (memtrace's weighs callers by objects in place of their
//! samples, and counts a function that allocates below itself twice; its list of functions is ours to the byte.) Memory
//! grows with stacks, and no stack is unfolded: one walk over the tree of calls sums what lies below each function.

mod below;
mod functions;

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
    /// Who explains it, heaviest first.
    pub callers: Vec<Caller>,
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
        Hotspot {
            name: name.to_owned(),
            file: file.map(str::to_owned),
            weight,
            lines: heaviest(lines.into_iter().collect(), |(_, weight)| *weight),
            callers: heaviest(below.callers(function, &functions).filter(explains).collect(), |c| c.weight),
        }
    };
    let all = by_function.into_iter().map(hotspot).collect();
    Hotspots { whole, functions: heaviest(all, |hotspot| hotspot.weight) }
}

fn heaviest<T>(mut all: Vec<T>, weight: impl Fn(&T) -> u64) -> Vec<T> {
    all.sort_by_key(|one| std::cmp::Reverse(weight(one)));
    all
}
