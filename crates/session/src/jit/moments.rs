//! When the nodes of stacks were captured, first and last. Definitions have no times, but each stack is defined right before
//! its first event: all nodes up to that stack's were captured by then. And each event of a stack has captured the nodes of
//! its callers again.
//!
//! That takes 16 bytes for each node, and a look at each event. So it is for processes only whose runtime says what code it
//! makes.

use heapscribe_formats::model::ChunkInfo;
use heapscribe_wire::definitions::{Definition, Definitions, Position};
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::{Event, Events};

use super::{Outside, Span};

/// The first and the last event of a stack, in ticks; of one that had none.
const UNUSED: Span = (u64::MAX, 0);

/// When nodes were captured.
#[derive(Clone, Debug, Default)]
pub struct Moments {
    outside: Outside,
    /// Whether any node is in no file.
    are_outside: bool,
    /// The number of the next node.
    next_node: usize,
    /// Of stacks, by the numbers of their nodes.
    events: Vec<Span>,
    /// Whether events before those that are seen are missing.
    lacks_beginning: bool,
}

impl Moments {
    /// Events before those that come are not here: nodes may have been captured earlier than these tell.
    pub fn begin_late(&mut self) {
        self.lacks_beginning = true;
    }

    /// Whether any node is in no file, so that its code may be a runtime's.
    pub fn are_outside(&self) -> bool {
        self.are_outside
    }

    /// Takes a definition, which comes before the events that have it.
    pub fn definition(&mut self, definition: &Definition<'_>) {
        self.are_outside |= self.outside.take(definition).is_some();
    }

    /// What was taken are all definitions up to this position.
    pub fn defined(&mut self, position: Position) {
        self.next_node = self.next_node.max(position.next_node as usize);
    }

    /// Takes a chunk.
    pub fn chunk(&mut self, info: &ChunkInfo, payload: &[u8]) {
        self.events.resize(self.next_node, UNUSED);
        let mut ticks = info.begin_ticks;
        for (since, event) in Events::new(payload).map_while(Result::ok) {
            ticks = ticks.wrapping_add(since);
            let of_stack = captured(&event).and_then(|stack| self.events.get_mut(stack.0 as usize));
            if let Some((first, last)) = of_stack {
                (*first, *last) = (ticks.min(*first), ticks.max(*last));
            }
        }
    }

    /// When each node of these definitions was captured, by its number, in ticks: first at the one, and last at the other.
    pub fn spans(&self, definitions: &[u8]) -> Vec<Span> {
        let mut spans = self.events.clone();
        spans.resize(self.next_node, UNUSED);
        let nodes = Definitions::new(definitions, Position::default()).map_while(Result::ok);
        let callers: Vec<_> =
            nodes.filter_map(|(id, definition)| Some((id.0 as usize, caller(&definition)?))).collect();
        // Callers have smaller numbers.
        for (node, caller) in callers.into_iter().rev() {
            let last = spans.get(node).map_or(0, |span| span.1);
            if let Some(span) = spans.get_mut(caller) {
                span.1 = last.max(span.1);
            }
        }
        let mut first = u64::MAX;
        for span in spans.iter_mut().rev() {
            first = first.min(span.0);
            *span = if first == u64::MAX { (first, first) } else { (first, span.1.max(first)) };
        }
        // No event has those behind the last stack that is known.
        let newest = spans.iter().map(|span| span.0).filter(|first| *first != u64::MAX).max().unwrap_or(0);
        for (first, _) in &mut spans {
            *first = if self.lacks_beginning { 0 } else { newest.min(*first) };
        }
        spans
    }
}

/// The node of the caller.
fn caller(definition: &Definition<'_>) -> Option<usize> {
    let parent = match definition {
        Definition::Node(node) => node.parent,
        Definition::Interpreted(node) => node.parent,
        Definition::Cut { parent, .. } => *parent,
        _ => return None,
    };
    Some(parent.0 as usize)
}

/// The stack that was captured for an event.
fn captured(event: &Event) -> Option<StackId> {
    match event {
        Event::Alloc { stack, .. }
        | Event::Realloc { stack, .. }
        | Event::Failed { stack, .. }
        | Event::UnknownRealloc { stack, .. } => Some(*stack).filter(|stack| *stack != StackId::UNKNOWN),
        Event::Mapping(mapping) => Some(mapping.stack).filter(|stack| *stack != StackId::UNKNOWN),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
