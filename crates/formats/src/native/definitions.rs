//! Reads the definitions of a process, past damage: each block has the next number at its start, so that a
//! missing one leaves a gap in the numbers and nothing worse.

use heapscribe_wire::definitions::{Definition, Definitions, Position};
use heapscribe_wire::ids::StackId;
use heapscribe_wire::limits::STACKS_MAX;

use super::block::Kind;
use super::fields::Fields;
use super::load::{Scratch, read_header};
use crate::error::{Problem, TraceError};
use crate::source::Source;

/// Calls `visit` with the definitions in the blocks at `offsets`; returns what was skipped.
pub(super) fn visit<S: Source>(
    source: &S,
    offsets: &[u64],
    scratch: &mut Scratch,
    mut visit: impl FnMut(StackId, &Definition<'_>),
) -> Result<Vec<Problem>, TraceError> {
    let mut problems = Vec::new();
    let mut next_node = Position::default().next_node;
    for &offset in offsets {
        let mut problem = |skipped_bytes, what| problems.push(Problem { offset, skipped_bytes, what });
        let payload = match scratch.block(source, offset, Kind::Definitions) {
            Ok((_, payload)) => payload,
            Err(e) => {
                problem(length_of(source, offset), damage(e)?);
                continue;
            }
        };
        let Some((position, bytes)) = split(payload).filter(|(p, _)| p.next_node >= next_node) else {
            problem(length_of(source, offset), "definitions block with a numbering that goes back");
            continue;
        };
        if position.next_node > next_node {
            problem(0, "definitions of stacks are missing before this block");
        }
        let mut reader = Definitions::new(bytes, position);
        next_node = slice(&mut reader, &mut visit);
        if reader.offset() < bytes.len() {
            problem((bytes.len() - reader.offset()) as u64, "bad definition in this block");
        }
    }
    Ok(problems)
}

/// What is wrong with a block; not being able to read at all is passed on.
pub(super) fn damage(error: TraceError) -> Result<&'static str, TraceError> {
    match error {
        TraceError::Damaged { what, .. } => Ok(what),
        other => Err(other),
    }
}

/// Bytes of the block at `offset`, 0 when even that is not known.
pub(super) fn length_of<S: Source>(source: &S, offset: u64) -> u64 {
    read_header(source, offset).map_or(0, |header| header.file_bytes())
}

fn split(payload: &[u8]) -> Option<(Position, &[u8])> {
    let mut f = Fields::new(payload);
    let next_node = f.fixed_u32().filter(|n| (1..=STACKS_MAX).contains(n))?;
    f.fixed_u32()?;
    let last_pc = f.fixed_u64()?;
    Some((Position { next_node, last_pc }, &payload[16..]))
}

/// Visits up to the first definition that is none or has a number that no stack has; the next number.
fn slice(reader: &mut Definitions<'_>, visit: &mut impl FnMut(StackId, &Definition<'_>)) -> u32 {
    while Definitions::position(reader).next_node <= STACKS_MAX {
        let Some(Ok((id, definition))) = reader.next() else { break };
        visit(id, &definition);
    }
    Definitions::position(reader).next_node
}
