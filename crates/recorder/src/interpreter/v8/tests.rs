//! Objects as V8 has them, made of words of ours: strings, scopes, functions on a stack.

mod evaluated;

use super::code::Code;
use super::heap::Heap;
use super::layout::{Layout, Optimized, Types};
use super::optimized::inlined;
use super::positions::Encoding;
use super::scope::Scope;
use super::text;
use crate::interpreter::read::Kernel;

const SCRIPT: usize = 167;
const SCOPE: usize = 261;
const NOT_STRING: usize = 128;

const LAYOUT: Layout = Layout {
    shared: 24,
    name: 16,
    script: 32,
    positions: 32,
    header_bytes: 53,
    code_header: 16,
    code_parts: 16,
    function_code: 48,
    literals: 2,
    inlining_positions: 7,
    locals: 32,
    has_positions_first: false,
    optimized: Layout::NONE.optimized,
    types: Types {
        bytecodes: 191,
        indirect: 159,
        code: 245,
        instructions: 252,
        shared: 262,
        script: SCRIPT,
        scope: SCOPE,
        not_string: NOT_STRING,
    },
};

fn heap(layout: &Layout) -> Heap<'_, Kernel> {
    Heap { read: Kernel { pid: std::process::id() }, layout }
}

fn smi(value: usize) -> usize {
    value << 32
}

/// Words that stay, as the address of an object.
fn leaked(words: Vec<usize>) -> usize {
    words.leak().as_ptr() as usize + 1
}

/// An object of a type.
fn object(kind: usize, words: &[usize]) -> usize {
    let map = leaked(vec![0, kind << 32]);
    leaked([&[map], words].concat())
}

/// A string of Latin-1, or of UTF-16.
fn string(text: &str) -> usize {
    let units: Vec<u16> = text.encode_utf16().collect();
    let is_narrow = units.iter().all(|unit| *unit < 256);
    let bytes: Vec<u8> = match is_narrow {
        true => units.iter().map(|unit| *unit as u8).collect(),
        false => units.iter().flat_map(|unit| unit.to_le_bytes()).collect(),
    };
    let mut words = vec![units.len() << 32];
    words.extend(bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        usize::from_le_bytes(word)
    }));
    object(if is_narrow { 8 } else { 0 }, &words)
}

fn length(string: usize) -> usize {
    let read = heap(&LAYOUT).field(string, 8).unwrap();
    read >> 32
}

fn cons(first: usize, second: usize) -> usize {
    object(1 | 8, &[(length(first) + length(second)) << 32, first, second])
}

fn sliced(parent: usize, offset: usize, length: usize) -> usize {
    object(3 | 8, &[length << 32, parent, smi(offset)])
}

fn thin(other: usize) -> usize {
    object(5 | 8, &[length(other) << 32, other])
}

fn check_text(string: usize, expected: Option<&str>) {
    let mut room = [0; 64];
    let written = text::write(&heap(&LAYOUT), string, &mut room);
    let found = written.map(|bytes| std::str::from_utf8(&room[..bytes]).unwrap());
    assert_eq!(found, expected);
}

#[test]
fn strings_of_all_kinds() {
    check_text(string("order"), Some("order"));
    check_text(string("größe"), Some("größe"));
    check_text(string("π𝒳"), Some("π𝒳"));
    check_text(string(""), Some(""));
    check_text(thin(string("order")), Some("order"));
    check_text(cons(string("Shop."), cons(string("or"), string("der"))), Some("Shop.order"));
    check_text(cons(string("order"), string("")), Some("order"));
    check_text(sliced(string("Shop.order"), 5, 3), Some("ord"));
    check_text(sliced(cons(string("Shop.order"), string("")), 5, 5), Some("order"));
    let outside = "outside".as_ptr() as usize;
    check_text(object(2 | 8, &["outside".len() << 32, 0, outside]), Some("outside"));
}

#[test]
fn what_is_no_string_is_refused() {
    check_text(smi(7), None);
    check_text(object(NOT_STRING, &[0]), None);
    check_text(object(4, &[0]), None);
    check_text(8 + 1, None);
    check_text(sliced(string("order"), 3, 3), None);
    let mut deep = string("a");
    for _ in 0..20 {
        deep = cons(deep, string("b"));
    }
    check_text(deep, None);
    let endless = vec![0; 3].leak();
    let at = endless.as_ptr() as usize + 1;
    endless.copy_from_slice(&[leaked(vec![0, 5 << 32]), 1 << 32, at]);
    check_text(at, None);
}

