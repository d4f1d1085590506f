//! What optimized code was made of: an array, one element of which leads to the functions that are inlined.

use super::heap::{Heap, is_object};
use super::layout::{ARRAY_BYTES, ARRAY_LENGTH};
use crate::interpreter::read::Read;

/// An array's weak elements.
const WEAK: usize = 2;

/// An element of an array.
pub(super) fn element<R: Read>(heap: &Heap<'_, R>, array: usize, index: usize) -> Option<usize> {
    let length = heap.integer(array, ARRAY_LENGTH)?;
    if index >= length {
        return None;
    }
    heap.field(array, ARRAY_BYTES + 8 * index)
}

/// A function among the literals: what it shares with its closures.
pub(super) fn function<R: Read>(heap: &Heap<'_, R>, data: usize, literal: usize) -> Option<usize> {
    let literals = element(heap, data, heap.layout.literals)?;
    let shared = element(heap, literals, literal)? & !WEAK;
    let is_shared = is_object(shared) && heap.kind(shared)? == heap.layout.types.shared;
    is_shared.then_some(shared)
}
