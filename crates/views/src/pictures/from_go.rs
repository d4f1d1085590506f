//! What is drawn of a Go trace: live bytes, the collector's goal, and the collections as marks.

use heapscribe_analyze::go::{CurveStep, GoAnswer};
use heapscribe_units::counted;

use super::picture::{Clock, Panel, Picture, Series, Style, Unit};

/// Collections that are marked; more would hide the curve.
const MARKS_MAX: usize = 20;

/// The picture of an answer. Without the clock's rate a tick counts as a nanosecond, which the subtitle says.
pub fn picture_of_go(answer: &GoAnswer, trace: &str) -> Picture {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let curve = &answer.curve;
    let series = |name: &str, style, of: fn(&CurveStep) -> u64| {
        let point = |(n, step): (usize, &CurveStep)| {
            let time = seconds(curve.step_ns.saturating_mul(n as u64));
            // Nothing is known before the first event that tells it.
            (time, Some(of(step)).filter(|bytes| *bytes != 0).map(|bytes| bytes as f64))
        };
        Series { name: name.to_owned(), style, points: curve.steps.iter().enumerate().map(point).collect() }
    };
    let all = &answer.collections.list;
    let marked = if all.len() <= MARKS_MAX { all.as_slice() } else { &[] };
    Picture {
        title: trace.to_owned(),
        subtitle: subtitle(answer),
        clock: Clock::Seconds,
        seconds: seconds(answer.duration_ns),
        panels: vec![Panel {
            title: "Heap of Go".to_owned(),
            unit: Unit::Bytes,
            series: vec![
                series("live", Style::Area, |step| step.live_max_bytes),
                series("goal", Style::Dashed, |step| step.goal_bytes),
            ],
        }],
        marks: marked.iter().map(|collection| (seconds(collection.begin_ns), "GC".to_owned())).collect(),
    }
}

fn subtitle(answer: &GoAnswer) -> String {
    let clock = if answer.has_clock { "" } else { ", times are ticks" };
    format!("{} trace, {}{clock}", answer.version, counted(answer.collections.work.count, "collection"))
}
