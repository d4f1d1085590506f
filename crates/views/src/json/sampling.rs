//! How sure the figures of a sampled recording are.

use heapscribe_analyze::estimate::{Estimate, Figure, Sampling, StackEstimates};
use serde::Serialize;

/// Of the whole recording.
#[derive(Serialize)]
pub struct SamplingJson {
    mean_bytes: Vec<u64>,
    samples: u64,
    exact_blocks: u64,
    unseen_below_bytes: u64,
    allocated: EstimateJson,
    freed: EstimateJson,
    peak: EstimateJson,
    leaked: EstimateJson,
    temporary: EstimateJson,
}

impl From<&Sampling> for SamplingJson {
    fn from(s: &Sampling) -> Self {
        SamplingJson {
            mean_bytes: s.mean_bytes.clone(),
            samples: s.samples,
            exact_blocks: s.exact_blocks,
            unseen_below_bytes: s.unseen_below_bytes(),
            allocated: (&s.allocated).into(),
            freed: (&s.freed).into(),
            peak: (&s.peak).into(),
            leaked: (&s.leaked).into(),
            temporary: (&s.temporary).into(),
        }
    }
}

/// Of one stack.
#[derive(Serialize)]
pub struct StackSamplingJson {
    allocated: EstimateJson,
    freed: EstimateJson,
    peak: EstimateJson,
    leaked: EstimateJson,
    temporary: EstimateJson,
}

impl From<&StackEstimates> for StackSamplingJson {
    fn from(s: &StackEstimates) -> Self {
        StackSamplingJson {
            allocated: (&s.allocated).into(),
            freed: (&s.freed).into(),
            peak: (&s.at_peak).into(),
            leaked: (&s.leaked).into(),
            temporary: (&s.temporary).into(),
        }
    }
}

/// A number of blocks and of their bytes.
#[derive(Serialize)]
pub struct EstimateJson {
    samples: u64,
    blocks: FigureJson,
    bytes: FigureJson,
}

impl From<&Estimate> for EstimateJson {
    fn from(e: &Estimate) -> Self {
        EstimateJson { samples: e.samples, blocks: (&e.blocks).into(), bytes: (&e.bytes).into() }
    }
}

/// To a tenth: more digits would say more than is known.
#[derive(Serialize)]
struct FigureJson {
    estimate: f64,
    standard_error: f64,
    interval: [f64; 2],
}

impl From<&Figure> for FigureJson {
    fn from(f: &Figure) -> Self {
        let round = |figure: f64| (figure * 10.0).round() / 10.0;
        FigureJson {
            estimate: round(f.value),
            standard_error: round(f.standard_error()),
            interval: [round(f.low), round(f.high)],
        }
    }
}
