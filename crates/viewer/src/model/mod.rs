//! From answers to what a page draws: pure functions over numbers and names, without HTTP and without files.

mod calls;
mod flame;
mod functions;
mod limits;
mod own;
mod processes;
mod prune;
#[cfg(test)]
mod sample;
mod sizes;
mod stacks;
mod trees;

pub(crate) use calls::{CallId, Calls, Function, FunctionId};
pub(crate) use flame::{Direction, Look, flame};
pub(crate) use functions::{Order, functions};
pub(crate) use limits::{GENERATIONS_MAX, LANES_MAX, NOTES_MAX, ROWS_MAX};
pub(crate) use own::{Own, Unit, plain};
pub(crate) use processes::{labels, program};
pub(crate) use sizes::{SizeRows, sizes};
pub(crate) use stacks::stacks;
