//! The answer: blocks and bytes by key.

use crate::amount::Amount;
use crate::key::KeyId;

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

    /// Adds to a key; one that there is not, of a damaged index, is left out.
    #[inline(always)]
    pub(super) fn add(&mut self, key: u64, amount: Amount) {
        if let Some(of_key) = self.amounts.get_mut(key as usize) {
            of_key.add(amount);
        }
    }

    /// With others.
    pub(super) fn and(mut self, other: &Sums) -> Sums {
        self.amounts.iter_mut().zip(&other.amounts).for_each(|(of_key, amount)| of_key.add(*amount));
        self
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
