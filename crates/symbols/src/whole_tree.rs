//! All names of a call tree, to be kept: embedded in a trace, or in a bundle beside it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use heapscribe_analyze::answer::{CallTree, NodeId};
use heapscribe_formats::{AddressSymbols, ModuleSymbols, SymbolFrame, SymbolSource};

use crate::names::{LookupFailure, Names, SourceFrame};
use crate::resolver::Resolver;
use crate::stacks;
use crate::stacks::addresses_by_module;

fn source_of(failure: Option<&LookupFailure>) -> SymbolSource {
    match failure {
        None => SymbolSource::DebugInfo,
        Some(LookupFailure::NoDebugInfo) => SymbolSource::SymbolTable,
        Some(LookupFailure::NotAFile) => SymbolSource::NoFile,
        Some(LookupFailure::Missing) => SymbolSource::Missing,
        Some(LookupFailure::Changed) => SymbolSource::Changed,
        Some(LookupFailure::Unreadable(why)) => SymbolSource::Unreadable(why.as_str().into()),
    }
}

/// Looks up every frame of a tree, to be kept. Modules that are no files, but places in
/// source text or functions of an interpreter, have their names already.
pub fn symbols_of(tree: &CallTree, resolver: &Resolver) -> Vec<ModuleSymbols> {
    let nodes = (0..tree.nodes.len()).map(|n| NodeId(n as u32));
    let mut addresses: BTreeMap<u32, BTreeSet<u64>> = addresses_by_module(tree, nodes);
    addresses.retain(|module, _| stacks::file_of_module(&tree.modules[*module as usize].path).is_some());
    let requests: Vec<_> =
        addresses.iter().map(|(module, addresses)| stacks::request(tree, *module, addresses)).collect();
    let names = resolver.resolve(&requests);
    let of_module = requests.iter().zip(&names).map(|((module, addresses), names)| {
        let mut texts = Texts::default();
        ModuleSymbols {
            path: module.path.as_bytes().to_vec(),
            build_id: module.build_id.clone(),
            source: source_of(names.failure.as_ref()),
            addresses: addresses.iter().map(|address| texts.address(*address, names)).collect(),
        }
    });
    of_module.collect()
}

/// Texts that are there once each.
#[derive(Default)]
struct Texts(HashMap<String, Arc<str>>);

impl Texts {
    fn address(&mut self, address: u64, names: &Names) -> AddressSymbols {
        let frame = |frame: &SourceFrame| SymbolFrame {
            function: self.text(frame.function.as_deref()),
            file: self.text(frame.file.as_deref()),
            line: frame.line,
            inlined: frame.inlined,
        };
        AddressSymbols { address, frames: names.at(address).iter().map(frame).collect() }
    }

    fn text(&mut self, text: Option<&str>) -> Option<Arc<str>> {
        let text = text?;
        Some(self.0.entry(text.to_owned()).or_insert_with(|| text.into()).clone())
    }
}
