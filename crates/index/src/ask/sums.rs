//! The answer: blocks and bytes by key, or the total of some keys.

use crate::amount::Amount;
use crate::key::KeyId;

/// What an answer is gathered in.
pub(super) trait Gather: Clone + Send + Sync {
    /// Adds to a key; one that there is not, of a damaged index, is left out.
    fn add(&mut self, key: u64, amount: Amount);

    /// With others.
    #[must_use]
    fn and(self, other: &Self) -> Self;
}

/// The total of the keys that are wanted.
#[derive(Clone, Debug)]
pub(super) struct Total<'a> {
    amount: Amount,
    /// By number; all of them if there are none.
    wanted: Option<&'a [bool]>,
}

impl<'a> Total<'a> {
    pub(super) fn new(wanted: Option<&'a [bool]>) -> Total<'a> {
        Total { amount: Amount::default(), wanted }
    }

    pub(super) fn amount(&self) -> Amount {
        self.amount
    }
}

impl Gather for Total<'_> {
    #[inline(always)]
    fn add(&mut self, key: u64, amount: Amount) {
        if self.wanted.is_none_or(|wanted| wanted.get(key as usize) == Some(&true)) {
            self.amount.add(amount);
        }
    }

    fn and(mut self, other: &Self) -> Self {
        self.amount.add(other.amount);
        self
    }
}

/// Blocks and bytes by key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sums {
    amounts: Vec<Amount>,
}

impl Sums {
    /// Of so many keys.
    pub(super) fn new(keys: usize) -> Sums {
        Sums { amounts: vec![Amount::default(); keys] }
    }

    /// Keys that have anything.
    pub fn iter(&self) -> impl Iterator<Item = (KeyId, Amount)> {
        let all = self.amounts.iter().enumerate();
        all.filter(|(_, amount)| !amount.is_zero()).map(|(n, amount)| (KeyId(n as u32), *amount))
    }

    /// All together.
    pub fn total(&self) -> Amount {
        let mut total = Amount::default();
        self.amounts.iter().for_each(|amount| total.add(*amount));
        total
    }

    /// Keeps only these keys.
    pub fn retain(&mut self, mut keep: impl FnMut(KeyId) -> bool) {
        for (n, amount) in self.amounts.iter_mut().enumerate() {
            if !amount.is_zero() && !keep(KeyId(n as u32)) {
                *amount = Amount::default();
            }
        }
    }
}

impl Gather for Sums {
    #[inline(always)]
    fn add(&mut self, key: u64, amount: Amount) {
        if let Some(of_key) = self.amounts.get_mut(key as usize) {
            of_key.add(amount);
        }
    }

    fn and(mut self, other: &Sums) -> Sums {
        self.amounts.iter_mut().zip(&other.amounts).for_each(|(of_key, amount)| of_key.add(*amount));
        self
    }
}
