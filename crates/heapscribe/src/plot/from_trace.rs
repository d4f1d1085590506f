//! Which pictures a trace gives: what was live and resident, and how fast the program allocated.

use heapscribe_analyze::answer::{Answer, Timeline};

use super::{Panel, Picture, Series, Style, Unit};
use crate::frames::lossy;
use crate::text::{number, tables};

/// The picture of an analyzed trace.
pub(crate) fn picture(answer: &Answer) -> Picture {
    let timeline = &answer.timeline;
    let seconds = timeline.step_ns as f64 * timeline.steps.len() as f64 / 1e9;
    Picture {
        title: answer.command.iter().map(|part| lossy(part)).collect::<Vec<_>>().join(" "),
        subtitle: subtitle(answer),
        seconds,
        panels: vec![memory(timeline, answer), rate(timeline)],
        marks: Vec::new(),
    }
}

fn subtitle(answer: &Answer) -> String {
    let peak = format!("peak {}", number::short_bytes(answer.peak.bytes));
    let left = format!("{} left at the end", number::short_bytes(answer.leaked.bytes));
    let lost = match crate::text::missing::lost_events(answer) {
        0 => String::new(),
        n => format!(", {} events are missing", number::count(n)),
    };
    let text = format!("{}: {peak}, {left}{lost}", number::date(answer.begin_real_ns));
    tables::estimated(answer, &text)
}

/// Bytes of the heap and of the process.
fn memory(timeline: &Timeline, answer: &Answer) -> Panel {
    let (step, end) = (timeline.step_ns as f64 / 1e9, timeline.steps.len());
    let at = |i: usize| step * (i as f64 + 0.5);
    let of = |value: &dyn Fn(usize) -> Option<f64>| (0..end).map(|i| (at(i), value(i))).collect();
    let steps = &timeline.steps;
    let mut series = vec![Series {
        name: "live heap, at most".to_owned(),
        style: Style::Area,
        points: of(&|i| Some(steps[i].heap_max_bytes as f64)),
    }];
    if steps.iter().any(|step| step.rss_bytes > 0) {
        let points = of(&|i| (steps[i].rss_bytes > 0).then_some(steps[i].rss_bytes as f64));
        series.push(Series { name: "resident memory".to_owned(), style: Style::Dashed, points });
    }
    Panel { title: tables::estimated(answer, "Memory"), unit: Unit::Bytes, series }
}

/// Bytes and blocks asked for in each second.
fn rate(timeline: &Timeline) -> Panel {
    let step = (timeline.step_ns as f64 / 1e9).max(f64::MIN_POSITIVE);
    let points = timeline.steps.iter().enumerate();
    let points = points.map(|(i, s)| (step * (i as f64 + 0.5), Some(s.allocations as f64 / step))).collect();
    let series = vec![Series { name: "allocations per second".to_owned(), style: Style::Line, points }];
    Panel { title: "Allocations per second".to_owned(), unit: Unit::Count, series }
}
