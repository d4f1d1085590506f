//! Which functions are the program's own, by where they are and by their names, and the own callers of stacks.

use heapscribe_analyze::answer::{CallTree, Module, Node};
use heapscribe_symbols::Resolver;
use heapscribe_symbols::places::{Place, path_of};
use heapscribe_wire::language::Language;

use super::*;

fn frame(function: &str, module: &str, file: &str) -> NamedFrame {
    let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    NamedFrame {
        function: known(function),
        module: known(module),
        file: known(file),
        ..NamedFrame::default()
    }
}

#[test]
fn libraries_are_known_by_place_and_by_name() {
    let check = |function: &str, module: &str, file: &str, expected: bool| {
        assert_eq!(is_library(&frame(function, module, file)), expected, "{function} {module} {file}");
    };
    check("Shop::load(int)", "/home/me/shop", "/home/me/shop.cpp", false);
    check("std::vector<Order>::push_back(Order&&)", "/home/me/shop", "", true);
    check("<alloc::vec::Vec<T> as core::clone::Clone>::clone", "/home/me/shop", "", true);
    check("visit", "/home/me/shop", "/usr/include/c++/12/bits/invoke.h", true);
    check(
        "serde_json::from_str",
        "/home/me/shop",
        "/root/.cargo/registry/src/x/serde_json-1/src/de.rs",
        true,
    );
    check("_start", "/home/me/shop", "", true);
    check("g_strdup", "/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0.1", "", true);
    check("qsort", "/lib/x86_64-linux-gnu/libc.so.6", "", true);
    check("SvxLoad", "/usr/lib/libreoffice/program/libmergedlo.so", "", false);
    check("rb_str_new", "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1", "", false);
    check("Tcl_NewObj", "/usr/lib/x86_64-linux-gnu/libtcl8.6.so", "", false);
    check("lua_newuserdata", "/usr/lib/x86_64-linux-gnu/liblua5.4.so.0", "", false);
    check("PyList_New", "/usr/bin/python3.11", "", false);
    check("", "/usr/bin/perl", "", false);
    check("PyDataMem_UserNEW", "/home/me/venv/lib/python3.11/site-packages/numpy/multiarray.so", "", true);
    check("dgemm_", "/opt/conda/site-packages/numpy.libs/libopenblas.so", "", true);
    check("step", "/home/me/project/step.cpython-311-x86_64-linux-gnu.so", "", false);
    check("", "", "", false);
    check("Route.dispatch", "", "/srv/shop/node_modules/express/lib/router/route.js", true);
}

#[test]
fn functions_of_the_language_itself_are_no_script_s() {
    let check = |language: Language, file: &str, expected: bool| {
        let frame = NamedFrame { language: Some(language), ..frame("map", "", file) };
        assert_eq!(is_library(&frame), expected, "{language:?} {file}");
    };
    check(Language::JAVASCRIPT, "", true);
    check(Language::JAVASCRIPT, "/srv/shop/app.js", false);
    check(Language::JAVASCRIPT, "node:internal/fs/utils", true);
    check(Language::PHP, "", true);
    check(Language::PHP, "/srv/shop/app.php", false);
    check(Language::JAVA, "", false);
}

#[test]
fn interpreters_are_known_by_their_files() {
    let check = |path: &str, language: Language, expected: bool| {
        assert_eq!(super::libraries::is_interpreter(path, language), expected, "{path}");
    };
    check("/usr/bin/python3.11", Language::PYTHON, true);
    check("/home/me/.pyenv/versions/3.12.1/bin/python3", Language::PYTHON, true);
    check("/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0", Language::PYTHON, true);
    check("/usr/bin/python", Language::PYTHON, true);
    check("/usr/bin/php8.2", Language::PHP, true);
    check("/usr/bin/python3.11", Language::PHP, false);
    check("/usr/bin/node", Language::JAVASCRIPT, true);
    check("/usr/lib/x86_64-linux-gnu/libnode.so.115", Language::JAVASCRIPT, true);
    check("/home/me/node_exporter", Language::JAVASCRIPT, false);
    check("/usr/bin/gdb", Language::PYTHON, false);
    check("/home/me/python_tool", Language::PYTHON, false);
    check("/home/me/phpunit", Language::PHP, false);
}

