//! Which pictures a trace gives: what was live and resident, and how fast the program allocated.

use heapscribe_analyze::answer::{Answer, Step, Timeline};

use super::picture::{Clock, Panel, Picture, Series, Style, Unit};
use crate::text::tables;
use heapscribe_symbols::lossy;
use heapscribe_units as units;

/// The picture of an analyzed trace.
pub fn picture(answer: &Answer) -> Picture {
    let timeline = &answer.timeline;
    let seconds = begin(timeline) + timeline.step_ns as f64 * timeline.steps.len() as f64 / 1e9;
    Picture {
        title: answer.command.iter().map(|part| lossy(part)).collect::<Vec<_>>().join(" "),
        subtitle: subtitle(answer),
        clock: if answer.counts_calls { Clock::Calls } else { Clock::Seconds },
        seconds,
        panels: [memory(timeline, answer), rate(timeline, answer.counts_calls)]
            .into_iter()
            .chain(pool(timeline))
            .chain(latency(timeline))
            .collect(),
        marks: Vec::new(),
    }
}

/// Where the first step begins, seconds.
fn begin(timeline: &Timeline) -> f64 {
    timeline.begin_ns as f64 / 1e9
}

fn subtitle(answer: &Answer) -> String {
    let peak = format!("peak {}", units::short_bytes(answer.peak.bytes));
    let left = format!("{} left at the end", units::short_bytes(answer.leaked.bytes));
    let lost = match crate::losses::lost_events(answer) {
        0 => String::new(),
        n => format!(", events missing: {}", units::count(n)),
    };
    let when = match answer.counts_calls {
        true => "the log has no times; the axis counts calls".to_owned(),
        false => units::date(answer.begin_real_ns),
    };
    let text = format!("{when}: {peak}, {left}{lost}");
    tables::estimated(answer, &text)
}

/// Bytes of the heap and of the process.
fn memory(timeline: &Timeline, answer: &Answer) -> Panel {
    let (step, end) = (timeline.step_ns as f64 / 1e9, timeline.steps.len());
    let at = |i: usize| begin(timeline) + step * (i as f64 + 0.5);
    let of = |value: &dyn Fn(usize) -> Option<f64>| (0..end).map(|i| (at(i), value(i))).collect();
    let steps = &timeline.steps;
    let mut series = vec![Series {
        name: "live heap (maximum)".to_owned(),
        style: Style::Area,
        points: of(&|i| Some(steps[i].heap_max_bytes as f64)),
    }];
    if steps.iter().any(|step| step.rss_bytes > 0) {
        let points = of(&|i| (steps[i].rss_bytes > 0).then_some(steps[i].rss_bytes as f64));
        series.push(Series { name: "resident memory".to_owned(), style: Style::Dashed, points });
    }
    if steps.iter().any(|step| step.anonymous_bytes > 0) {
        let points = of(&|i| (steps[i].rss_bytes > 0).then_some(steps[i].anonymous_bytes as f64));
        series.push(Series { name: "anonymous memory (footprint)".to_owned(), style: Style::Line, points });
    }
    Panel { title: tables::estimated(answer, "Memory"), unit: Unit::Bytes, series }
}

/// The pools of heaps of ours; nothing when none tells of itself.
fn pool(timeline: &Timeline) -> Option<Panel> {
    let steps = &timeline.steps;
    let step_seconds = timeline.step_ns as f64 / 1e9;
    let series = |name: &str, style, of: fn(&Step) -> u64| {
        let point = |(i, step): (usize, &Step)| {
            let value = (step.pool_bytes > 0).then(|| of(step) as f64);
            (begin(timeline) + step_seconds * (i as f64 + 0.5), value)
        };
        Series { name: name.to_owned(), style, points: steps.iter().enumerate().map(point).collect() }
    };
    steps.iter().any(|step| step.pool_bytes > 0).then(|| Panel {
        title: "Custom heap".to_owned(),
        unit: Unit::Bytes,
        series: vec![
            series("used in the pool", Style::Area, |step| step.pool_used_bytes),
            series("pool", Style::Dashed, |step| step.pool_bytes),
            series("largest free block", Style::Line, |step| step.pool_largest_free_bytes),
        ],
    })
}

/// How long calls took: the longest of each step, and all of it in the mean. `None` when none was timed.
fn latency(timeline: &Timeline) -> Option<Panel> {
    let step = timeline.step_ns as f64 / 1e9;
    let of = |value: &dyn Fn(&Step) -> f64| {
        // Both ends of a step, so that one between steps without calls is seen.
        let ends = |(i, s): (usize, &Step)| {
            let value = (s.timed_calls > 0).then(|| value(s));
            [(begin(timeline) + step * i as f64, value), (begin(timeline) + step * (i + 1) as f64, value)]
        };
        timeline.steps.iter().enumerate().flat_map(ends).collect()
    };
    let series = |name: &str, style, points| Series { name: name.to_owned(), style, points };
    timeline.steps.iter().any(|step| step.timed_calls > 0).then(|| Panel {
        title: "Latency of calls".to_owned(),
        unit: Unit::Time,
        series: vec![
            series("longest", Style::Area, of(&|s| s.took_max_ns as f64)),
            series("mean", Style::Line, of(&|s| s.took_ns as f64 / s.timed_calls as f64)),
        ],
    })
}

/// Blocks asked for in each second, or with so many calls.
fn rate(timeline: &Timeline, counts_calls: bool) -> Panel {
    let step = (timeline.step_ns as f64 / 1e9).max(f64::MIN_POSITIVE);
    let (of, title) = match counts_calls {
        true => (100.0 / 1e9, "Allocations per 100 calls"),
        false => (1.0, "Allocations per second"),
    };
    let points = timeline.steps.iter().enumerate();
    let value = |allocations: u64| Some(allocations as f64 / step * of);
    let points =
        points.map(|(i, s)| (begin(timeline) + step * (i as f64 + 0.5), value(s.allocations))).collect();
    let series = vec![Series { name: title.to_lowercase(), style: Style::Line, points }];
    Panel { title: title.to_owned(), unit: Unit::Count, series }
}
