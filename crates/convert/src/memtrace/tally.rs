//! What a memtrace file is a sample of: the figures that only such a file has.

use std::collections::BTreeMap;

use heapscribe_formats::memtrace::{Heap, Info};
use serde::Serialize;

/// Objects that were sampled, and samples in them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Sampled {
    pub objects: u64,
    pub samples: u64,
}

impl Sampled {
    pub fn add(&mut self, samples: u64) {
        self.objects += 1;
        self.samples = self.samples.saturating_add(samples);
    }
}

/// The figures of a memtrace file.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Tally {
    pub sample_rate: f64,
    pub word_bytes: u64,
    pub all: Sampled,
    pub minor: Sampled,
    pub major: Sampled,
    pub external: Sampled,
    pub promoted: Sampled,
    pub collected: Sampled,
    pub domains: BTreeMap<u16, Sampled>,
    /// Stacks that the file does not tell.
    pub hidden_stacks: u64,
}

impl Tally {
    pub fn new(info: &Info) -> Tally {
        Tally { sample_rate: info.sample_rate, word_bytes: info.word_bytes(), ..Tally::default() }
    }

    pub fn alloc(&mut self, domain: u16, heap: Heap, samples: u64) {
        self.all.add(samples);
        self.domains.entry(domain).or_default().add(samples);
        match heap {
            Heap::Minor => self.minor.add(samples),
            Heap::Major => self.major.add(samples),
            Heap::External => self.external.add(samples),
        }
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
