//! What a memtrace file is a sample of: the figures that only such a file has.

use std::collections::BTreeMap;
use std::io::{self, Write};

use heapscribe_formats::memtrace::{Heap, Info};
use serde::Serialize;

/// Objects that were sampled, and samples in them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub(crate) struct Sampled {
    pub(crate) objects: u64,
    pub(crate) samples: u64,
}

impl Sampled {
    pub(crate) fn add(&mut self, samples: u64) {
        self.objects += 1;
        self.samples = self.samples.saturating_add(samples);
    }
}

/// The figures of a memtrace file.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub(crate) struct Tally {
    pub(crate) sample_rate: f64,
    pub(crate) word_bytes: u64,
    pub(crate) all: Sampled,
    pub(crate) minor: Sampled,
    pub(crate) major: Sampled,
    pub(crate) external: Sampled,
    pub(crate) promoted: Sampled,
    pub(crate) collected: Sampled,
    pub(crate) domains: BTreeMap<u16, Sampled>,
    /// Stacks that the file does not tell.
    pub(crate) hidden_stacks: u64,
}

impl Tally {
    pub(crate) fn new(info: &Info) -> Tally {
        Tally { sample_rate: info.sample_rate, word_bytes: info.word_bytes(), ..Tally::default() }
    }

    pub(crate) fn alloc(&mut self, domain: u16, heap: Heap, samples: u64) {
        self.all.add(samples);
        self.domains.entry(domain).or_default().add(samples);
        match heap {
            Heap::Minor => self.minor.add(samples),
            Heap::Major => self.major.add(samples),
            Heap::External => self.external.add(samples),
        }
    }

    /// What that many samples stand for, bytes.
    pub(crate) fn bytes(&self, samples: u64) -> u64 {
        estimate_bytes(samples, self.sample_rate, self.word_bytes)
    }

    /// Prints it as a part of a report.
    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let line = |out: &mut dyn Write, name: &str, of: Sampled| {
            let part = 100.0 * of.samples as f64 / self.all.samples.max(1) as f64;
            let bytes = crate::text::number::bytes(self.bytes(of.samples));
            writeln!(out, "  {name:<12} {:>10} objects {bytes:>12} {part:>6.1} %", of.objects)
        };
        writeln!(
            out,
            "\nA SAMPLE by memtrace with a rate of {} per word: bytes are estimates, blocks are the",
            self.sample_rate
        )?;
        writeln!(out, "sampled objects")?;
        for (name, of) in [
            ("all", self.all),
            ("minor heap", self.minor),
            ("major heap", self.major),
            ("external", self.external),
            ("promoted", self.promoted),
            ("collected", self.collected),
        ] {
            line(out, name, of)?;
        }
        for (domain, of) in self.domains.iter().filter(|_| self.domains.len() > 1) {
            line(out, &format!("domain {domain}"), *of)?;
        }
        if self.hidden_stacks != 0 {
            writeln!(out, "  stacks missing because they were too deep: {}", self.hidden_stacks)?;
        }
        Ok(())
    }
}

/// Bytes that samples stand for at a rate per word.
pub(crate) fn estimate_bytes(samples: u64, rate: f64, word_bytes: u64) -> u64 {
    if rate > 0.0 { (samples as f64 / rate * word_bytes as f64).round() as u64 } else { 0 }
}