#[test]
fn a_name_with_more_than_there_is_room_for_is_cut_at_a_character() {
    let long = "é".repeat(50);
    check_text(string(&long), Some(&long[..64]));
}

fn check_scope(
    layout: &Layout,
    words: &[usize],
    expected: Option<(Option<&str>, Option<&str>, usize, usize)>,
) {
    let (heap, mut room) = (heap(layout), [0; 64]);
    let mut name = |string| {
        let written = text::write(&heap, string, &mut room)?;
        Some(std::str::from_utf8(&room[..written]).unwrap().to_owned())
    };
    let found = Scope::read(&heap, object(SCOPE, words)).map(|scope| {
        let [own, inferred] = scope.names.map(&mut name);
        (own, inferred, scope.start, scope.end)
    });
    let owned = |name: Option<&str>| name.map(str::to_owned);
    assert_eq!(found, expected.map(|(own, inferred, start, end)| (owned(own), owned(inferred), start, end)));
}

/// Flags of functions in node 20: with a variable of its name, and a name that was inferred.
const NAMED: usize = 0x0041_71c2;

#[test]
fn scopes_up_to_v8_12() {
    let (none, inner) = (object(131, &[]), string("inner"));
    let all = [smi(NAMED), smi(1), smi(0), inner, smi(0xffff_ffff), none, smi(40), smi(129)];
    check_scope(&LAYOUT, &all, Some((Some("inner"), None, 40, 129)));
    let load = string("Module.load");
    let inferred = [smi(NAMED), smi(1), smi(0), string(""), smi(0xffff_ffff), load, smi(7), smi(9)];
    check_scope(&LAYOUT, &inferred, Some((Some(""), Some("Module.load"), 7, 9)));
    let locals = [smi(NAMED), smi(0), smi(1), string("x"), smi(5), inner, smi(0), none, smi(3), smi(4)];
    check_scope(&LAYOUT, &locals, Some((Some("inner"), None, 3, 4)));
    let anonymous = [smi(0x0041_01c2), smi(0), smi(0), smi(3), smi(4)];
    check_scope(&LAYOUT, &anonymous, Some((None, None, 3, 4)));
    let mut many = vec![smi(0x0041_01c2), smi(0), smi(80), none];
    many.extend([smi(1); 80]);
    many.extend([smi(30), smi(40)]);
    check_scope(&LAYOUT, &many, Some((None, None, 30, 40)));
    check_scope(&LAYOUT, &[smi(0x0041_01c2), smi(0), smi(0), smi(5), smi(4)], None);
    check_scope(&LAYOUT, &[smi(NAMED), smi(0), smi(1 << 30)], None);
}

#[test]
fn scopes_since_v8_13() {
    let layout = Layout { locals: 48, has_positions_first: true, ..LAYOUT };
    let (none, inner) = (object(131, &[]), string("inner"));
    let words = [0x0041_71c4, smi(1), smi(1), smi(40), smi(129), string("x"), smi(3), inner, smi(0), none];
    check_scope(&layout, &words, Some((Some("inner"), None, 40, 129)));
}

/// Flags of modules in node 22 and in node 20.
const MODULE: usize = 0x0502_31e3;

#[test]
fn scopes_of_modules() {
    let (name, no_slot, names) = (string(""), smi(0xffff_ffff), object(131, &[]));
    let expected = Some((Some(""), None, 0, 88));
    let up_to_11 = [smi(MODULE), smi(0), smi(0), name, no_slot, smi(0), smi(88)];
    check_scope(&LAYOUT, &up_to_11, expected);
    let of_12 = [smi(MODULE), smi(0), smi(0), smi(3), name, no_slot, smi(0), smi(88)];
    check_scope(&LAYOUT, &of_12, expected);
    let mut many = vec![smi(MODULE), smi(0), smi(80), smi(0), names];
    many.extend([smi(1); 80]);
    many.extend([name, no_slot, smi(0), smi(88)]);
    check_scope(&LAYOUT, &many, expected);
    let since_13 = Layout { locals: 48, has_positions_first: true, ..LAYOUT };
    let of_13 = [MODULE, smi(0), smi(0), smi(0), smi(88), smi(3), name, no_slot];
    check_scope(&since_13, &of_13, expected);
}

