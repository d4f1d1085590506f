//! The pages of a snapshot: of what the resident memory is made, a map of the heap, and the stacks whose blocks are in some
//! of its pages.

use std::collections::HashMap;

use heapscribe_analyze::answer::{Amount, Answer, NodeId};
use heapscribe_analyze::memory::{self, HeapPart, Memory, PageMap};
use heapscribe_analyze::snapshot;
use heapscribe_convert::Opened;
use heapscribe_views::text::memory::words_of;
use serde::Serialize;

use super::answered::NoAnswer;
use crate::http::Query;
use crate::model::{Calls, Own, PAGE_STACKS_MAX, StackRows, Unit, stacks};

/// What was read of a snapshot.
pub(super) struct Pages {
    memory: Memory,
    map: PageMap,
}

/// The answer.
#[derive(Serialize, Default)]
pub(super) struct PageRows {
    page_bytes: u64,
    cell_pages: u64,
    resident_bytes: u64,
    /// Of what the resident memory is made: names that do not change, in words, and bytes.
    part: Vec<&'static str>,
    part_name: Vec<String>,
    part_bytes: Vec<u64>,
    is_heap: Vec<bool>,
    /// What is in nearly empty pages, which is charged to those who keep them.
    pinned_bytes: u64,
    /// Cells by address: the number of the first page, and what is in them.
    page: Vec<u64>,
    kind: Vec<&'static str>,
    resident: Vec<u64>,
    used: Vec<u64>,
    live: Vec<u64>,
    blocks: Vec<u64>,
    youngest_ns: Vec<Option<u64>>,
    oldest_ns: Vec<Option<u64>>,
    /// Whether blocks were sampled: then a page may have blocks that nobody saw.
    is_sampled: bool,
    problems: Vec<String>,
}

/// Stacks, and what they have in some pages, or what they keep of those that are nearly empty.
#[derive(Serialize)]
pub(super) struct StacksOfPages {
    total_bytes: u64,
    #[serde(flatten)]
    rows: StackRows,
}

/// Whether a snapshot has pages.
pub(super) fn has_pages(trace: &Opened) -> bool {
    snapshot::is_one(&**trace) && trace.processes().iter().any(|of| !of.memory_maps.is_empty())
}

/// A number of a query.
fn number(query: &Query, name: &str) -> Result<Option<u64>, NoAnswer> {
    let Some(text) = query.get(name) else { return Ok(None) };
    let refused = |_| NoAnswer::Refused(format!("`{name}` is not the number `{text}`"));
    text.parse().map(Some).map_err(refused)
}

impl Pages {
    /// Reads them, where there are any.
    pub(super) fn read(trace: &Opened) -> Option<Pages> {
        let snapshot = snapshot::analyze(&**trace).into_iter().next()?;
        let memory = memory::analyze(&**trace, &snapshot).ok().flatten()?;
        let map = memory::page_map(&**trace, &snapshot).ok().flatten()?;
        Some(Pages { memory, map })
    }

    /// The map, and the parts of the resident memory.
    pub(super) fn rows(&self) -> PageRows {
        let Pages { memory, map } = self;
        let (parts, cells) = (&memory.parts, &map.cells);
        PageRows {
            page_bytes: map.page_bytes,
            cell_pages: map.cell_pages,
            resident_bytes: memory.resident_bytes,
            part: parts.iter().map(|part| part.name.key()).collect(),
            part_name: parts.iter().map(|part| words_of(part.name, memory.map.heap)).collect(),
            part_bytes: parts.iter().map(|part| part.bytes).collect(),
            is_heap: parts.iter().map(|part| part.name.is_heap()).collect(),
            pinned_bytes: memory.pinned_bytes(),
            page: cells.iter().map(|cell| cell.page).collect(),
            kind: cells.iter().map(|cell| HeapPart::key(cell.part)).collect(),
            resident: cells.iter().map(|cell| cell.resident_bytes).collect(),
            used: cells.iter().map(|cell| cell.used_bytes).collect(),
            live: cells.iter().map(|cell| cell.live_bytes).collect(),
            blocks: cells.iter().map(|cell| cell.blocks).collect(),
            youngest_ns: cells.iter().map(|cell| cell.youngest_ns).collect(),
            oldest_ns: cells.iter().map(|cell| cell.oldest_ns).collect(),
            is_sampled: memory.is_sampled,
            problems: memory.problems.clone(),
        }
    }

    /// The stacks of `page` and `pages`, or, without, those that keep nearly empty pages, and how much of these.
    pub(super) fn stacks(
        &self,
        query: &Query,
        answer: &Answer,
        calls: &Calls,
    ) -> Result<StacksOfPages, NoAnswer> {
        let Pages { memory, map } = self;
        let amounts: Vec<(NodeId, Amount)> = match (number(query, "page")?, number(query, "pages")?) {
            (Some(page), pages) => map.stacks_in(page, pages.unwrap_or(map.cell_pages)),
            (None, _) => {
                let pinned = memory.pinned.iter();
                pinned.map(|of| (of.node, Amount { blocks: of.blocks, bytes: of.resident_bytes })).collect()
            }
        };
        let nodes = answer.stacks.iter().map(|stack| stack.node);
        let tips: HashMap<NodeId, _> = nodes.zip(calls.tips().iter().copied()).collect();
        let tip = |node: &NodeId| tips.get(node).copied().unwrap_or(calls.unknown());
        let own = Own::new(calls, amounts.iter().map(|(node, amount)| (tip(node), *amount)));
        let rows = stacks(calls, &own, Unit::Bytes, PAGE_STACKS_MAX);
        Ok(StacksOfPages { total_bytes: own.total().bytes, rows })
    }
}
