//! From answers to what a page draws: pure functions over numbers and names, without HTTP and without files.

mod calls;
mod flame;
mod function;
mod functions;
mod limits;
mod merged;
mod nodes;
mod own;
mod processes;
mod prune;
mod reshape;
#[cfg(test)]
mod sample;
mod sizes;
mod sources;
mod stacks;
mod trees;
mod unit;

pub(crate) use calls::Calls;
pub(crate) use flame::{Direction, Look, flame};
pub(crate) use function::{Function, FunctionId, ModuleId};
pub(crate) use functions::{Order, functions};
pub(crate) use limits::{
    AGE_COLUMNS, BANDS_MAX, CHANNELS_MAX, DENSITY_CELLS, DENSITY_COLUMNS, GENERATIONS_MAX, HELD_COLUMNS,
    LANE_PARTS, LANES_MAX, MESSAGE_STEPS, NOTES_MAX, PAGE_STACKS_MAX, ROWS_MAX, SHAPE_MAX, SOURCE_BYTES_MAX,
    SOURCE_LINE_CHARS_MAX, SOURCE_LINES_AROUND,
};
pub(crate) use merged::Merged;
pub(crate) use nodes::CallId;
pub(crate) use own::{Figures, Own, plain};
pub(crate) use processes::{labels, own_label, program};
pub(crate) use reshape::{Reshaped, Shape};
pub(crate) use sizes::{SizeRows, sizes};
pub(crate) use sources::{LineRows, Sources};
pub(crate) use stacks::{StackRows, stacks};
pub(crate) use unit::Unit;
