//! A picture of two sizes over time, out of characters, 80 columns wide: an area and a line above it, as
//! the heap and the resident memory.

use std::io;

use heapscribe_analyze::answer::{Answer, Step};

use heapscribe_units as units;

use crate::open_end::OpenEnd;

use super::findings::wrapped;
use super::{Out, tables};

/// Columns of the picture at most, where a line has 80.
pub const COLUMNS: usize = 66;
/// Columns before it.
const LABEL: usize = 13;
/// Rows where there is room.
pub const ROWS: usize = 10;

/// One column, or a step of the time that is put into one: the most bytes in it.
#[derive(Clone, Copy, Default)]
pub struct Column {
    /// What the area shows.
    pub area: u64,
    /// What the line shows.
    pub line: u64,
}

/// Draws the chart; nothing when there is no time to show.
pub fn draw(out: Out<'_>, answer: &Answer, width: usize) -> io::Result<()> {
    draw_rows(out, answer, ROWS, width)
}

/// The same with so many rows, in lines of that width.
pub fn draw_rows(out: Out<'_>, answer: &Answer, rows: usize, width: usize) -> io::Result<()> {
    let timeline = &answer.timeline;
    let steps = timeline.steps.iter().map(|step| Column { area: step.heap_max_bytes, line: step.rss_bytes });
    let title = tables::estimated(answer, "Heap (#) and resident memory (o) over time");
    let end_ns = timeline.begin_ns + timeline.step_ns.saturating_mul(timeline.steps.len() as u64);
    let end = units::time(end_ns, answer.counts_calls);
    let begin = match (answer.counts_calls, timeline.begin_ns) {
        (true, 0) => "0".to_owned(),
        (false, 0) => "0 s".to_owned(),
        (counts_calls, ns) => units::time(ns, counts_calls),
    };
    if !picture(out, &title, steps, [&begin, &end], rows, width)? {
        return Ok(());
    }
    let resident = match timeline.steps.iter().rev().max_by_key(|step| step.rss_bytes) {
        None | Some(Step { rss_bytes: 0, .. }) => match OpenEnd::of_any(answer) {
            Some(OpenEnd::Unfinished | OpenEnd::Damaged) => {
                "  No sample of the resident memory is in what can be read of the trace.".to_owned()
            }
            _ => "  The resident memory was not sampled.".to_owned(),
        },
        Some(most) => format!("  Peak resident memory: {}.{}", units::bytes(most.rss_bytes), sharing(most)),
    };
    wrapped(&resident, width, 2).iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// That pages of several processes are counted in each: 10 forked children had 462 MiB, of 70 that there were.
fn sharing(step: &Step) -> String {
    match step.rss_processes {
        0 | 1 => String::new(),
        n => format!(" Pages that its {} share are counted in each.", units::counted(n, "process")),
    }
}

/// Draws steps of equal time, and what stands at its ends, in lines of that width; false when there is nothing to show.
pub fn picture(
    out: Out<'_>,
    title: &str,
    steps: impl ExactSizeIterator<Item = Column>,
    [begin, end]: [&str; 2],
    rows: usize,
    width: usize,
) -> io::Result<bool> {
    let columns = columns(steps, COLUMNS.min(width.saturating_sub(LABEL + 1)).max(1));
    let top = columns.iter().map(|c| c.area.max(c.line)).max().unwrap_or(0);
    if top == 0 {
        return Ok(false);
    }
    super::heading(out, title)?;
    for row in (0..rows).rev() {
        let label = if row + 1 == rows { units::short_bytes(top) } else { String::new() };
        let line: String = columns.iter().map(|c| cell(c, row, rows, top)).collect();
        writeln!(out, "{label:>11} |{}", line.trim_end())?;
    }
    writeln!(out, "{:>11} +{}", "0", "-".repeat(columns.len()))?;
    let width = columns.len().max(end.len() + 1);
    writeln!(out, "{begin:>LABEL$}{end:>width$}")?;
    Ok(true)
}

/// Steps put together to at most as many columns as there are.
fn columns(steps: impl ExactSizeIterator<Item = Column>, most: usize) -> Vec<Column> {
    let count = steps.len();
    let mut columns = vec![Column::default(); count.min(most)];
    for (i, step) in steps.enumerate() {
        let column = &mut columns[i * count.min(most) / count];
        column.area = column.area.max(step.area);
        column.line = column.line.max(step.line);
    }
    columns
}

/// A cell shows the area when that reaches into it; the line stands above.
fn cell(column: &Column, row: usize, rows: usize, top: u64) -> char {
    let height = |bytes: u64| (u128::from(bytes) * rows as u128).div_ceil(u128::from(top)) as usize;
    if row < height(column.area) {
        '#'
    } else if row + 1 == height(column.line) {
        'o'
    } else {
        ' '
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::{Step, Timeline};

    use super::*;

    #[test]
    fn a_rising_heap_under_a_flat_resident_set() {
        let step = |i: u64| Step { heap_max_bytes: i << 10, rss_bytes: 200 << 10, ..Step::default() };
        let timeline = Timeline { begin_ns: 0, step_ns: 1_000_000, steps: (0..132).map(step).collect() };
        let mut out = Vec::new();
        draw(&mut out, &Answer { timeline, ..Answer::default() }, 80).unwrap();
        let text = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn on_a_narrow_terminal() {
        let step = |i: u64| Step { heap_max_bytes: i << 10, ..Step::default() };
        let timeline = Timeline { begin_ns: 0, step_ns: 1_000_000, steps: (0..132).map(step).collect() };
        let answer = Answer { timeline, ..Answer::default() };
        for width in [0, 30, 60, 79, 80, 200] {
            let mut out = Vec::new();
            draw(&mut out, &answer, width).unwrap();
            let text = String::from_utf8(out).unwrap();
            let axis = text.lines().find(|line| line.trim_start().starts_with("0 +")).unwrap();
            assert_eq!(axis.len(), width.clamp(LABEL + 2, 80) - 1, "{text}");
        }
    }

    #[test]
    fn no_time_no_chart() {
        let mut out = Vec::new();
        draw(&mut out, &Answer::default(), 80).unwrap();
        assert!(out.is_empty());
    }
}