/// Memory that stays, at an address that is a multiple of 64.
fn aligned(words: usize) -> &'static mut [usize] {
    let all = vec![0; words + 8].leak();
    let skip = all.as_ptr().align_offset(64);
    &mut all[skip..skip + words]
}

fn byte_array(bytes: &[u8]) -> usize {
    let mut words = vec![smi(bytes.len())];
    words.extend(bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        usize::from_le_bytes(word)
    }));
    object(190, &words)
}

fn array(elements: &[usize]) -> usize {
    object(175, &[&[smi(elements.len())], elements].concat())
}

/// A position as V8 has it, in the function itself or in an inlined one.
fn position(position: usize, inlined: Option<usize>) -> u64 {
    ((position + 1) << 1 | inlined.map_or(0, |number| (number + 1) << 31)) as u64
}

/// A table of positions from these offsets of code on: as V8 11 writes it.
fn positions(entries: &[(usize, u64)]) -> usize {
    let (mut bytes, mut last) = (Vec::new(), (-1, 0));
    let mut write = |value: i64| {
        let mut number = (value << 1 ^ value >> 63) as u64;
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    };
    for (offset, position) in entries {
        write(*offset as i64 - last.0);
        write(*position as i64 - last.1);
        last = (*offset as i64, *position as i64);
    }
    byte_array(&bytes)
}

/// Code with these parts: where its instructions begin.
fn code(parts: [usize; 2]) -> usize {
    let memory = aligned(512);
    let start = memory[8..].as_ptr() as usize;
    let of = object(245, &[0, parts[0], parts[1], 0, start]);
    memory[6] = leaked(vec![0, 252 << 32]);
    memory[7] = of;
    start
}

#[test]
fn functions_that_are_inlined_are_found_from_a_return_address() {
    let [inner, middle] = [object(262, &[0; 4]), object(262, &[1; 4])];
    let inlining =
        |outer: u64, function: u32| [outer.to_le_bytes(), u64::from(function).to_le_bytes()].concat();
    // `middle` at 300 of the function itself, `inner` at 70 of `middle`.
    let inlinings = [inlining(position(300, None), 1), inlining(position(70, Some(0)), 0)].concat();
    let mut data = vec![0; 8];
    data[2] = array(&[inner, middle | 2]);
    data[7] = byte_array(&inlinings);
    let table =
        positions(&[(10, position(290, None)), (40, position(72, Some(0))), (90, position(9, Some(1)))]);
    let start = code([array(&data), table]);

    let check = |offset: usize, expected: Option<(&[(usize, usize)], usize)>| {
        let heap = heap(&LAYOUT);
        let found = Code::find(heap, start + offset).and_then(|code| {
            assert_eq!(code.start, start);
            inlined(&heap, Encoding::Signed, code, start + offset)
        });
        let expected = expected.map(|(functions, position)| {
            let functions = functions.iter().map(|(shared, position)| (*shared, Some(*position)));
            (functions.collect::<Vec<_>>(), position)
        });
        // It was read, also where it has no position.
        let found = found.unwrap();
        let found = found.position.map(|position| (found.functions().to_vec(), position));
        assert_eq!(found, expected, "{offset}");
    };
    check(10, None);
    check(15, Some((&[], 290)));
    check(45, Some((&[(middle, 72)], 300)));
    check(1500, Some((&[(inner, 9), (middle, 70)], 300)));
}

/// Memory of the code of a function in V8 13, with this many bytes before its table of safepoints.
const INSTRUCTION_BYTES: usize = 64;

const LAYOUT_13: Layout = Layout {
    shared: 32,
    positions: 24,
    code_parts: 8,
    function_code: 24,
    literals: 3,
    inlining_positions: 8,
    locals: 48,
    has_positions_first: true,
    optimized: Optimized { flags: 52, instruction_bytes: 56, maglev: 11, deoptimizations: 12 },
    types: Types { bytecodes: 186, code: 187, instructions: 253, ..LAYOUT.types },
    ..LAYOUT
};

