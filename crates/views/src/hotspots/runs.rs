//! Stacks come in, runs of their calls are counted.

use std::collections::{HashMap, HashSet};

use heapscribe_analyze::heavy_hitters::Heavy;

/// A run of names, outermost first, by their numbers.
pub type Run = Vec<u32>;

/// Frames of different stacks that are gathered before they are counted.
const BATCH_FRAMES: usize = 1 << 20;

/// What was counted so far.
pub struct Runs {
    heavy: Heavy<Run>,
    whole: u64,
    /// Calls of a run, at most.
    length: usize,
    numbers: HashMap<String, u32>,
    names: Vec<String>,
    /// Stacks that are not counted yet: each is taken apart once for all its events.
    batch: HashMap<Run, u64>,
    batch_frames: usize,
}

impl Runs {
    /// Keeps this many runs of up to so many calls.
    pub fn new(entries: usize, length: usize) -> Runs {
        Runs {
            heavy: Heavy::new(entries),
            whole: 0,
            length,
            numbers: HashMap::new(),
            names: Vec::new(),
            batch: HashMap::new(),
            batch_frames: 0,
        }
    }

    /// The number of a name.
    pub fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// The name of a number that [`Self::number`] gave.
    pub fn name(&self, number: u32) -> &str {
        &self.names[number as usize]
    }

    /// Adds weight to a stack, outermost first.
    pub fn add(&mut self, stack: &[u32], weight: u64) {
        self.whole = self.whole.saturating_add(weight);
        if let Some(sum) = self.batch.get_mut(stack) {
            *sum = sum.saturating_add(weight);
            return;
        }
        self.batch_frames += stack.len() + 1;
        self.batch.insert(stack.to_vec(), weight);
        if self.batch_frames > BATCH_FRAMES {
            self.count_batch();
        }
    }

    fn count_batch(&mut self) {
        self.batch_frames = 0;
        let mut seen = HashSet::new();
        // In an order of their own, so that the same trace gives the same answer.
        let mut batch: Vec<_> = self.batch.drain().collect();
        batch.sort_unstable();
        for (stack, weight) in &batch {
            // A run that a stack has several times, by recursion, has its weight once.
            seen.clear();
            for begin in 0..stack.len() {
                for end in begin + 1..=(begin + self.length).min(stack.len()) {
                    if seen.insert(&stack[begin..end]) {
                        self.heavy.add(&stack[begin..end].to_vec(), *weight);
                    }
                }
            }
        }
    }

    /// The heaviest runs, heaviest first.
    pub fn heaviest(&mut self) -> Vec<(Run, u64)> {
        self.count_batch();
        self.heavy.heaviest()
    }

    /// What a run may have more than was counted, at most.
    pub fn error(&mut self) -> u64 {
        self.count_batch();
        self.heavy.error()
    }

    /// The weight of all stacks.
    pub fn whole(&self) -> u64 {
        self.whole
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn true_weights_of_runs_lie_within_the_bounds(
            stacks in prop::collection::vec((prop::collection::vec(0u32..6, 0..7), 0u64..100), 0..60),
            entries in 1usize..40,
            length in 1usize..4,
        ) {
            let (mut runs, mut truth) = (Runs::new(entries, length), BTreeMap::<Run, u64>::new());
            for (stack, weight) in &stacks {
                runs.add(stack, *weight);
                let all = (1..=length).flat_map(|n| stack.windows(n)).map(<[u32]>::to_vec);
                let different: HashSet<_> = all.collect();
                different.into_iter().for_each(|run| *truth.entry(run).or_default() += weight);
            }
            let (found, error): (BTreeMap<_, _>, _) = (runs.heaviest().into_iter().collect(), runs.error());
            prop_assert!(found.len() <= 2 * entries);
            prop_assert_eq!(runs.whole(), stacks.iter().map(|(_, weight)| weight).sum::<u64>());
            for (run, weight) in truth {
                let counted = found.get(&run).copied().unwrap_or(0);
                prop_assert!(counted <= weight && weight <= counted + error, "{:?}: {} {} {}", run, counted, weight, error);
            }
        }
    }
}
