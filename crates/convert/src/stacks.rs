//! The stacks of a process of ours as location codes of memtrace, with names from the modules' files.
//!
//! A code is the frame's address; an address that meant two things in its time, because a library went
//! and another came, gets a code beside it for the second.

use std::collections::{BTreeMap, HashMap};

use heapscribe_analyze::answer::InterpretedFunction;
use heapscribe_formats::memtrace::{Location, LocationCode, Locations};
use heapscribe_wire::definitions::{Definition, InterpretedNode, Node};
use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::{FunctionId, StackId};

use heapscribe_symbols::places;
use heapscribe_symbols::{Module, Names, SourceFrame};

/// Codes of other meanings of the same address lie this far apart, beyond all addresses of programs.
const SECOND_MEANING: i64 = 1 << 48;
/// Codes of stacks that were cut, by reason.
const CUT: i64 = 1 << 60;
/// Codes of frames that an interpreter runs, in the order of their definition.
const INTERPRETED: i64 = 1 << 59;

/// A frame: its module and the address in the module's file that its call is at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Frame {
    module: Option<usize>,
    address: u64,
    /// Whether the call returns to the byte behind `address`, which is what is shown when there is no name.
    returns: bool,
}

/// A mapped module, in the order of being named.
struct Mapped {
    start: u64,
    end: u64,
    bias: u64,
    module: usize,
}

/// Nodes as they are defined, each with its caller and its code.
#[derive(Default)]
pub struct Stacks {
    nodes: HashMap<StackId, (StackId, LocationCode)>,
    mapped: Vec<Mapped>,
    modules: Vec<Module>,
    module_numbers: HashMap<Module, usize>,
    codes: HashMap<LocationCode, Frame>,
    frames: HashMap<Frame, LocationCode>,
    cuts: BTreeMap<LocationCode, u8>,
    functions: HashMap<FunctionId, usize>,
    /// Codes that have no name yet.
    new: Vec<LocationCode>,
}

impl Stacks {
    /// Takes the next definition.
    pub fn take(&mut self, id: StackId, definition: &Definition<'_>) {
        match definition {
            Definition::Node(node) => {
                let code = self.code(node);
                self.nodes.insert(id, (node.parent, code));
            }
            Definition::Cut { reason, parent } => {
                let code = LocationCode(CUT + i64::from(*reason));
                if self.cuts.insert(code, *reason).is_none() {
                    self.new.push(code);
                }
                self.nodes.insert(id, (*parent, code));
            }
            Definition::Module(m) => {
                let path = String::from_utf8_lossy(m.name).into_owned();
                let module = self.module(Module { path, build_id: m.build_id.to_vec() });
                self.mapped.push(Mapped { start: m.start, end: m.end, bias: m.bias, module });
            }
            Definition::Function(function) => {
                let path = String::from_utf8_lossy(&InterpretedFunction::path_of(function)).into_owned();
                let module = self.module(Module { path, build_id: Vec::new() });
                self.functions.insert(function.id, module);
            }
            Definition::Interpreted(node) => {
                let code = self.interpreted(node);
                self.nodes.insert(id, (node.parent, code));
            }
            Definition::Unmapped => self.mapped.clear(),
            // It comes when the codes of its frames are given.
            Definition::Code(_) => {}
            Definition::Thread { .. }
            | Definition::Rate { .. }
            | Definition::Name { .. }
            | Definition::Interpreter(_) => {}
        }
    }

    fn module(&mut self, module: Module) -> usize {
        let modules = &mut self.modules;
        *self.module_numbers.entry(module.clone()).or_insert_with(|| {
            modules.push(module);
            modules.len() - 1
        })
    }

    /// The code of a node's frame. A return address is looked up as the byte before it, in its call.
    fn code(&mut self, node: &Node) -> LocationCode {
        let pc = node.pc.0.wrapping_sub(u64::from(!node.exact));
        let found = self.mapped.iter().rev().find(|m| m.start <= pc && pc < m.end);
        let address = pc.wrapping_sub(found.map_or(0, |m| m.bias));
        let frame = Frame { module: found.map(|m| m.module), address, returns: !node.exact };
        if let Some(code) = self.frames.get(&frame) {
            return *code;
        }
        let mut code = LocationCode(((node.pc.0 << 1) as i64 >> 1).max(1));
        while self.codes.contains_key(&code) {
            code.0 = code.0.wrapping_add(SECOND_MEANING);
        }
        self.new.push(code);
        self.codes.insert(code, frame);
        self.frames.insert(frame, code);
        code
    }

