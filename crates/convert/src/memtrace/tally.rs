//! What a memtrace file is a sample of: the figures that only such a file has.

use std::collections::BTreeMap;

use heapscribe_formats::memtrace::{Heap, Info};
use serde::Serialize;

/// Objects that were sampled, and samples in them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Sampled {
    /// Objects with at least one sample.
    pub objects: u64,
    /// Samples, of which an object may have several.
    pub samples: u64,
}

impl Sampled {
    /// Adds an object with this many samples.
    pub fn add(&mut self, samples: u64) {
        self.objects += 1;
        self.samples = self.samples.saturating_add(samples);
    }
}

/// The figures of a memtrace file.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Tally {
    /// Chance of each word to be sampled, 0 to 1.
    pub sample_rate: f64,
    /// Bytes of a word.
    pub word_bytes: u64,
    /// All objects.
    pub all: Sampled,
    /// Objects allocated in the minor heap.
    pub minor: Sampled,
    /// Objects allocated directly in the major heap.
    pub major: Sampled,
    /// Objects outside OCaml's heaps.
    pub external: Sampled,
    /// Objects that were promoted from the minor to the major heap.
    pub promoted: Sampled,
    /// Objects that were freed.
    pub collected: Sampled,
    /// Objects by the domain that allocated them.
    pub domains: BTreeMap<u16, Sampled>,
    /// Stacks that the file leaves out.
    pub hidden_stacks: u64,
}

impl Tally {
    /// A tally without objects, for a file with this header.
    pub fn new(info: &Info) -> Tally {
        Tally { sample_rate: info.sample_rate, word_bytes: info.word_bytes(), ..Tally::default() }
    }

    /// Counts an allocated object.
    pub fn alloc(&mut self, domain: u16, heap: Heap, samples: u64) {
        self.all.add(samples);
        self.domains.entry(domain).or_default().add(samples);
        match heap {
            Heap::Minor => self.minor.add(samples),
            Heap::Major => self.major.add(samples),
            Heap::External => self.external.add(samples),
        }
    }

    /// What of the file a native trace has no room for, in words.
    pub fn lost_in_native(&self) -> Vec<String> {
        let further = self.all.samples.saturating_sub(self.all.objects);
        let in_other_heaps = self.major.objects + self.external.objects;
        let lost = [
            (self.promoted.objects, "promotions, which a native trace cannot store"),
            (in_other_heaps, "objects outside the minor heap, which a native trace cannot tell from others"),
            (further, "samples beyond the first of an object, which a native trace cannot store"),
        ];
        lost.into_iter().filter(|(n, _)| *n != 0).map(|(n, what)| format!("{what}: {n}")).collect()
    }

    /// What that many samples stand for, bytes.
    pub fn bytes(&self, samples: u64) -> u64 {
        estimate_bytes(samples, self.sample_rate, self.word_bytes)
    }
}

/// Bytes that samples stand for at a rate per word.
pub fn estimate_bytes(samples: u64, rate: f64, word_bytes: u64) -> u64 {
    if rate > 0.0 { (samples as f64 / rate * word_bytes as f64).round() as u64 } else { 0 }
}
