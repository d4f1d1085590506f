//! When the nodes of stacks were captured, of frames in no file. Definitions have no times, but each stack is defined right
//! before its first event: all nodes up to that stack's were captured by then.
//!
//! Chunks of several threads come in the order of being full. So one that comes later may show that a node was there earlier;
//! chunks that begin after all that is known can not, and are not looked into. Programs without such frames cost a look at
//! their definitions.

use heapscribe_formats::model::ChunkInfo;
use heapscribe_wire::definitions::{Definitions, Position};
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::{Event, Events};

use super::{Outside, Span};

/// Moments that are remembered; of more, those close to each other become one.
const MOMENTS_MAX: usize = 1 << 16;

/// All nodes after those of the moment before it, up to this one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Moment {
    last: StackId,
    /// In ticks of the process.
    ticks: Span,
}

/// When nodes were captured.
#[derive(Clone, Debug, Default)]
pub struct Moments {
    outside: Outside,
    /// The newest node in no file.
    newest: StackId,
    /// By the number of the node, and by time, which is the same order.
    known: Vec<Moment>,
    /// Whether events before those that are seen are missing.
    lacks_beginning: bool,
}

impl Moments {
    /// Events before those that come are not here: nodes may have been captured earlier than these tell.
    pub fn begin_late(&mut self) {
        self.lacks_beginning = true;
    }

    /// Takes definitions, which come before the events that have them.
    pub fn definitions(&mut self, bytes: &[u8], position: Position) {
        for (id, definition) in Definitions::new(bytes, position).map_while(Result::ok) {
            if self.outside.take(&definition).is_some() {
                self.newest = id;
            }
        }
    }

    /// Takes a chunk.
    pub fn chunk(&mut self, info: &ChunkInfo, payload: &[u8]) {
        if !self.is_needed(info.begin_ticks) {
            return;
        }
        let mut ticks = info.begin_ticks;
        for (since, event) in Events::new(payload).map_while(Result::ok) {
            ticks = ticks.wrapping_add(since);
            if let Some(stack) = captured(&event).filter(|stack| *stack != StackId::UNKNOWN) {
                self.met(stack, ticks);
            }
        }
        self.shrink();
    }

    /// Whether events from this moment on can say anything of nodes in no file.
    fn is_needed(&self, begin_ticks: u64) -> bool {
        let is_over = |last: &Moment| last.last >= self.newest && last.ticks.1 <= begin_ticks;
        self.newest != StackId::UNKNOWN && !self.known.last().is_some_and(is_over)
    }

    /// A stack was captured.
    fn met(&mut self, stack: StackId, ticks: u64) {
        let at = self.known.partition_point(|moment| moment.last < stack);
        if self.known.get(at).is_some_and(|moment| moment.ticks.1 <= ticks) {
            return;
        }
        // Nodes with smaller numbers were defined before it.
        let from = self.known[..at].partition_point(|moment| moment.ticks.1 <= ticks);
        let is_its = self.known.get(at).is_some_and(|moment| moment.last == stack);
        let moment = Moment { last: stack, ticks: (ticks, ticks) };
        self.known.splice(from..at + usize::from(is_its), [moment]);
    }

    /// Makes one moment of those that are close to each other, as close as it needs.
    fn shrink(&mut self) {
        let mut apart = 1_u64 << 10;
        while self.known.len() > MOMENTS_MAX {
            for next in std::mem::take(&mut self.known) {
                match self.known.last_mut() {
                    Some(last) if next.ticks.1.saturating_sub(last.ticks.0) <= apart => {
                        *last = Moment { last: next.last, ticks: (last.ticks.0, next.ticks.1) };
                    }
                    _ => self.known.push(next),
                }
            }
            apart = apart.saturating_mul(2);
        }
    }

    /// When a node was captured, in ticks.
    pub fn of(&self, node: StackId) -> Span {
        let at = self.known.partition_point(|moment| moment.last < node);
        let before = at.checked_sub(1).map_or(0, |before| self.known[before].ticks.0);
        let (from, to) = self.known.get(at).map_or((before, u64::MAX), |moment| moment.ticks);
        (if self.lacks_beginning { 0 } else { from }, to)
    }
}

/// The stack that was captured for an event.
fn captured(event: &Event) -> Option<StackId> {
    match event {
        Event::Alloc { stack, .. }
        | Event::Realloc { stack, .. }
        | Event::Failed { stack, .. }
        | Event::UnknownRealloc { stack, .. } => Some(*stack),
        Event::Mapping(mapping) => Some(mapping.stack),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
