//! The figures of a question, on the calls that allocated: what all views of it are made of.

use heapscribe_analyze::answer::Amount;

use super::calls::Calls;
use super::nodes::CallId;
use super::reshape::Reshaped;

/// What each node allocated itself, and with all that it calls.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Own {
    own: Vec<Amount>,
    inclusive: Vec<Amount>,
}

impl Own {
    /// Adds up amounts of stacks by the nodes in which these end.
    pub(crate) fn new(calls: &Calls, amounts: impl Iterator<Item = (CallId, Amount)>) -> Own {
        let mut own = vec![Amount::default(); calls.nodes().len()];
        for (tip, amount) in amounts {
            own[tip.0 as usize].add(&amount);
        }
        Own { inclusive: inclusive(calls, &own), own }
    }

    /// The same on calls that are drawn otherwise.
    pub(crate) fn reshaped(&self, shape: &Reshaped) -> Own {
        Own::new(&shape.calls, self.allocating().map(|(id, amount)| (shape.to(id), amount)))
    }

    /// What a node allocated itself.
    pub(crate) fn own(&self, id: CallId) -> Amount {
        self.own[id.0 as usize]
    }

    /// What it allocated with all that it calls.
    pub(crate) fn inclusive(&self, id: CallId) -> Amount {
        self.inclusive[id.0 as usize]
    }

    /// All together.
    pub(crate) fn total(&self) -> Amount {
        self.inclusive.first().copied().unwrap_or_default()
    }

    /// The nodes that allocated anything themselves.
    pub(crate) fn allocating(&self) -> impl Iterator<Item = (CallId, Amount)> {
        let all = (0..).map(CallId).zip(self.own.iter().copied());
        all.filter(|(_, amount)| *amount != Amount::default())
    }
}

fn inclusive(calls: &Calls, own: &[Amount]) -> Vec<Amount> {
    let mut sums = own.to_vec();
    for n in (1..sums.len()).rev() {
        let sum = sums[n];
        sums[calls.nodes()[n].caller.0 as usize].add(&sum);
    }
    sums
}

/// The figures that are shown, and those that they are compared with.
#[derive(Clone, Copy)]
pub(crate) struct Figures<'a> {
    pub(crate) own: &'a Own,
    pub(crate) before: Option<&'a Own>,
}

impl Figures<'_> {
    /// What a node was before, with all that it calls.
    pub(super) fn before(&self, id: CallId) -> Amount {
        self.before.map_or(Amount::default(), |before| before.inclusive(id))
    }

    /// Whether a node has anything in either of them.
    pub(super) fn has(&self, id: CallId) -> bool {
        self.own.inclusive(id) != Amount::default() || self.before(id) != Amount::default()
    }
}

/// Sums of a recording that is not damaged are never below 0.
pub(crate) fn plain(amount: heapscribe_index::Amount) -> Amount {
    let number = |n: i64| u64::try_from(n).unwrap_or(0);
    Amount { blocks: number(amount.blocks), bytes: number(amount.bytes) }
}
