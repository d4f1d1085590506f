//! Names of addresses are read as they were written, however many blocks they take.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

use super::*;

fn text() -> impl Strategy<Value = Option<Arc<str>>> {
    of(prop_oneof![Just("main".into()), "[a-z:<>]{1,30}".prop_map(Arc::from)])
}

fn frame() -> impl Strategy<Value = SymbolFrame> {
    (text(), text(), of(1u32..), any::<bool>()).prop_map(|(function, file, line, inlined)| SymbolFrame {
        function,
        file,
        line,
        inlined,
    })
}

fn module() -> impl Strategy<Value = ModuleSymbols> {
    let source = prop_oneof![
        Just(SymbolSource::DebugInfo),
        Just(SymbolSource::SymbolTable),
        Just(SymbolSource::NoFile),
        Just(SymbolSource::Missing),
        Just(SymbolSource::Changed),
        "[a-z ]{1,20}".prop_map(|why| SymbolSource::Unreadable(why.into())),
    ];
    let address =
        (any::<u64>(), vec(frame(), 0..4)).prop_map(|(address, frames)| AddressSymbols { address, frames });
    (vec(any::<u8>(), 0..20), vec(any::<u8>(), 0..20), source, vec(address, 0..20))
        .prop_map(|(path, build_id, source, addresses)| ModuleSymbols { path, build_id, source, addresses })
}

/// What is read of them after they were written.
fn written(modules: &[ModuleSymbols]) -> (Vec<u8>, Vec<ModuleSymbols>, usize) {
    let (mut w, mut out) = (Writer::new(), Vec::new());
    w.start(&SessionInfo::default(), &mut out);
    w.symbols(modules, &mut out);
    w.finish(&mut out);
    let (read, problems) = read(&out);
    (out, read, problems)
}

fn read(trace: &[u8]) -> (Vec<ModuleSymbols>, usize) {
    let trace = Trace::open(trace).unwrap();
    let mut read = Vec::new();
    let problems = trace.symbols(&mut Scratch::default(), |module| read.push(module)).unwrap();
    assert_eq!(trace.has_symbols(), !read.is_empty() || !problems.is_empty());
    (read, problems.len())
}

proptest! {
    #[test]
    fn names_and_lines(modules in vec(module(), 0..10)) {
        let (_, read, problems) = written(&modules);
        prop_assert_eq!((read, problems), (modules, 0));
    }

    #[test]
    fn damage_is_noticed(modules in vec(module(), 1..10), at in any::<u16>(), bit in 0u32..8) {
        let (mut bytes, whole, _) = written(&modules);
        let at = usize::from(at) % bytes.len();
        bytes[at] ^= 1u8 << bit;
        if let Ok(trace) = Trace::open(&bytes[..]) {
            let mut left = Vec::new();
            let problems = trace.symbols(&mut Scratch::default(), |module| left.push(module)).unwrap();
            let is_told = !problems.is_empty() || !trace.is_complete() || trace.session().is_none();
            prop_assert!(left == whole || is_told);
        }
    }
}

#[test]
fn many_take_several_blocks_and_one_that_is_too_long_has_no_names() {
    let frame = |name: String| SymbolFrame { function: Some(name.into()), ..SymbolFrame::default() };
    let named = |n: u64| AddressSymbols { address: n * 7, frames: vec![frame(format!("f{n}<{n}>::run"))] };
    let mut addresses: Vec<_> = (0..100_000).map(named).collect();
    let long = (0..8).map(|n| frame(format!("{n}{}", "x".repeat(60_000))));
    addresses.push(AddressSymbols { address: 5, frames: long.collect() });
    let module = ModuleSymbols { path: b"/bin/x".to_vec(), addresses, ..ModuleSymbols::default() };
    let (bytes, read, problems) = written(std::slice::from_ref(&module));
    assert!(problems == 0 && read.len() > 2 && bytes.len() < 2 << 20, "{} {}", read.len(), bytes.len());
    assert!(read.iter().all(|part| part.path == module.path));
    let all: Vec<_> = read.into_iter().flat_map(|part| part.addresses).collect();
    assert_eq!(all[..100_000], module.addresses[..100_000]);
    assert_eq!(all[100_000], AddressSymbols { address: 5, frames: Vec::new() });
}
