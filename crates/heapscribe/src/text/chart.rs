//! A picture of the heap and the resident memory over time, out of characters, 80 columns wide.

use std::io;

use heapscribe_analyze::answer::{Answer, Timeline};

use super::{Out, number, tables};

const COLUMNS: usize = 66;
const ROWS: usize = 10;

/// One column: the most bytes in its part of the time.
#[derive(Clone, Copy, Default)]
struct Column {
    heap: u64,
    rss: u64,
}

/// Draws the chart; nothing when there is no time to show.
pub(crate) fn draw(out: Out<'_>, answer: &Answer) -> io::Result<()> {
    let timeline = &answer.timeline;
    let columns = columns(timeline);
    let top = columns.iter().map(|c| c.heap.max(c.rss)).max().unwrap_or(0);
    if top == 0 {
        return Ok(());
    }
    super::heading(out, &tables::estimated(answer, "Heap (#) and resident memory (o) over time"))?;
    for row in (0..ROWS).rev() {
        let label = if row + 1 == ROWS { number::short_bytes(top) } else { String::new() };
        let line: String = columns.iter().map(|c| cell(c, row, top)).collect();
        writeln!(out, "{label:>11} |{}", line.trim_end())?;
    }
    let end = number::duration(timeline.step_ns.saturating_mul(timeline.steps.len() as u64));
    writeln!(out, "{:>11} +{}", "0", "-".repeat(columns.len()))?;
    writeln!(out, "{:>13}{end:>width$}", "0 s", width = columns.len())?;
    match columns.iter().map(|c| c.rss).max() {
        None | Some(0) => writeln!(out, "  The resident memory was not sampled."),
        Some(most) => writeln!(out, "  The resident memory was at most {}.", number::bytes(most)),
    }
}

/// The timeline's steps put together to at most as many columns as there are.
fn columns(timeline: &Timeline) -> Vec<Column> {
    let steps = timeline.steps.len();
    let mut columns = vec![Column::default(); steps.min(COLUMNS)];
    for (i, step) in timeline.steps.iter().enumerate() {
        let column = &mut columns[i * steps.min(COLUMNS) / steps];
        column.heap = column.heap.max(step.heap_max_bytes);
        column.rss = column.rss.max(step.rss_bytes);
    }
    columns
}

/// A cell shows the heap when that reaches into it; the resident memory is a line above.
fn cell(column: &Column, row: usize, top: u64) -> char {
    let height = |bytes: u64| (u128::from(bytes) * ROWS as u128).div_ceil(u128::from(top)) as usize;
    if row < height(column.heap) {
        '#'
    } else if row + 1 == height(column.rss) {
        'o'
    } else {
        ' '
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::Step;

    use super::*;

    #[test]
    fn a_rising_heap_under_a_flat_resident_set() {
        let step = |i: u64| Step { heap_max_bytes: i << 10, rss_bytes: 200 << 10, ..Step::default() };
        let timeline = Timeline { step_ns: 1_000_000, steps: (0..132).map(step).collect() };
        let mut out = Vec::new();
        draw(&mut out, &Answer { timeline, ..Answer::default() }).unwrap();
        let text = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn no_time_no_chart() {
        let mut out = Vec::new();
        draw(&mut out, &Answer::default()).unwrap();
        assert!(out.is_empty());
    }
}
