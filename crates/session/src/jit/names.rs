//! Names for the code that a process's runtime has compiled: definitions behind its own, of what its stacks run through.
//!
//! A stack has an address once, whatever code lay there later. Where the runtime has used an address for several
//! functions, all of their names are shown, the newest first: which one it was is not known.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::unix::fs::MetadataExt;

use heapscribe_formats::jit::JitCode;
use heapscribe_formats::jit::function::{Function, Source, function};
use heapscribe_wire::definitions::{self, Code, DEFINITION_BYTES_MAX, Definition, Definitions, Position};
use heapscribe_wire::ids::FunctionId;
use heapscribe_wire::language::Language;
use heapscribe_wire::limits::DEFS_BYTES_MAX;

use crate::jit_files::{JitFiles, Wanted};
use heapscribe_session::{read_head, read_up_to};

/// The first number of a function that is defined here; those of the process count from 1.
const FIRST_FUNCTION: u32 = 1 << 31;
/// Functions of one address that are named.
const NAMES_MAX: usize = 3;
/// Pairs of an address and a piece of code that are looked at, for files that claim all addresses over and over.
const PAIRS_MAX: usize = 1 << 26;

/// The definitions of what the runtime of a process has compiled that has ended, behind its own, which have so many bytes;
/// none when it has said nothing of that.
pub(crate) fn definitions(
    files: &JitFiles,
    head: &File,
    ended_mono_ns: u64,
    (own, length): (&File, u64),
    position: Position,
) -> Vec<u8> {
    let code = wanted(head, ended_mono_ns).map(|wanted| files.read(&wanted)).unwrap_or_default();
    // What could not be read of them has no end.
    let length = usize::try_from(length).ok().filter(|n| *n <= DEFS_BYTES_MAX).unwrap_or(0);
    if code.is_empty() {
        return Vec::new();
    }
    let mut bytes = vec![0; length];
    let n = read_up_to(own, &mut bytes, 0);
    define(&code, &addresses(&bytes[..n]), position)
}

fn wanted(head: &File, ended_mono_ns: u64) -> Option<Wanted> {
    let uid = head.metadata().ok()?.uid();
    read_head(head, |head| {
        let lived_ns = ended_mono_ns.saturating_sub(head.created_mono_ns);
        let lived_ns = (head.created_real_ns, head.created_real_ns.saturating_add(lived_ns));
        Wanted { pid: head.pid, uid, lived_ns }
    })
}

/// The addresses of calls that the nodes of these definitions have, ascending.
pub(crate) fn addresses(definitions: &[u8]) -> Vec<u64> {
    let nodes = Definitions::new(definitions, Position::default()).map_while(Result::ok);
    let mut addresses: Vec<u64> = nodes
        .filter_map(|(_, definition)| match definition {
            Definition::Node(node) => Some(node.pc.0.wrapping_sub(u64::from(!node.exact))),
            _ => None,
        })
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// The definitions that name the code at these addresses, which ascend; pieces of code are in the order of their making.
pub(crate) fn define(code: &[JitCode], addresses: &[u64], mut position: Position) -> Vec<u8> {
    let (mut out, mut numbers) = (Vec::new(), HashMap::new());
    let mut put = |definition: &Definition<'_>, out: &mut Vec<u8>| {
        let mut at = [0; DEFINITION_BYTES_MAX];
        let n = definition.encode(&mut position, &mut at).unwrap_or(0);
        out.extend_from_slice(&at[..n]);
    };
    for (address, pieces) in at_addresses(code, addresses) {
        let Some(named) = Named::of(address, &pieces) else { continue };
        let next = FunctionId(FIRST_FUNCTION + numbers.len() as u32);
        let key = (named.language, named.name.clone(), named.file.clone());
        let id = *numbers.entry(key).or_insert_with(|| {
            let (name, file) = (named.name.as_bytes(), named.file.as_bytes());
            let first_line = named.first_line;
            let function =
                definitions::Function { id: next, language: named.language, first_line, name, file };
            put(&Definition::Function(function), &mut out);
            next
        });
        put(
            &Definition::Code(Code { start: address, end: address + 1, function: id, line: named.line }),
            &mut out,
        );
    }
    out
}

