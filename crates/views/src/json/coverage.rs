//! How much of the growth of memory a recording explains, in JSON.

use heapscribe_analyze::answer::Coverage;
use serde::Serialize;

use crate::coverage::{Explained, UnseenHeap};

/// `coverage` of a report.
#[derive(Serialize)]
pub struct CoverageJson {
    #[serde(flatten)]
    growth: GrowthJson,
    unseen_heaps: Vec<UnseenHeapJson>,
}

/// The same of a process.
#[derive(Serialize)]
pub(super) struct GrowthJson {
    share: Option<f64>,
    growth_bytes: u64,
    heap_bytes: u64,
    #[serde(skip_serializing_if = "is_none")]
    mapped_bytes: u64,
}

/// Nothing was recorded of it.
fn is_none(bytes: &u64) -> bool {
    *bytes == 0
}

/// A heap that is not recorded.
#[derive(Serialize)]
pub(super) struct UnseenHeapJson {
    name: &'static str,
    file: String,
    hint: &'static str,
}

impl From<&Explained> for CoverageJson {
    fn from(of: &Explained) -> CoverageJson {
        CoverageJson {
            growth: (&of.coverage).into(),
            unseen_heaps: of.heaps.iter().map(Into::into).collect(),
        }
    }
}

impl From<&Coverage> for GrowthJson {
    fn from(of: &Coverage) -> GrowthJson {
        // More digits would say more than is known.
        let share = of.share().map(|share| (share * 1000.0).round() / 1000.0);
        let Coverage { growth_bytes, heap_bytes, mapped_bytes } = *of;
        GrowthJson { share, growth_bytes, heap_bytes, mapped_bytes }
    }
}

impl From<&UnseenHeap> for UnseenHeapJson {
    fn from(of: &UnseenHeap) -> UnseenHeapJson {
        UnseenHeapJson { name: of.name, file: of.file.clone(), hint: of.hint }
    }
}
