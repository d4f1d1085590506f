//! What was allocated or freed in each of many short stretches of time, cells of 20 ms and less: bursts and pauses that a
//! curve of live bytes does not show.

use heapscribe_index::{Amount, Columns, Density, Key, KeyFilter};
use serde::Serialize;

use super::answered::{NoAnswer, span};
use super::ask::{Ask, Show};
use super::viewer::Viewer;
use super::wanted::Wanted;
use crate::model::{DENSITY_CELLS, DENSITY_COLUMNS, Unit, plain};

/// Cells, one after the other in time; so many of them are a column.
#[derive(Serialize, PartialEq, Eq, Debug)]
pub(super) struct DensityCells {
    from_ns: u64,
    cell_ns: u64,
    per_column: u64,
    /// Whether they are of what was freed, and not of what was allocated.
    is_freed: bool,
    /// Bytes or blocks, whichever is asked for.
    cells: Vec<u64>,
}

const MANY: &str = "this is counted for up to 20 million events: drag a shorter range";

/// Reads the events of the range.
pub(super) fn density(viewer: &Viewer<'_>, ask: &Ask) -> Result<DensityCells, NoAnswer> {
    let ranges = viewer.ranges()?;
    let extent = ranges.extent();
    let from_ns = ask.blocks.from_ns.unwrap_or(0).min(extent.duration_ns);
    let to_ns = ask.blocks.to_ns.unwrap_or(u64::MAX).min(extent.duration_ns.saturating_add(1));
    let length_ns = to_ns.saturating_sub(from_ns);
    let step_ns = cell_ns(length_ns);
    // The last cell may reach over the end of the range, to which it is counted.
    let count = length_ns.div_ceil(step_ns) as usize;
    let columns = Columns { begin_ns: extent.begin_ns.saturating_add(from_ns), step_ns, count };
    let within = span(ranges, ask.blocks.from_ns, ask.blocks.to_ns);
    let stacks = viewer.stacks()?;
    let wanted = Wanted::new(&stacks.calls, &ask.blocks).map_err(NoAnswer::Refused)?;
    let is_freed = ask.blocks.show == Show::Freed;
    let of = if is_freed { Density::Freed } else { Density::Allocated };
    let is_wanted = |key: &Key| wanted.has_key(key) && wanted.has_tip(|| stacks.tip(key));
    let filter: Option<KeyFilter<'_>> = if wanted.is_all() { None } else { Some(&is_wanted) };
    let Some(sums) = ranges.density(&columns, &within, of, filter) else {
        return Err(NoAnswer::Refused(MANY.to_owned()));
    };
    let cells = cells(&sums, ask.look.unit);
    Ok(DensityCells { from_ns, cell_ns: step_ns, per_column: DENSITY_CELLS, is_freed, cells })
}

fn cells(sums: &[Amount], unit: Unit) -> Vec<u64> {
    sums.iter().map(|amount| unit.of(plain(*amount))).collect()
}

/// How long a cell is: the shortest of 1, 2 and 5 with any number of zeros, ns, with which the cells of so long a time
/// find room.
fn cell_ns(length_ns: u64) -> u64 {
    let least = length_ns.div_ceil(DENSITY_CELLS * DENSITY_COLUMNS).max(1);
    let power = 10u64.pow(least.ilog10());
    [1, 2, 5].map(|n| n * power).into_iter().find(|ns| *ns >= least).unwrap_or(power.saturating_mul(10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_round_lengths_and_find_room() {
        let s = 1_000_000_000;
        let known = [
            (0, 1),
            (1, 1),
            (10_000, 1),
            (10_001, 2),
            (s, 100_000),
            (s + 1, 200_000),
            (200 * s, 20_000_000),
            (201 * s, 50_000_000),
            (501 * s, 100_000_000),
        ];
        for (length_ns, cell) in known {
            assert_eq!(cell_ns(length_ns), cell, "{length_ns}");
        }
        for length_ns in [u64::MAX, u64::MAX / 3, 1 << 40] {
            assert!(length_ns.div_ceil(cell_ns(length_ns)) <= DENSITY_CELLS * DENSITY_COLUMNS);
        }
    }
}
