//! The figures of processes that a ring has evicted completely: what is left of them are sums. Each of them has to keep
//! each rule by itself, and of one of them a figure lies between what must be of one at least and what may be.

use heapscribe_analyze::answer::{Amount, CallTree, Frame, Node, NodeId};
use heapscribe_analyze::estimate::{Estimate, Figure};
use heapscribe_analyze::gathered::Gathered;
use heapscribe_formats::model::{EndedImages, Evicted, UNKNOWN};

use super::judge;
use super::rule::Rule;
use super::subject::{Leak, Subject};
use super::unit::Unit;
use super::verdict::Finding;
use heapscribe_units::counted;

/// What such processes are called.
pub fn name(evicted: &Evicted) -> String {
    counted(evicted.processes, "evicted process")
}

/// Why nothing is known of them, where nothing is.
pub fn why(evicted: &Evicted) -> String {
    format!("{} evicted from the ring", counted(evicted.events, "event"))
}

/// The outcome of rules that forbid calls, for them.
pub fn no_calls(rules: &[Rule], process: usize, evicted: &Evicted) -> Vec<Finding> {
    let no_calls = rules.iter().filter(|rule| matches!(rule, Rule::NoCalls(..)));
    no_calls.map(|rule| judge::undecided(rule, process, Unit::Calls, &why(evicted))).collect()
}

/// The figures; unless `has_all` only some of these processes may be meant, or none.
pub fn subject(evicted: &Evicted, has_all: bool, gathered: &mut Gathered) -> Subject {
    let EndedImages { images, leaked_blocks_min, leaked_bytes_min, one_peak_bytes, .. } = evicted.ended;
    if images < evicted.processes {
        return Subject { evicted: Some(why(evicted)), ..Subject::default() };
    }
    let of_one = |least_of_all: u64, most_of_one: u64| {
        let least = if has_all { least_of_all.div_ceil(images.max(1)) } else { 0 };
        figure(least, most_of_one)
    };
    let ended = &evicted.ended;
    let leaked = Estimate {
        samples: 0,
        blocks: of_one(leaked_blocks_min, ended.one_leaked_blocks),
        bytes: of_one(leaked_bytes_min, ended.one_leaked_bytes),
    };
    let allocated = Estimate {
        samples: 0,
        blocks: of_one(evicted.allocated_blocks, ended.one_allocated_blocks),
        bytes: of_one(evicted.allocated_bytes, ended.one_allocated_bytes),
    };
    let knows_peaks = ended.peaks_bytes != UNKNOWN;
    let amount = Amount { blocks: leaked_blocks_min, bytes: leaked_bytes_min };
    Subject {
        peak: figure(
            if has_all { one_peak_bytes } else { 0 },
            if knows_peaks { one_peak_bytes } else { UNKNOWN },
        ),
        leaked,
        allocated,
        leaks: leak(amount, leaked, gathered).into_iter().collect(),
        of_no_stack: amount,
        is_bounded: true,
        causes: vec![why(evicted)],
        evicted: Some(why(evicted)),
        untimed: Some("when evicted processes ran is not known".to_owned()),
        ..Subject::default()
    }
}

/// Their leaks are of stacks that are not known.
fn leak(amount: Amount, estimate: Estimate, gathered: &mut Gathered) -> Option<Leak> {
    let evicted = Node { parent: NodeId::ROOT, frame: Frame::EVICTED };
    let tree = CallTree { nodes: vec![Node::default(), evicted], modules: Vec::new() };
    (estimate.blocks.high > 0.0).then(|| Leak {
        stack: gathered.stack(&tree, NodeId(1)),
        amount,
        estimate,
        suppressed: None,
        is_of_no_stack: true,
    })
}

fn figure(low: u64, high: u64) -> Figure {
    let high = if high == UNKNOWN { f64::INFINITY } else { high.max(low) as f64 };
    Figure { value: low as f64, variance: 0.0, low: low as f64, high }
}
