//! A function: its names, and the script that it is in.

use heapscribe_wire::language::Language;

use super::heap::{Heap, is_object};
use super::layout::{SCRIPT_EVALUATED_BY, SCRIPT_NAME};
use super::scope::Scope;
use super::text;
use crate::interpreter::code::Names;
use crate::interpreter::read::Read;
use crate::platform::lock::Held;

/// What has no name, as frames by a perf map have it: a script's own code, and another function.
const TOP_LEVEL: &[u8] = b"(top level)";
const ANONYMOUS: &[u8] = b"(anonymous)";
const FILE_SCHEME: &[u8] = b"file://";
/// Behind the file whose code has made a script of text, by `eval` or `new Function`.
const EVALUATED: &[u8] = b" (eval)";
/// Scripts that made each other so, at most.
const EVALUATIONS_MAX: usize = 16;

/// A function, as far as a stack shows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    /// Its name, of one that has no scope: it is written in C++.
    name: usize,
    /// Its scope.
    pub(super) scope: Option<Scope>,
    /// Its script; no object of one that has none.
    pub(super) script: usize,
}

impl Function {
    /// Reads a function. `None` of what is none.
    pub(super) fn read<R: Read>(heap: &Heap<'_, R>, function: usize) -> Option<Function> {
        Function::of_shared(heap, heap.shared(function)?)
    }

    /// The function with this part that it shares with its closures.
    pub(super) fn of_shared<R: Read>(heap: &Heap<'_, R>, shared: usize) -> Option<Function> {
        let layout = heap.layout;
        let (name, script) = (heap.field(shared, layout.name)?, heap.field(shared, layout.script)?);
        let is_scope = is_object(name) && heap.kind(name)? == layout.types.scope;
        let scope = if is_scope { Some(Scope::read(heap, name)?) } else { None };
        let is_script = is_object(script) && heap.kind(script)? == layout.types.script;
        Some(Function { name, scope, script: if is_script { script } else { 0 } })
    }

    /// Whether there is a source that it is written in.
    pub(super) fn has_script(&self) -> bool {
        is_object(self.script)
    }

    /// Its names.
    pub(super) fn names<'a, R: Read>(
        &self,
        heap: &Heap<'_, R>,
        first_line: u32,
        held: &'a Held<'_>,
    ) -> Option<Names<'a>> {
        let own = self.scope.map_or([self.name, 0], |scope| scope.names);
        let (path, suffix) = if self.has_script() { self.path(heap)? } else { (None, &[][..]) };
        let own = [string(heap, own[0])?, string(heap, own[1])?];
        Names::written(Language::JAVASCRIPT, first_line, held, |name, file| {
            let written =
                own.into_iter().flatten().find_map(|own| write(heap, own, name).filter(|bytes| *bytes > 0));
            let name_bytes = match written {
                Some(bytes) => bytes,
                None => {
                    let is_all = self.scope.is_some_and(|scope| scope.start == 0);
                    let instead = if is_all { TOP_LEVEL } else { ANONYMOUS };
                    name.get_mut(..instead.len())?.copy_from_slice(instead);
                    instead.len()
                }
            };
            let file_bytes = path.map_or(Some(0), |path| write(heap, path, file))?;
            let file_bytes = without_scheme(file, file_bytes);
            // Of a path that fills the room nothing is said.
            let room = file.get_mut(file_bytes..file_bytes + suffix.len());
            let suffix_bytes = room.map_or(0, |room| {
                room.copy_from_slice(suffix);
                suffix.len()
            });
            Some((name_bytes, file_bytes + suffix_bytes))
        })
    }

    /// The name of its script, and what follows it: of a script that was evaluated, the name of the one that did so.
    fn path<R: Read>(&self, heap: &Heap<'_, R>) -> Option<(Option<usize>, &'static [u8])> {
        let (mut script, mut suffix) = (self.script, &[][..]);
        for _ in 0..EVALUATIONS_MAX {
            let path = string(heap, heap.field(script, SCRIPT_NAME)?)?;
            let by = heap.field(script, SCRIPT_EVALUATED_BY)?;
            if path.is_some() || !is_object(by) || heap.kind(by)? != heap.layout.types.shared {
                return Some((path, if path.is_some() { suffix } else { &[] }));
            }
            (script, suffix) = (heap.field(by, heap.layout.script)?, EVALUATED);
            if !is_object(script) || heap.kind(script)? != heap.layout.types.script {
                break;
            }
        }
        Some((None, &[]))
    }
}

/// The string that a word leads to, if it leads to one. `None` of an object that is being moved.
fn string<R: Read>(heap: &Heap<'_, R>, word: usize) -> Option<Option<usize>> {
    if !is_object(word) {
        return Some(None);
    }
    let kind = heap.kind(word)?;
    Some((kind < heap.layout.types.not_string).then_some(word))
}

/// Writes a string, up to a byte of 0.
fn write<R: Read>(heap: &Heap<'_, R>, string: usize, to: &mut [u8]) -> Option<usize> {
    let written = text::write(heap, string, to)?;
    to.get(..written)?.iter().position(|byte| *byte == 0).or(Some(written))
}

/// Modules have an URL of their file, where others have its path.
fn without_scheme(file: &mut [u8], bytes: usize) -> usize {
    let Some(whole) = file.get_mut(..bytes).filter(|file| file.starts_with(FILE_SCHEME)) else {
        return bytes;
    };
    whole.copy_within(FILE_SCHEME.len().., 0);
    bytes - FILE_SCHEME.len()
}
