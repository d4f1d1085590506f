//! Stacks with names: the frames of an answer's call tree, joined with what their modules' files say.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use heapscribe_analyze::answer::{CallTree, Frame, InterpretedFunction, NodeId};
use heapscribe_wire::head::LossReason;
use heapscribe_wire::language::Language;

use crate::names::{LookupFailure, Module, Names, SourceFrame};
use crate::places;
use crate::resolver::Resolver;
use crate::shown::shown;
use crate::stable_names::stable;

/// What stands for the stacks of allocations that a ring has evicted.
const EVICTED: &str = "[stack not in the trace]";

/// One line of a stack.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NamedFrame {
    /// The function's name, when it is known.
    pub function: Option<String>,
    /// The source file.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
    /// The module's path; none when the code lies in no file.
    pub module: Option<String>,
    /// Address in the module's file, or in memory without a module.
    pub offset: u64,
    /// What it is written in, when an interpreter runs it.
    pub language: Option<Language>,
    /// Whether its code lies inside the function of the next line.
    pub inlined: bool,
    /// Whether it or a frame before it was found without unwinding information.
    pub guessed: bool,
    /// Set where the stack could not be followed any further: why.
    pub cut: Option<LossReason>,
}

impl NamedFrame {
    /// Whether it is code that the program made, and has no name.
    pub fn is_in_no_file(&self) -> bool {
        self.function.is_none() && self.module.is_none() && self.cut.is_none()
    }

    /// The function, else `module+0xoffset`, else the reason why there is nothing.
    pub fn name(&self) -> String {
        if let Some(function) = &self.function {
            return function.clone();
        }
        if let Some(reason) = self.cut {
            return format!("[stack cut: {}]", reason.name());
        }
        match &self.module {
            Some(path) => format!("{}+{:#x}", path.rsplit('/').next().unwrap_or(path), self.offset),
            None => format!("{:#x}", self.offset),
        }
    }

    /// The same for people: a function's name is short, unless whole names are asked for.
    pub fn shown_name(&self) -> String {
        self.function.as_deref().map_or_else(|| self.name(), shown)
    }

    /// Whether it is the recorder's own, where that is a part of the program (`RecordedHeap`): nobody asks
    /// who called the allocator to learn that it was called.
    pub fn is_recorders(&self) -> bool {
        self.file.as_deref().is_some_and(|file| file.ends_with("recorder/src/global.rs"))
    }

    /// A name that the same code has in another build and at another address.
    pub fn stable_name(&self) -> String {
        match (&self.function, &self.module, self.cut) {
            (Some(function), ..) => stable(function).to_owned(),
            (None, None, None) => "[code in no file]".to_owned(),
            _ => self.name(),
        }
    }

    /// `file:line`, as far as it is known.
    pub fn place(&self) -> Option<String> {
        let file = self.file.as_ref()?;
        Some(self.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}")))
    }
}

/// A module whose frames are not all named, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unnamed {
    /// Its path.
    pub module: String,
    /// What stood in the way.
    pub failure: LookupFailure,
}

/// The names for some of the stacks of a call tree.
pub struct NamedStacks<'a> {
    tree: &'a CallTree,
    names: HashMap<u32, Names>,
}

impl<'a> NamedStacks<'a> {
    /// Looks up every frame of the stacks of a tree that are wanted.
    pub fn look_up(
        tree: &'a CallTree,
        wanted: impl IntoIterator<Item = NodeId>,
        resolver: &Resolver,
    ) -> Self {
        let addresses = addresses_by_module(tree, wanted);
        let requests: Vec<_> =
            addresses.iter().map(|(&module, places)| request(tree, module, places)).collect();
        let names = addresses.into_keys().zip(resolver.resolve(&requests)).collect();
        NamedStacks { tree, names }
    }

