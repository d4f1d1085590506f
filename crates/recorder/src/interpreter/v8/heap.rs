//! V8's heap: what a word is, and the words and the type of an object.
//!
//! ```text
//!   ...01   an object, one byte below          value << 32   a small integer
//! ```

use super::layout::{ARRAY_LENGTH, Layout, MAP_TYPE};
use crate::interpreter::read::Read;

/// A heap that is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heap<'a, R> {
    /// How to read.
    pub(super) read: R,
    /// Where everything is.
    pub(super) layout: &'a Layout,
}

/// Whether a word is the address of an object.
#[inline(always)]
pub(super) const fn is_object(word: usize) -> bool {
    word & 3 == 1
}

/// The value of a small integer.
pub(super) const fn small_integer(word: usize) -> Option<usize> {
    if word as u32 == 0 && word >> 63 == 0 { Some(word >> 32) } else { None }
}

impl<R: Read> Heap<'_, R> {
    /// A word of an object.
    #[inline(always)]
    pub(super) fn field(&self, object: usize, offset: usize) -> Option<usize> {
        if !is_object(object) {
            return None;
        }
        self.read.word(object.wrapping_sub(1).wrapping_add(offset))
    }

    /// A word of an object that is a small integer, not negative.
    pub(super) fn integer(&self, object: usize, offset: usize) -> Option<usize> {
        small_integer(self.field(object, offset)?)
    }

    /// The number of an object's type; `None` of what is no object, or is being moved.
    pub(super) fn kind(&self, object: usize) -> Option<usize> {
        let map = self.field(object, 0).filter(|map| is_object(*map))?;
        Some(self.read.half(map.wrapping_sub(1).wrapping_add(MAP_TYPE))? as usize & 0xffff)
    }

    /// What a function shares with its other closures; `None` of what is no function.
    pub(super) fn shared(&self, function: usize) -> Option<usize> {
        let shared = self.field(function, self.layout.shared)?;
        (self.kind(shared)? == self.layout.types.shared).then_some(shared)
    }

    /// The bytes of an array: where they begin, and how many there are.
    pub(super) fn bytes(&self, array: usize) -> Option<(usize, usize)> {
        const BYTES_MAX: usize = 1 << 28;
        let length = self.integer(array, ARRAY_LENGTH).filter(|length| *length < BYTES_MAX)?;
        Some((array.wrapping_sub(1).wrapping_add(super::layout::ARRAY_BYTES), length))
    }
}
