//! The name of a function and the part of the source that it is, from its scope (V8's `ScopeInfo`).
//!
//! ```text
//!   up to V8 12   flags  parameters  locals  names...  infos...  [class variable]  [name  slot]  [inferred name]  start  end
//!   since         flags  parameters  locals  start  end  names...  infos...  [class variable]  [name  slot]  [inferred name]
//! ```
//! Since V8 12 the scope of a module has the number of its variables before the names. Read without it nothing of a module of
//! node 22 was where it was looked for, and all that it allocated while it was evaluated had no frames.

use super::heap::{Heap, small_integer};
use crate::interpreter::read::Read;

const FLAGS: usize = 8;
const LOCALS: usize = 24;
/// With as many locals, their names are in a table of their own: one word.
const NAMES_IN_PLACE: usize = 75;
const LOCALS_MAX: usize = 1 << 20;

/// In the flags: what it is the scope of; whether there is a class variable, what the variable of the function's name is,
/// whether there is a name that was inferred.
const KIND: usize = 15;
const MODULE: usize = 3;
const HAS_CLASS_VARIABLE: usize = 1 << 10;
const NAME_VARIABLE: usize = 3 << 12;
const HAS_INFERRED_NAME: usize = 1 << 14;

/// A function's scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scope {
    /// Its name, and the one that V8 has inferred: strings, if anything.
    pub(super) names: [usize; 2],
    /// Where it begins and ends in the source, in characters.
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Scope {
    /// Reads a scope. `None` for one that has no part of a source.
    pub(super) fn read<R: Read>(heap: &Heap<'_, R>, scope: usize) -> Option<Scope> {
        let layout = heap.layout;
        let flags = heap.field(scope, FLAGS)?;
        let flags = if layout.has_positions_first { flags } else { small_integer(flags)? };
        let locals = heap.integer(scope, LOCALS).filter(|locals| *locals < LOCALS_MAX)?;
        let names = if locals < NAMES_IN_PLACE { locals } else { 1 };
        let counts = usize::from(flags & KIND == MODULE && has_count(heap, scope));
        let mut at = layout.locals + 8 * (counts + names + locals);
        if flags & HAS_CLASS_VARIABLE != 0 {
            at += 8;
        }
        let mut names = [0; 2];
        if flags & NAME_VARIABLE != 0 {
            names[0] = heap.field(scope, at)?;
            at += 16;
        }
        if flags & HAS_INFERRED_NAME != 0 {
            names[1] = heap.field(scope, at)?;
            at += 8;
        }
        let positions = if layout.has_positions_first { layout.locals - 16 } else { at };
        let (start, end) = (heap.integer(scope, positions)?, heap.integer(scope, positions + 8)?);
        (start <= end).then_some(Scope { names, start, end })
    }
}

/// Whether the scope of a module has the number of its variables before what else follows, which are objects: names of
/// variables, or its own.
fn has_count<R: Read>(heap: &Heap<'_, R>, scope: usize) -> bool {
    heap.integer(scope, heap.layout.locals).is_some()
}
