//! The plot of a comparison: live bytes and footprints over time, two heaps per panel, and fragmentation where
//! a heap reports it.

use heapscribe_replay::Moment;

use super::compare::{Comparison, Heap};
use heapscribe_units as units;
use heapscribe_views::pictures::{Clock, Panel, Picture, Series, Style, Unit};

/// The picture of a comparison.
pub(crate) fn picture(comparison: &Comparison) -> Picture {
    let heaps: Vec<&Heap> = comparison.heaps.iter().filter(|h| !h.footprint.moments.is_empty()).collect();
    let ends = heaps.iter().filter_map(|heap| heap.footprint.moments.last()).map(|moment| moment.ns);
    let peak = units::short_bytes(comparison.peak_live_bytes);
    let doubt = if comparison.process.estimate.is_empty() { "" } else { ", an estimate" };
    Picture {
        title: comparison.process.name(),
        subtitle: format!("the same calls on other heaps; peak {peak} live{doubt}"),
        clock: Clock::Seconds,
        seconds: seconds(ends.max().unwrap_or(0)),
        panels: heaps.chunks(2).map(panel).chain(torn(&heaps)).collect(),
        marks: Vec::new(),
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn series(name: &str, style: Style, heap: &Heap, of: fn(&Moment) -> u64) -> Series {
    let points = heap.footprint.moments.iter().map(|m| (seconds(m.ns), Some(of(m) as f64))).collect();
    Series { name: name.to_owned(), style, points }
}

/// Of the first heap that knows it.
fn torn(heaps: &[&Heap]) -> Option<Panel> {
    let heap = heaps.iter().find(|heap| heap.torn_max_bytes.is_some())?;
    Some(Panel {
        title: "Free bytes outside the largest free block".to_owned(),
        unit: Unit::Bytes,
        series: vec![series(&heap.name, Style::Area, heap, Moment::torn_bytes)],
    })
}

fn panel(heaps: &[&Heap]) -> Panel {
    let names: Vec<&str> = heaps.iter().map(|heap| heap.name.as_str()).collect();
    let live = heaps.first().map(|heap| series("live", Style::Area, heap, |m| m.live_bytes));
    let each = heaps.iter().zip([Style::Line, Style::Dashed]);
    let each = each.map(|(heap, style)| series(&heap.name, style, heap, |m| m.footprint_bytes));
    Panel {
        title: format!("Footprint of {}", names.join(" and ")),
        unit: Unit::Bytes,
        series: live.into_iter().chain(each).collect(),
    }
}
