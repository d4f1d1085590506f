//! Nodes have the names of the code that was at their addresses when they were captured.

use heapscribe_formats::jit::JitLine;
use heapscribe_wire::definitions::Definitions;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const EVER: Span = (0, u64::MAX);

fn piece(start: u64, end: u64, name: &str, made: Span) -> Timed {
    let code = JitCode { start, end, name: name.as_bytes().into(), ..JitCode::default() };
    Timed { code, made, moved_ns: u64::MAX }
}

/// Name, file and line of each node, given by the address of its call and its moment, as a reader finds them.
fn named(code: &CodeMade, nodes: &[(u64, Span)]) -> Vec<Option<(String, String, u32)>> {
    let mut sorted: Vec<_> =
        nodes.iter().zip(1..).map(|((address, _), number)| (*address, StackId(number))).collect();
    sorted.sort_unstable();
    let bytes = define(code, &sorted, |node| nodes[node.0 as usize - 1].1);
    let (mut functions, mut found) = (HashMap::new(), vec![None; nodes.len()]);
    for definition in Definitions::new(&bytes, Position::default()) {
        match definition.unwrap().1 {
            Definition::Function(function) => {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                functions.insert(function.id, (text(function.name), text(function.file)));
            }
            Definition::Code(code) => {
                let (name, file) = functions[&code.function].clone();
                for (node, (address, _)) in nodes.iter().enumerate() {
                    if (code.start..code.end).contains(address) && node as u32 + 1 >= code.first_node.0 {
                        found[node] = Some((name.clone(), file.clone(), code.line));
                    }
                }
            }
            other => panic!("{other:?}"),
        }
    }
    found
}

/// The same, names alone; `-` for none.
fn check(code: &CodeMade, nodes: &[(u64, Span)], expected: &[&str]) {
    let names: Vec<_> =
        named(code, nodes).into_iter().map(|of| of.map_or("-".to_owned(), |(name, ..)| name)).collect();
    assert_eq!(names, expected, "{nodes:?}");
}

fn at(moment: u64) -> Span {
    (moment, moment)
}

#[test]
fn what_stacks_run_through_is_named() {
    let map =
        vec![piece(100, 200, "JS:*load /a.js:3:9", EVER), piece(300, 400, "void shop.Store.load(int)", EVER)];
    let load = Some(("load".to_owned(), "/a.js".to_owned(), 0));
    let store = Some(("shop.Store::load".to_owned(), String::new(), 0));
    let code = CodeMade { map, ..CodeMade::default() };
    let nodes = [99, 100, 199, 200, 300].map(|address| (address, EVER));
    assert_eq!(named(&code, &nodes), [None, load.clone(), load, None, store]);
}

#[test]
fn an_address_that_was_used_again_has_the_name_of_the_moment() {
    let dump = vec![
        piece(100, 200, "first", at(10)),
        piece(150, 250, "second", at(20)),
        piece(100, 200, "first", at(30)),
        piece(100, 200, "third", at(40)),
    ];
    let code = CodeMade { dump, ..CodeMade::default() };
    // Before the first there was none, which was written down late.
    let nodes = [5, 10, 19, 20, 29, 30, 39, 40, 50].map(|moment| (160, at(moment)));
    let expected = ["first", "first", "first", "second", "second", "first", "first", "third", "third"];
    check(&code, &nodes, &expected);
    check(&code, &[(220, at(50)), (120, at(25)), (220, at(5))], &["second", "first", "second"]);
}

#[test]
fn code_that_was_moved_is_where_it_went() {
    let moved = Timed { moved_ns: 20, ..piece(100, 200, "moved", at(10)) };
    let dump = vec![moved, piece(500, 600, "moved", at(20)), piece(100, 200, "new", at(30))];
    let code = CodeMade { dump, ..CodeMade::default() };
    let nodes = [(150, 15), (550, 20), (150, 25), (150, 30)].map(|(address, moment)| (address, at(moment)));
    check(&code, &nodes, &["moved", "moved", "new", "new"]);
}

