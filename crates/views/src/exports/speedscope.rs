//! speedscope's own format: a profile of samples for each figure, each stack with its weight.
//!
//! What speedscope does not have stands in the name of a profile: whether figures are estimates.

use std::collections::HashMap;

use heapscribe_analyze::measure::Measure;
use heapscribe_symbols::NamedFrame;
use serde::Serialize;

use super::stacks::ExportedStacks;
use crate::text::tables::estimated;

#[derive(Serialize)]
struct File {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: String,
    exporter: String,
    #[serde(rename = "activeProfileIndex")]
    active: usize,
    shared: Shared,
    profiles: Vec<Profile>,
}

#[derive(Serialize)]
struct Shared {
    frames: Vec<Frame>,
}

#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
struct Frame {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
struct Profile {
    r#type: &'static str,
    name: String,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start: u64,
    #[serde(rename = "endValue")]
    end: u64,
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

/// The file, with a profile for each of these figures that any stack has.
///
/// # Errors
/// None that a stack could cause.
pub fn file(stacks: &ExportedStacks<'_>, measures: &[(Measure, &str)]) -> serde_json::Result<Vec<u8>> {
    let mut frames = Frames::default();
    let profile = |(measure, title): &(Measure, &str)| profile(stacks, *measure, title, &mut frames);
    let profiles: Vec<Profile> = measures.iter().map(profile).filter(|of| !of.weights.is_empty()).collect();
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        name: stacks.command(),
        exporter: format!("heapscribe {}", env!("CARGO_PKG_VERSION")),
        active: 0,
        shared: Shared { frames: frames.all },
        profiles,
    };
    serde_json::to_vec(&file)
}

fn profile(stacks: &ExportedStacks<'_>, measure: Measure, title: &str, frames: &mut Frames) -> Profile {
    let with_weights = stacks.answer.stacks.iter().map(|stack| (stack.node, measure.of(stack)));
    let with_weights: Vec<_> = with_weights.filter(|(_, weight)| *weight > 0).collect();
    let sample = |(node, _): &(_, u64)| {
        stacks.frames(*node).into_iter().rev().map(|frame| frames.number(frame)).collect()
    };
    Profile {
        r#type: "sampled",
        name: estimated(stacks.answer, title),
        unit: if measure.counts_blocks() { "none" } else { "bytes" },
        start: 0,
        end: with_weights.iter().map(|(_, weight)| weight).sum(),
        samples: with_weights.iter().map(sample).collect(),
        weights: with_weights.iter().map(|(_, weight)| *weight).collect(),
    }
}

/// The frames that all profiles share.
#[derive(Default)]
struct Frames {
    all: Vec<Frame>,
    numbers: HashMap<Frame, usize>,
}

impl Frames {
    fn number(&mut self, frame: NamedFrame) -> usize {
        let frame = Frame { name: frame.name(), file: frame.file, line: frame.line };
        *self.numbers.entry(frame).or_insert_with_key(|frame| {
            self.all.push(frame.clone());
            self.all.len() - 1
        })
    }
}