/// A function whose bytecodes have these positions.
fn function_with(entries: &[(usize, u64)]) -> usize {
    let bytecodes = object(LAYOUT_13.types.bytecodes, &[smi(200), 0, positions(entries)]);
    object(LAYOUT_13.types.shared, &[bytecodes, 0, 0, 0])
}

/// Code that a compiler of V8 13 made, with these parts and this table behind its instructions.
fn code_13(kind: usize, parts: [usize; 2], table: &[u8]) -> usize {
    let memory = aligned(512);
    let start = memory[8..].as_ptr() as usize;
    let halves = [kind << 32, INSTRUCTION_BYTES];
    let words = [&parts[..], &[0, 0, start], &halves[..]].concat();
    memory[4] = leaked(vec![0, 253 << 32]);
    memory[5] = object(LAYOUT_13.types.code, &words);
    for (word, bytes) in memory[8 + INSTRUCTION_BYTES / 8..].iter_mut().zip(table.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        *word = usize::from_le_bytes(whole);
    }
    start
}

/// Inlined functions, and their positions.
type Functions = [(usize, Option<usize>)];

/// A call that Maglev has put behind the function's own code: the last entry of the table of positions is the loop's, not
/// its own. What it needs when the function is deoptimized meanwhile has its bytecodes.
#[test]
fn a_call_that_was_moved_has_the_position_of_its_bytecode() {
    const MAGLEV: usize = 11;
    const TURBOFAN: usize = 12;
    const LOOP: usize = 473;
    let layout = Layout { code_header: 32, ..LAYOUT_13 };
    let run = function_with(&[(0, position(445, None)), (14, position(554, None))]);
    let leaf = function_with(&[(0, position(400, None)), (7, position(419, None))]);
    // BEGIN, `run` at 14, a value, `leaf` at 7.
    let translation = byte_array(&[14, 0, 4, 4, 1, 28, 2, 0, 4, 38, 4, 1, 14, 0, 2, 1]);
    let mut data = vec![0; 15];
    data[0] = translation;
    data[3] = array(&[leaf, run]);
    data[12..15].copy_from_slice(&[smi(7), smi(0), smi(48)]);
    let table = positions(&[(10, position(LOOP, None))]);
    // Slots, entries, sizes, tagged slots; then an entry with deoptimization 0 and one with none.
    let header = [[0, 0, 0, 0], [2, 0, 0, 0], [0xa1, 0, 0, 0]].concat();
    let entries = |rest: &[u8]| [&[40, 0, 1, 0, 0], rest, &[50, 0, 0, 0, 0], rest].concat();
    let check = |kind, offset, expected: Option<(&Functions, usize)>| {
        let table_of = match kind {
            MAGLEV => [&header[..], &[0; 4], &entries(&[0])].concat(),
            _ => [&header[..], &entries(&[])].concat(),
        };
        let start = code_13(kind, [array(&data), table], &table_of);
        let heap = heap(&layout);
        let code = Code::find(heap, start + offset).unwrap();
        let found = inlined(&heap, Encoding::Signed, code, start + offset);
        // It was read, also where it has no position.
        let found = found.unwrap();
        let found = found.position.map(|position| (found.functions(), position));
        assert_eq!(found, expected, "{kind} {offset}");
    };
    check(MAGLEV, 40, Some((&[(leaf, Some(419))], 554)));
    check(TURBOFAN, 40, Some((&[(leaf, Some(419))], 554)));
    // Without: TurboFan's table is right for the code that it moves, too.
    check(MAGLEV, 50, None);
    check(TURBOFAN, 50, Some((&[], LOOP)));
}

#[test]
fn what_is_no_optimized_code_has_no_inlined_functions() {
    let heap = heap(&LAYOUT);
    let table = positions(&[(1, position(9, Some(7)))]);
    for data in [array(&[0; 3]), array(&[0; 8]), byte_array(&[]), smi(3)] {
        let start = code([data, table]);
        let found = Code::find(heap, start + 9).unwrap();
        assert_eq!(inlined(&heap, Encoding::Signed, found, start + 9), None);
    }
    assert_eq!(Code::find(heap, 64), None);
}
