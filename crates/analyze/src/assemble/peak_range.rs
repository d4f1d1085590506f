//! What was live at the moments that the halves of a sample have chosen, of all processes together, and the ranges
//! at the peak that follow from it: see [`crate::sampling::peak_range`].

use std::collections::BTreeMap;

use heapscribe_wire::ids::StackId;

use super::amounts::{ByNode, add};
use crate::answer::NodeId;
use crate::answer::estimate::{Estimate, Figure};
use crate::peak::{Held, Holding};
use crate::sampling::peak_range::{AtChosen, of_peak};
use crate::sampling::{Half, Moment, Moments};

/// What was live when each half of the sample has its peak; the first half's first.
#[derive(Default)]
pub(super) struct PeakRanges {
    halves: [AtHalf; 2],
}

#[derive(Default)]
struct AtHalf {
    all: Held,
    held: ByNode,
    stacks: BTreeMap<NodeId, Moments>,
    sampled: Moments,
}

/// The higher or the lower of two.
type Choose = fn(f64, f64) -> f64;

impl PeakRanges {
    /// Takes what was live of a process.
    pub(super) fn take(&mut self, at_halves: &[Holding; 2], node_of: impl Fn(&StackId) -> NodeId) {
        for (mine, holding) in self.halves.iter_mut().zip(at_halves) {
            mine.all.add(&holding.rest);
            for (stack, held) in &holding.held {
                mine.all.add(held);
                add(&mut mine.held, node_of(stack), *held);
            }
            for (stack, moments) in holding.sampled.stacks.rows() {
                mine.stacks.entry(node_of(stack)).or_default().add(moments);
            }
            holding.sampled.classes.values().for_each(|moments| mine.sampled.add(moments));
        }
    }

    /// The peak with the range that it lies in.
    pub(super) fn of_all(&self, estimate: Estimate) -> Estimate {
        let least = |of: fn(&Moments) -> Moment, value: fn(&Held) -> i64, choose: Choose| {
            let at = |at: &AtHalf| (value(&at.all), of(&at.sampled));
            self.least(at, choose)
        };
        let blocks = least(|moments| moments.blocks, |held| held.blocks, f64::min);
        let bytes = least(|moments| moments.bytes, |held| held.bytes, f64::max);
        Estimate {
            blocks: of_peak(estimate.blocks, blocks),
            bytes: of_peak(estimate.bytes, bytes),
            ..estimate
        }
    }

    /// What a stack has of it.
    pub(super) fn of_stack(&self, node: NodeId, estimate: Estimate) -> Estimate {
        let of = |figure: Figure, of: fn(&Moments) -> Moment, value: fn(&Held) -> i64| {
            let at = |at: &AtHalf| {
                (at.held.get(&node).map_or(0, value), at.stacks.get(&node).map(of).unwrap_or_default())
            };
            of_peak(figure, self.least(at, f64::min).min(figure.low))
        };
        Estimate {
            blocks: of(estimate.blocks, |moments| moments.blocks, |held| held.blocks),
            bytes: of(estimate.bytes, |moments| moments.bytes, |held| held.bytes),
            ..estimate
        }
    }

    /// The least value of a figure, of which this is what was live at the moment that a half chose, and what of it was
    /// sampled.
    fn least(&self, at: impl Fn(&AtHalf) -> (i64, Moment), choose: Choose) -> f64 {
        let least = |half, chosen_by| {
            let (value, sampled) = at(half);
            AtChosen { chosen_by, value: value as f64, sampled }.least()
        };
        let [first, second] = &self.halves;
        choose(least(first, Half::First), least(second, Half::Second))
    }
}