/// The pieces of code at each address, the newest first.
fn at_addresses<'c>(code: &'c [JitCode], addresses: &[u64]) -> BTreeMap<u64, Vec<&'c JitCode>> {
    let (mut found, mut pairs): (BTreeMap<u64, Vec<&JitCode>>, usize) = (BTreeMap::new(), 0);
    for piece in code.iter().rev() {
        let begin = addresses.partition_point(|address| *address < piece.start);
        for address in addresses[begin..].iter().take_while(|address| **address < piece.end) {
            pairs += 1;
            let pieces = found.entry(*address).or_default();
            if !pieces.iter().any(|known| known.name == piece.name) && pieces.len() < NAMES_MAX {
                pieces.push(piece);
            }
        }
        if pairs > PAIRS_MAX {
            break;
        }
    }
    found
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
        let mut shown: Vec<String> = Vec::new();
        for name in functions.iter().map(Function::shown) {
            if !shown.contains(&name) {
                shown.push(name);
            }
        }
        let (file, line) = match line_of(pieces[0], address).filter(|_| shown.len() == 1) {
            Some((file, line)) => (String::from_utf8_lossy(file).into_owned(), line),
            None => (newest.file.to_owned(), newest.line),
        };
        Some(Named {
            language: language(newest.source),
            name: shown.join(" | "),
            file,
            first_line: newest.line,
            line,
        })
    }
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
mod tests {
    use heapscribe_formats::jit::JitLine;

    use super::*;

    fn piece(start: u64, end: u64, name: &str) -> JitCode {
        JitCode { start, end, name: name.as_bytes().into(), ..JitCode::default() }
    }

    /// Address, name, file and line of what is defined.
    fn defined(code: &[JitCode], addresses: &[u64]) -> Vec<(u64, String, String, u32)> {
        let bytes = define(code, addresses, Position::default());
        let (mut functions, mut found) = (HashMap::new(), Vec::new());
        for definition in Definitions::new(&bytes, Position::default()) {
            match definition.unwrap().1 {
                Definition::Function(function) => {
                    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                    functions.insert(function.id, (text(function.name), text(function.file)));
                }
                Definition::Code(code) => {
                    let (name, file) = functions[&code.function].clone();
                    found.push((code.start, name, file, code.line));
                }
                other => panic!("{other:?}"),
            }
        }
        found
    }

    #[test]
    fn what_stacks_run_through_is_named() {
        let code = [piece(100, 200, "JS:*load /a.js:3:9"), piece(300, 400, "void shop.Store.load(int)")];
        let expected = [
            (100, "load".to_owned(), "/a.js".to_owned(), 3),
            (199, "load".to_owned(), "/a.js".to_owned(), 3),
            (300, "shop.Store::load".to_owned(), String::new(), 0),
        ];
        assert_eq!(defined(&code, &[99, 100, 199, 200, 300]), expected);
    }

    #[test]
    fn an_address_that_was_used_again_has_all_names() {
        let code = [
            piece(100, 200, "JS:~load /a.js:3:9"),
            piece(150, 250, "JS:*serve /b.js:7:1"),
            piece(100, 200, "JS:^load /a.js:3:9"),
        ];
        let names: Vec<_> = defined(&code, &[120, 160, 220]).into_iter().map(|(_, name, ..)| name).collect();
        assert_eq!(names, ["load", "load | serve", "serve"]);
    }

    #[test]
    fn a_dump_has_lines() {
        let line = |offset, file: &[u8], line| JitLine { offset, file: file.into(), line };
        let lines = [line(0, b"/a.js", 4), line(50, b"/c.js", 9)].into();
        let code = [JitCode { lines, ..piece(100, 200, "JS:*load /a.js:3:9") }];
        let found: Vec<_> =
            defined(&code, &[100, 149, 150]).into_iter().map(|(.., file, line)| (file, line)).collect();
        let a = ("/a.js".to_owned(), 4);
        assert_eq!(found, [a.clone(), a, ("/c.js".to_owned(), 9)]);
    }
}
