//! The moment after which the heap rose steeply to its peak, where it fell again soon: what rose from there on made the
//! peak, and what was live already was merely there. It is the last moment of the lowest level shortly before the peak,
//! so that nothing of the rise is left out.

use std::cmp::Reverse;

use crate::findings::limits::{
    BURST_FALL_PERCENT, BURST_LIFE_MS, BURST_RISE_BYTES, BURST_RISE_PERCENT, BURST_TIME_PERCENT,
};
use crate::peak::Height;
use crate::timeline::{Grid, Segment, StepLevel};

/// The foot of a peak that is steep on both of its sides; steep is measured by the life of the process with most.
pub(super) fn ascent(
    grid: &Grid,
    (steps, segments): (&[StepLevel], &[Segment]),
    peak: Height,
    life_ns: u64,
) -> Option<Height> {
    if life_ns < BURST_LIFE_MS * 1_000_000 {
        return None;
    }
    let reach_ns = (u128::from(life_ns) * u128::from(BURST_TIME_PERCENT) / 100) as u64;
    let of_peak = grid.step_of(peak.ns);
    let from = grid.step_of(peak.ns.saturating_sub(reach_ns));
    let to = grid.step_of(peak.ns.saturating_add(reach_ns));
    // A step without events has the level of the one before it.
    let level_at_from = steps.iter().rev().find(|step| step.number < from).map(|step| step.after_bytes);
    let level_at_from = level_at_from.unwrap_or(steps.first()?.before_bytes);
    let first_ns = if grid.is_window { grid.begin_ns } else { 0 };
    let before_step =
        |number: u32, bytes: i64| Height { bytes, ns: grid.begin_of(number).saturating_sub(1).max(first_ns) };
    let later = steps.iter().filter(|step| (from..=of_peak).contains(&step.number));
    let later = later.map(|step| before_step(step.number, step.before_bytes));
    let before = [before_step(from, level_at_from)].into_iter().chain(later);
    let foot = before.min_by_key(|height| (height.bytes, Reverse(height.ns)))?;
    let rise = peak.bytes.saturating_sub(foot.bytes);
    // What ends with a process was not freed.
    let mut ended_bytes = 0i64;
    let after = steps.iter().filter(|step| (of_peak..=to).contains(&step.number)).map(|step| {
        let ends = segments[step.segments.clone()].iter().filter(|segment| segment.is_end());
        ended_bytes = ends.fold(ended_bytes, |sum, end| sum.saturating_sub(end.net_bytes));
        step.after_bytes.saturating_add(ended_bytes)
    });
    let fall = peak.bytes.saturating_sub(after.min().unwrap_or(peak.bytes));
    let part = |bytes: i64, percent: u64| i128::from(bytes) * i128::from(percent) / 100;
    let is_steep = rise >= BURST_RISE_BYTES as i64
        && i128::from(rise) >= part(peak.bytes, BURST_RISE_PERCENT)
        && i128::from(fall) >= part(rise, BURST_FALL_PERCENT);
    (is_steep && foot.ns < peak.ns).then_some(foot)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Levels at the ends of steps of 10 ms, the peak at the end of one, the step in which the process ends, and where
    /// the foot of the peak is.
    fn check(levels: [i64; 20], of_peak: u32, ends_at: Option<u32>, expected: Option<u32>) {
        let step = |(number, bytes): (u32, i64)| StepLevel {
            number,
            before_bytes: number.checked_sub(1).map_or(0, |before| levels[before as usize] << 20),
            after_bytes: bytes << 20,
            bound_bytes: bytes << 20,
            reached_ns: None,
            last_ns: 0,
            events: 1,
            segments: if Some(number) == ends_at { 0..1 } else { 0..0 },
        };
        let steps: Vec<StepLevel> = (0..).zip(levels).map(step).collect();
        let grid = Grid::new(0, 200 * MS, 20);
        let end = Segment::end_of_process(0, 0, 9 << 20, &grid);
        let peak = Height { bytes: steps[of_peak as usize].after_bytes, ns: grid.begin_of(of_peak + 1) - 1 };
        let foot = ascent(&grid, (&steps, &[end]), peak, 200 * MS);
        assert_eq!(foot.map(|foot| grid.step_of(foot.ns)), expected, "{levels:?}");
    }

    #[test]
    fn a_rise_begins_at_the_last_moment_of_its_lowest_level() {
        check([40, 40, 40, 40, 40, 40, 40, 42, 90, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4], 8, None, Some(6));
        check([40, 40, 40, 40, 40, 60, 44, 40, 90, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4], 8, None, Some(7));
    }

    #[test]
    fn a_peak_is_a_burst_when_it_is_steep_on_both_sides() {
        check([4, 4, 4, 4, 4, 4, 4, 4, 9, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4], 8, None, Some(7));
        check([10, 11, 12, 13, 14, 15, 16, 17, 18, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4], 8, None, None);
        check([4, 4, 4, 4, 4, 4, 4, 4, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9], 8, None, None);
        check([4, 4, 4, 4, 4, 4, 4, 4, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4], 8, None, None);
        check([4, 4, 4, 4, 4, 4, 4, 4, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 8, Some(9), None);
        check([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 8, None, None);
    }
}
