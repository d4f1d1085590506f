//! The names of nodes in code that a runtime has made, as definitions behind the process's own.

use std::collections::{HashMap, HashSet};

use heapscribe_formats::jit::JitCode;
use heapscribe_formats::jit::function::{Function, Source, function};
use heapscribe_wire::definitions::{self, Code, DEFINITION_BYTES_MAX, Definition, Position};
use heapscribe_wire::ids::{FunctionId, StackId};
use heapscribe_wire::language::Language;

use super::{CodeMade, Span, Timed};

/// The first number of a function that is defined here; those of the process count from 1.
const FIRST_FUNCTION: u32 = 1 << 31;
/// Functions of one node that are named; of others it is said how many there are.
const NAMES_MAX: usize = 3;
/// Pairs of an address and a piece of code that are looked at, the newest pieces first, for files that claim all addresses
/// over and over.
const PAIRS_MAX: usize = 1 << 23;
/// Pieces of code that are looked at for one node.
const PIECES_MAX: usize = 1 << 10;

/// The definitions that name these nodes, each by the code that was at the address of its call at its moment. The nodes are
/// in the order of these addresses, and of their numbers.
pub fn define(code: &CodeMade, nodes: &[(u64, StackId)], moment: impl Fn(StackId) -> Span) -> Vec<u8> {
    let mut addresses: Vec<u64> = nodes.iter().map(|(address, _)| *address).collect();
    addresses.dedup();
    let (dump, map) = (at_addresses(&code.dump, &addresses), at_addresses(&code.map, &addresses));
    let mut names = Names { numbers: HashMap::new(), bytes: Vec::new() };
    for nodes in nodes.chunk_by(|a, b| a.0 == b.0) {
        let address = nodes[0].0;
        // A dump says more: times, and lines.
        if let Some(pieces) = dump.get(&address).or_else(|| map.get(&address)) {
            names.at(address, pieces, nodes.iter().map(|(_, node)| (*node, moment(*node))));
        }
    }
    names.bytes
}

/// The pieces of code at each address, the older first.
fn at_addresses<'c>(code: &'c [Timed], addresses: &[u64]) -> HashMap<u64, Vec<&'c Timed>> {
    let (mut found, mut pairs): (HashMap<u64, Vec<&Timed>>, usize) = (HashMap::new(), 0);
    for piece in code.iter().rev() {
        let begin = addresses.partition_point(|address| *address < piece.code.start);
        for address in addresses[begin..].iter().take_while(|address| **address < piece.code.end) {
            pairs += 1;
            found.entry(*address).or_default().push(piece);
        }
        if pairs > PAIRS_MAX {
            break;
        }
    }
    found.values_mut().for_each(|pieces| pieces.reverse());
    found
}

/// The pieces that were there at some moment of the span, as far as is known, the newest first; each name once. Code may run before it is
/// written down: where there was none yet, it is what came next.
fn in_force<'c>(pieces: &[&'c Timed], (from_ns, to_ns): Span) -> Vec<&'c JitCode> {
    let there = pieces.partition_point(|piece| piece.made.1 <= from_ns);
    let maybe = pieces.partition_point(|piece| piece.made.0 < to_ns).max(there);
    let is_there = |piece: &Timed| piece.moved_ns > from_ns;
    // One that was there for sure hides those before it.
    let hidden = there.saturating_sub(PIECES_MAX);
    let newest = pieces[hidden..there].iter().rposition(|piece| is_there(piece)).unwrap_or(0);
    let found = by_name(&pieces[hidden + newest..maybe], is_there);
    if !found.is_empty() {
        return found;
    }
    let next = &pieces[if maybe < pieces.len() { maybe } else { 0 }..];
    let late = next.iter().take_while(|piece| piece.made == next[0].made).count();
    by_name(&next[..late], |_| true)
}

/// The newest piece of each name among those that are wanted, the newest first.
fn by_name<'c>(pieces: &[&'c Timed], is_wanted: impl Fn(&Timed) -> bool) -> Vec<&'c JitCode> {
    let wanted = pieces.iter().rev().take(PIECES_MAX).filter(|piece| is_wanted(piece));
    let mut known = HashSet::new();
    wanted.map(|piece| &piece.code).filter(|code| known.insert(&code.name[..])).collect()
}