#[test]
fn where_several_are_possible_all_are_named() {
    let map = vec![
        piece(100, 200, "JS:~load /a.js:3:9", (0, 10)),
        piece(100, 200, "JS:*serve /b.js:7:1", (10, 20)),
        piece(100, 200, "JS:^load /a.js:3:9", (20, 30)),
        piece(100, 200, "JS:*end /b.js:9:1", (20, 30)),
    ];
    let code = CodeMade { map, ..CodeMade::default() };
    let nodes = [at(5), at(10), at(15), at(20), at(25), at(30), EVER];
    let expected =
        ["load", "load", "serve | load", "serve", "end | load | serve", "end", "end | load | serve"];
    check(&code, &nodes.map(|moment| (150, moment)), &expected);
}

#[test]
fn a_stack_that_was_captured_again_later_has_the_names_of_all_that_came_there() {
    let dump = (1..=6).map(|n| piece(100, 200, &format!("f{n}"), at(10 * n))).collect();
    let code = CodeMade { dump, ..CodeMade::default() };
    let nodes = [(10, 19), (15, 20), (15, 21), (20, 45), (10, 65)].map(|span| (150, span));
    check(&code, &nodes, &["f1", "f1", "f2 | f1", "f4 | f3 | f2", "f6 | f5 | f4 | 3 more"]);
}

#[test]
fn what_is_written_down_late_names_what_was_captured_before() {
    let map = vec![
        piece(100, 200, "a", (50, 60)),
        piece(100, 200, "b", (50, 60)),
        piece(100, 200, "c", (60, 70)),
        piece(300, 400, "moved", at(10)),
    ];
    let mut code = CodeMade { map, ..CodeMade::default() };
    code.map[3].moved_ns = 20;
    check(
        &code,
        &[(150, at(40)), (150, at(60)), (350, at(5)), (350, at(30))],
        &["b | a", "b", "moved", "moved"],
    );
}

#[test]
fn a_map_names_what_is_in_no_dump() {
    let dump = vec![piece(100, 200, "dumped", at(10))];
    let map = vec![piece(100, 200, "mapped", EVER), piece(200, 300, "mapped", EVER)];
    check(&CodeMade { dump, map }, &[(150, at(20)), (250, at(20))], &["dumped", "mapped"]);
}

#[test]
fn a_dump_has_lines() {
    let line = |offset, file: &[u8], line| JitLine { offset, file: file.into(), line };
    let mut load = piece(100, 200, "JS:*load /a.js:3:9", at(1));
    load.code.lines = [line(0, b"/a.js", 4), line(50, b"/c.js", 9)].into();
    let code = CodeMade { dump: vec![load], ..CodeMade::default() };
    let nodes = [100, 149, 150].map(|address| (address, at(5)));
    let found: Vec<_> =
        named(&code, &nodes).into_iter().map(|of| of.map(|(_, file, line)| (file, line))).collect();
    let a = Some(("/a.js".to_owned(), 4));
    assert_eq!(found, [a.clone(), a, Some(("/c.js".to_owned(), 9))]);
}

proptest! {
    /// By an oracle that lets each piece take its addresses, one after the other.
    #[test]
    fn each_node_has_who_was_there_last(
        pieces in vec((0_u64..20, 1_u64..10, 1_u64..40), 0..12),
        nodes in vec((0_u64..30, 0_u64..40), 0..20),
    ) {
        let mut pieces = pieces;
        pieces.sort_by_key(|(.., made)| *made);
        pieces.dedup_by_key(|(.., made)| *made);
        let mut nodes = nodes;
        nodes.sort_by_key(|(_, moment)| *moment);
        let timed = pieces.iter().enumerate().map(|(n, (start, bytes, made))| piece(*start, start + bytes, &n.to_string(), at(*made)));
        let code = CodeMade { dump: timed.collect(), ..CodeMade::default() };
        let spans: Vec<_> = nodes.iter().map(|(address, moment)| (*address, at(*moment))).collect();
        for ((address, moment), found) in nodes.iter().zip(named(&code, &spans)) {
            let there = |(_, (start, bytes, _)): &(usize, &(u64, u64, u64))| (*start..start + bytes).contains(address);
            let mut of_it = pieces.iter().enumerate().filter(there);
            let last = of_it.clone().rfind(|(_, (.., made))| made <= moment).or_else(|| of_it.next());
            prop_assert_eq!(found.map(|of| of.0), last.map(|(n, _)| n.to_string()), "{} at {}", address, moment);
        }
    }
}