/// A tree of stacks that are listed with their innermost functions first, and the stacks. `load@7` has a line,
/// and in `push+load` the first is inlined into the second.
pub(crate) fn tree(stacks: &[&[&str]]) -> (CallTree, Vec<NodeId>) {
    let mut tree = CallTree::default();
    let mut leaves = Vec::new();
    for names in stacks {
        let mut parent = NodeId::ROOT;
        for name in names.iter().rev() {
            let places: Vec<Place> = name.split('+').map(place).collect();
            tree.modules.push(Module { path: path_of(&places).into_bytes(), build_id: Vec::new() });
            let frame = Frame { module: Some(tree.modules.len() as u32 - 1), ..Frame::default() };
            tree.nodes.push(Node { parent, frame });
            parent = NodeId(tree.nodes.len() as u32 - 1);
        }
        leaves.push(parent);
    }
    (tree, leaves)
}

fn place(name: &str) -> Place {
    let (function, line) = name.split_once('@').unwrap_or((name, "0"));
    let (function, file) = (function.to_owned(), String::new());
    Place { function, file, line: line.parse().unwrap(), start_char: 0, end_char: 0 }
}

fn function_of(stack: &[&str]) -> String {
    let (tree, stacks) = tree(&[stack]);
    let names = NamedStacks::look_up(&tree, stacks.iter().copied(), &Resolver::new("/nowhere"));
    let own = OwnCallers::folding(&names, &Folded::default()).of(stacks[0]);
    let frame = tree.frames(own.node).next().map(|(_, frame)| names.lines_of(frame)[own.line].name());
    frame.unwrap_or_default()
}

#[test]
fn the_own_caller_is_above_libraries_and_wrappers() {
    for (stack, expected) in [
        (&["operator new", "std::vector::push_back", "load", "main"][..], "load"),
        (&["Perl_safesysmalloc", "Perl_more_bodies", "Perl_newSVsv", "main"], "Perl_newSVsv"),
        (&["load", "xmalloc", "main"], "load"),
        (&["xmalloc", "std::call", "_start"], "std::call"),
        (&["xmalloc"], "xmalloc"),
        (&["xmalloc", "operator new", "std::call", "_start"], "std::call"),
        (&[], ""),
    ] {
        assert_eq!(function_of(stack), expected, "{stack:?}");
    }
}

#[test]
fn code_of_no_file_has_one_name_and_pth_files_are_no_program() {
    assert_eq!(shown_name(&NamedFrame { offset: 0x7f3a_cefc_6e4d, ..NamedFrame::default() }), NO_FILE);
    assert_eq!(shown_name(&frame("", "/lib/libx.so", "")), "libx.so+0x0");
    let check = |files: &[&str], expected: bool| {
        let callers: Vec<NamedFrame> = files.iter().map(|file| frame("f", "", file)).collect();
        assert_eq!(is_of_pth(callers.iter()), expected, "{files:?}");
    };
    check(&["<frozen site>", "<frozen site>"], true);
    check(&["/usr/lib/python3.11/site.py"], true);
    check(&["/home/me/app.py"], false);
    check(&[], false);
}

/// xmllint: all that libxml2 asked for before `main`, "by the first function of the program's own code".
#[test]
fn stacks_of_libraries_alone_say_so() {
    let stacks: [&[&str]; 2] = [&["operator new", "std::call"], &["operator new", "std::call", "main"]];
    let (tree, stacks) = tree(&stacks);
    let names = NamedStacks::look_up(&tree, stacks.iter().copied(), &Resolver::new("/nowhere"));
    let mut own = OwnCallers::folding(&names, &Folded::default());
    let of = |stack: &NodeId| own.of(*stack).is_of_libraries;
    assert_eq!(stacks.iter().map(of).collect::<Vec<_>>(), [true, false]);
}

/// A program with 30 paths from these places into a library whose functions have no names.
fn nameless_library(places: &[u64]) -> Vec<String> {
    let path = |path: &str| Module { path: path.into(), build_id: Vec::new() };
    let modules = vec![path("/usr/bin/thin"), path("/usr/lib/x86_64-linux-gnu/libthin.so.1")];
    let mut tree = CallTree { modules, ..CallTree::default() };
    let at = |module, address| Frame { module: Some(module), address, ..Frame::default() };
    for number in 0..30u64 {
        let place = places[number as usize % places.len()];
        tree.nodes.push(Node { parent: NodeId::ROOT, frame: at(0, place) });
        let parent = NodeId(tree.nodes.len() as u32 - 1);
        tree.nodes.push(Node { parent, frame: at(1, number) });
    }
    let names = NamedStacks::look_up(&tree, [], &Resolver::new("/nowhere"));
    let own = OwnCallers::folding(&names, &Folded::default());
    assert!(own.libraries().is_empty(), "without names it says no more than main does");
    own.nameless_libraries().into_iter().map(str::to_owned).collect()
}

