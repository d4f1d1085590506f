//! Of what resident memory was made over time, in JSON.

use heapscribe_analyze::memory::PartName;
use heapscribe_formats::{ResidentSample, SectionLeft};
use serde::Serialize;

/// A sample.
#[derive(Serialize)]
pub struct ResidentJson {
    time_ns: u64,
    resident_bytes: u64,
    pinned_bytes: u64,
    sampled: bool,
    parts: Vec<PartJson>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sections: Vec<SectionLeftJson>,
}

/// A section that had ended: its name and thread by their numbers, times in ticks of the process.
#[derive(Serialize)]
struct SectionLeftJson {
    name: u32,
    thread: u32,
    begin_ticks: u64,
    end_ticks: u64,
    blocks: u64,
    live_bytes: u64,
    pinned_bytes: u64,
}

impl From<&SectionLeft> for SectionLeftJson {
    fn from(of: &SectionLeft) -> SectionLeftJson {
        SectionLeftJson {
            name: of.name.0,
            thread: of.thread.0,
            begin_ticks: of.begin_ticks,
            end_ticks: of.end_ticks,
            blocks: of.blocks,
            live_bytes: of.bytes,
            pinned_bytes: of.pinned_bytes,
        }
    }
}

/// A part of it.
#[derive(Serialize)]
struct PartJson {
    name: &'static str,
    bytes: u64,
}

impl ResidentJson {
    /// That of a moment, ns.
    pub fn new(sample: &ResidentSample, time_ns: u64) -> ResidentJson {
        let parts = PartName::ALL.iter().zip(sample.parts);
        let shown = parts.filter(|(part, bytes)| *bytes > 0 || **part == PartName::Unexplained);
        ResidentJson {
            time_ns,
            resident_bytes: sample.resident_bytes,
            pinned_bytes: sample.pinned_bytes,
            sampled: sample.is_sampled,
            parts: shown.map(|(part, bytes)| PartJson { name: part.key(), bytes }).collect(),
            sections: sample.sections.iter().map(SectionLeftJson::from).collect(),
        }
    }

    /// All of a process, whose recording began at this moment.
    pub fn all(samples: &[ResidentSample], begin_mono_ns: u64) -> Vec<ResidentJson> {
        samples.iter().map(|of| ResidentJson::new(of, of.mono_ns.saturating_sub(begin_mono_ns))).collect()
    }
}