    /// The calls that the names are of.
    pub fn tree(&self) -> &'a CallTree {
        self.tree
    }

    /// The lines of a stack, the innermost first. Inlined functions stand before the one they are in.
    pub fn frames(&self, stack: NodeId) -> Vec<NamedFrame> {
        self.innermost(stack, usize::MAX)
    }

    /// The same, so many at most.
    pub fn innermost(&self, stack: NodeId, at_most: usize) -> Vec<NamedFrame> {
        let mut guessed = false;
        let lines = self.tree.frames(stack).flat_map(|(_, frame)| {
            let is_guessed = guessed;
            guessed |= frame.guesses;
            self.lines(frame, is_guessed)
        });
        lines.skip_while(NamedFrame::is_recorders).take(at_most).collect()
    }

    /// Whether it stands for stacks that are not known, because a ring has evicted the allocations.
    pub fn is_evicted(&self, stack: NodeId) -> bool {
        self.tree.nodes.get(stack.0 as usize).is_some_and(|node| node.frame == Frame::EVICTED)
    }

    /// The lines of one frame.
    pub fn lines_of(&self, frame: &Frame) -> Vec<NamedFrame> {
        self.lines(frame, false)
    }

    /// The same of a frame that may be a guess.
    pub fn lines(&self, frame: &Frame, guessed: bool) -> Vec<NamedFrame> {
        let path = frame.module.and_then(|m| self.tree.modules.get(m as usize)).map(|m| &m.path[..]);
        let interpreted = path.and_then(InterpretedFunction::of_path);
        let bare = NamedFrame {
            function: (*frame == Frame::EVICTED).then(|| EVICTED.to_owned()),
            module: path.and_then(file_of_module),
            language: interpreted.map(|function| function.language),
            offset: frame.address,
            guessed,
            cut: frame.cut.and_then(LossReason::from_number),
            ..NamedFrame::default()
        };
        let names = frame.module.and_then(|m| self.names.get(&m));
        let frames = names.map_or(&[][..], |names| names.at(place_of_call(frame)));
        if frames.is_empty() { vec![bare] } else { frames.iter().map(|frame| named(&bare, frame)).collect() }
    }

    /// Whether any function that was looked up is such a one.
    pub fn has_function(&self, is_it: impl Fn(&str) -> bool) -> bool {
        let mut frames = self.names.values().flat_map(|names| names.frames.values().flatten());
        frames.any(|frame| frame.function.as_deref().is_some_and(&is_it))
    }

    /// Modules that were looked up with less than full success, by path.
    pub fn unnamed(&self) -> Vec<Unnamed> {
        let module = |m: &u32| lossy(&self.tree.modules[*m as usize].path);
        let mut all: Vec<_> = self
            .names
            .iter()
            .filter_map(|(m, names)| {
                names.failure.clone().map(|failure| Unnamed { module: module(m), failure })
            })
            .collect();
        all.sort_by(|a, b| a.module.cmp(&b.module));
        all
    }
}

/// The file that a module is; none of a place in source text and of a function of an interpreter, whose paths are keys
/// that nobody but us can read.
pub fn file_of_module(path: &[u8]) -> Option<String> {
    let is_file = InterpretedFunction::of_path(path).is_none();
    Some(lossy(path)).filter(|path| is_file && !places::is_place(path))
}

/// A return address may already be in the next function or on the next line; the call is before it.
fn place_of_call(frame: &Frame) -> u64 {
    if frame.is_return_address { frame.address.saturating_sub(1) } else { frame.address }
}

/// The addresses to look up for some stacks, by module.
pub(crate) fn addresses_by_module(
    tree: &CallTree,
    wanted: impl IntoIterator<Item = NodeId>,
) -> BTreeMap<u32, BTreeSet<u64>> {
    let mut addresses: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
    let mut seen = vec![false; tree.nodes.len()];
    for stack in wanted {
        // Outer frames are shared between stacks: what was seen once has all its callers seen.
        for (node, frame) in tree.frames(stack) {
            if std::mem::replace(&mut seen[node.0 as usize], true) {
                break;
            }
            if let Some(module) = frame.module.filter(|m| (*m as usize) < tree.modules.len()) {
                addresses.entry(module).or_default().insert(place_of_call(frame));
            }
        }
    }
    addresses
}

/// The request for addresses of a module of a tree.
pub(crate) fn request(tree: &CallTree, module: u32, places: &BTreeSet<u64>) -> (Module, Vec<u64>) {
    let module = &tree.modules[module as usize];
    let asked = Module { path: lossy(&module.path), build_id: module.build_id.clone() };
    (asked, places.iter().copied().collect())
}

fn named(bare: &NamedFrame, frame: &SourceFrame) -> NamedFrame {
    NamedFrame {
        function: frame.function.clone(),
        file: frame.file.clone(),
        line: frame.line,
        inlined: frame.inlined,
        ..bare.clone()
    }
}

/// Names of the system are bytes; what is no UTF-8 in them shows as a replacement character.
pub fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