    /// The code of a frame that an interpreter runs.
    fn interpreted(&mut self, node: &InterpretedNode) -> LocationCode {
        let module = self.functions.get(&node.function).copied();
        let frame = Frame { module, address: node.line.into(), returns: false };
        if let Some(code) = self.frames.get(&frame) {
            return *code;
        }
        let code = LocationCode(INTERPRETED + self.codes.len() as i64);
        self.new.push(code);
        self.codes.insert(code, frame);
        self.frames.insert(frame, code);
        code
    }

    /// The codes of a stack, outermost first.
    pub fn codes(&self, stack: StackId, into: &mut Vec<LocationCode>) {
        into.clear();
        let mut at = stack;
        // A caller has a smaller number than who it calls, in a trace that is whole.
        while let Some((parent, code)) = self.nodes.get(&at).filter(|(parent, _)| *parent < at) {
            into.push(*code);
            at = *parent;
        }
        into.reverse();
    }

    /// Names the codes that came since the last time; `look_up` gives names for addresses in modules.
    pub fn name_new(
        &mut self,
        locations: &mut Locations,
        look_up: impl FnOnce(&[(Module, Vec<u64>)]) -> Vec<Names>,
    ) {
        let new = std::mem::take(&mut self.new);
        let mut addresses: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for frame in new.iter().filter_map(|code| self.codes.get(code)) {
            if let Some(module) = frame.module {
                addresses.entry(module).or_default().push(frame.address);
            }
        }
        let modules: Vec<usize> = addresses.keys().copied().collect();
        let requests: Vec<_> =
            addresses.into_iter().map(|(m, addresses)| (self.modules[m].clone(), addresses)).collect();
        let names: HashMap<usize, Names> = modules.into_iter().zip(look_up(&requests)).collect();
        for code in new {
            let list = match self.codes.get(&code) {
                Some(frame) => self.named(frame, &names, locations),
                None => cut(self.cuts.get(&code).copied(), locations),
            };
            locations.set(code, &list);
        }
    }

    fn named(
        &self,
        frame: &Frame,
        names: &HashMap<usize, Names>,
        locations: &mut Locations,
    ) -> Vec<Location> {
        let Some(module) = frame.module else { return Vec::new() };
        if let Some(places) = places::frames(&self.modules[module].path) {
            return of_places(&places, locations);
        }
        let steps = names.get(&module).map_or(&[][..], |names| names.at(frame.address));
        if steps.is_empty() {
            return self.unnamed(frame, locations);
        }
        let location = |step: &SourceFrame| {
            let function = locations.name(step.function.as_deref().unwrap_or("??").as_bytes());
            let file = locations.name(step.file.as_deref().unwrap_or_default().as_bytes());
            Location::clamped(file, function, i64::from(step.line.unwrap_or(0)), 0, 0)
        };
        steps.iter().rev().map(location).collect()
    }

    /// A frame without a name: its place in the module's file, or nothing when it lies in none.
    fn unnamed(&self, frame: &Frame, locations: &mut Locations) -> Vec<Location> {
        let Some(module) = frame.module else { return Vec::new() };
        let path = &self.modules[module].path;
        let short = path.rsplit('/').next().unwrap_or_default();
        let function = locations
            .name(format!("{short}+{:#x}", frame.address.wrapping_add(u64::from(frame.returns))).as_bytes());
        vec![Location::clamped(locations.name(path.as_bytes()), function, 0, 0, 0)]
    }
}

/// What stands for the frames of a stack that could not be followed.
fn cut(reason: Option<u8>, locations: &mut Locations) -> Vec<Location> {
    let reason = reason.and_then(LossReason::from_number).map_or("unknown", |drop| drop.name());
    let function = locations.name(format!("[stack cut: {reason}]").as_bytes());
    vec![Location::clamped(locations.name(b""), function, 0, 0, 0)]
}

fn of_places(places: &[places::Place], locations: &mut Locations) -> Vec<Location> {
    let location = |place: &places::Place| {
        let (file, function) =
            (locations.name(place.file.as_bytes()), locations.name(place.function.as_bytes()));
        Location::clamped(file, function, place.line, place.start_char, place.end_char)
    };
    places.iter().rev().map(location).collect()
}