/// Definitions, as far as they are written.
struct Names {
    numbers: HashMap<(Language, String, String), FunctionId>,
    bytes: Vec<u8>,
}

impl Names {
    /// Names the nodes at an address, which are in the order of their numbers, by the code that was there: once for all,
    /// and again from each node on that is of other code.
    fn at(&mut self, address: u64, pieces: &[&Timed], nodes: impl Iterator<Item = (StackId, Span)>) {
        let (mut before, mut said): (Vec<&JitCode>, _) = (Vec::new(), None);
        for (node, moment) in nodes {
            let found = in_force(pieces, moment);
            if found.len() == before.len() && found.iter().zip(&before).all(|(a, b)| std::ptr::eq(*a, *b)) {
                continue;
            }
            before = found;
            let Some(named) = Named::of(address, &before) else { continue };
            let (function, line) = (self.function(&named), named.line);
            let first_node = if said.is_some() { node } else { StackId::UNKNOWN };
            if said.replace((function, line)) != Some((function, line)) {
                let (start, end) = (address, address.saturating_add(1));
                self.put(&Definition::Code(Code { start, end, function, line, first_node }));
            }
        }
    }

    /// The number of a function, which it gets at first.
    fn function(&mut self, named: &Named) -> FunctionId {
        let key = (named.language, named.name.clone(), named.file.clone());
        if let Some(known) = self.numbers.get(&key) {
            return *known;
        }
        let id = FunctionId(FIRST_FUNCTION + self.numbers.len() as u32);
        let (name, file) = (named.name.as_bytes(), named.file.as_bytes());
        let (language, first_line) = (named.language, named.first_line);
        self.put(&Definition::Function(definitions::Function { id, language, first_line, name, file }));
        self.numbers.insert(key, id);
        id
    }

    fn put(&mut self, definition: &Definition<'_>) {
        let mut at = [0; DEFINITION_BYTES_MAX];
        // None of them is a node, so that the numbering of nodes stays where it is.
        let n = definition.encode(&mut Position::default(), &mut at).unwrap_or(0);
        self.bytes.extend_from_slice(&at[..n]);
    }
}

/// What an address is called.
struct Named {
    language: Language,
    name: String,
    file: String,
    first_line: u32,
    line: u32,
}

impl Named {
    fn of(address: u64, pieces: &[&JitCode]) -> Option<Named> {
        let names: Vec<_> = pieces.iter().map(|piece| String::from_utf8_lossy(&piece.name)).collect();
        let functions: Vec<Function<'_>> = names.iter().map(|name| function(name)).collect();
        let newest = functions.first()?;
        let mut known = HashSet::new();
        let mut shown: Vec<String> = functions.iter().map(Function::shown).collect();
        shown.retain(|name| known.insert(name.clone()));
        let (file, line) = match line_of(pieces[0], address).filter(|_| shown.len() == 1) {
            Some((file, line)) => (String::from_utf8_lossy(file).into_owned(), line),
            // Where a function begins is not where it makes a call.
            None => (newest.file.to_owned(), 0),
        };
        Some(Named {
            language: language(newest.source),
            name: joined(shown),
            file,
            first_line: newest.line,
            line,
        })
    }
}

/// Names of several functions as one.
fn joined(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMES_MAX);
    if more > 0 {
        names.truncate(NAMES_MAX);
        names.push(format!("{more} more"));
    }
    names.join(" | ")
}

/// The line of the source at an address.
fn line_of(piece: &JitCode, address: u64) -> Option<(&[u8], u32)> {
    let offset = address.wrapping_sub(piece.start);
    let after = piece.lines.partition_point(|line| line.offset <= offset);
    piece.lines[..after].last().map(|line| (&line.file[..], line.line))
}

fn language(source: Source) -> Language {
    let name = match source {
        Source::JavaScript => "javascript",
        Source::Java => "java",
        Source::Python => "python",
        Source::Runtime => "",
    };
    Language::from_name(name).unwrap_or(Language(0))
}

#[cfg(test)]
mod tests;