/// A `main` that sets a library up and ends by `pthread_exit`: 30 paths are of a thread that the library started.
#[test]
fn threads_of_a_library_are_of_the_thin_main_that_set_it_up() {
    let found = |begin: &str| {
        let paths = ["/usr/bin/thin", "/usr/lib/x86_64-linux-gnu/libthin.so.1", begin];
        let modules = paths.map(|path| Module { path: path.into(), build_id: Vec::new() }).to_vec();
        let mut tree = CallTree { modules, ..CallTree::default() };
        let mut push = |parent: NodeId, module, address| {
            tree.nodes
                .push(Node { parent, frame: Frame { module: Some(module), address, ..Frame::default() } });
            NodeId(tree.nodes.len() as u32 - 1)
        };
        let main = push(NodeId::ROOT, 0, 16);
        let thread = push(NodeId::ROOT, 2, 16);
        for number in 0..3 {
            push(main, 1, number);
        }
        for number in 3..33 {
            push(thread, 1, number);
        }
        let names = NamedStacks::look_up(&tree, [], &Resolver::new("/nowhere"));
        let own = OwnCallers::folding(&names, &Folded::default());
        own.nameless_libraries().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("/lib/x86_64-linux-gnu/libc.so.6"), ["libthin.so.1"]);
    assert!(
        found("/usr/lib/x86_64-linux-gnu/libother.so.2").is_empty(),
        "no thread begins there: the rest is not known"
    );
}

#[test]
fn the_library_of_a_thin_main_is_found_and_other_programs_have_none() {
    assert_eq!(nameless_library(&[16, 32]), ["libthin.so.1"]);
    assert!(nameless_library(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).is_empty());
}

#[test]
fn what_counts_as_own_code_is_named_where_it_has_a_name() {
    let modules = Modules {
        libraries: BTreeSet::from(["/usr/lib/libthin.so.1".to_owned()]),
        interpreters: BTreeSet::from(["/usr/bin/python3.11".to_owned()]),
        has_interpreted: true,
    };
    for (function, module, expected) in [
        ("render", "/usr/lib/libthin.so.1", true),
        ("", "/usr/lib/libthin.so.1", false),
        ("std::push", "/usr/lib/libthin.so.1", false),
        ("render", "/usr/lib/libother.so.1", false),
        ("main", "/usr/bin/thin", true),
        ("scanstring_unicode", "/usr/bin/python3.11", false),
    ] {
        let frame = frame(function, module, "");
        assert_eq!(is_own(&frame, &Folded::default(), &modules), expected, "{function} {module}");
    }
}

#[test]
fn stacks_of_one_own_caller_are_one_entry() {
    let load: [&[&str]; 3] =
        [&["std::push", "load", "main"], &["store", "main"], &["std::insert", "load", "other", "main"]];
    let (tree, stacks) = tree(&load);
    let names = NamedStacks::look_up(&tree, stacks.iter().copied(), &Resolver::new("/nowhere"));
    let merged =
        OwnCallers::folding(&names, &Folded::default()).merge(stacks.iter().copied().zip([10, 25, 20]));
    let expected = [(30, vec![(stacks[2], 20), (stacks[0], 10)]), (25, vec![(stacks[1], 25)])];
    assert_eq!(merged, expected.map(|(figure, parts)| Merged { figure, parts }));
}

/// `operator()@7+first`: a lambda of line 7 in `first`.
#[test]
fn lambdas_of_different_places_are_different_functions() {
    let lambdas: [&[&str]; 5] = [
        &["operator()@7+first", "main"],
        &["operator()@7+second", "main"],
        &["operator()@9+first", "main"],
        &["operator()@7+first", "other"],
        &["{closure#0}@9+first", "main"],
    ];
    let (tree, stacks) = tree(&lambdas);
    let names = NamedStacks::look_up(&tree, stacks.iter().copied(), &Resolver::new("/nowhere"));
    let mut own = OwnCallers::folding(&names, &Folded::default());
    let merged = own.merge(stacks.iter().copied().zip([50, 40, 30, 20, 10]));
    assert_eq!(merged.iter().map(|of| of.figure).collect::<Vec<_>>(), [70, 40, 30, 10]);
    let functions = crate::hotspots::find(&names, &stacks.iter().map(|s| (*s, 1)).collect::<Vec<_>>());
    assert_eq!(functions.functions.iter().map(|of| of.weight).collect::<Vec<_>>(), [2, 1, 1, 1]);
}
