//! The calls of a recording by function: what each question is added up in. It is made once, with all names; a question
//! then only adds numbers.
//!
//! A node is a function and who called it. Several places in a function, and a function at several addresses, are one
//! node; an inlined function is a node below the one that it was inlined into.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use heapscribe_analyze::answer::{CallTree, Frame, NodeId};
use heapscribe_symbols::{NamedFrame, NamedStacks, Resolver};

use super::function::{Function, FunctionId, Functions, FunctionsBuild};
use super::nodes::{Call, CallId, Nodes};
use super::sources::{Line, Sources};

/// All calls.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    functions: Arc<Functions>,
    nodes: Vec<Call>,
    /// The calls of each node: `callees[first_callee[n]..first_callee[n + 1]]`.
    first_callee: Vec<u32>,
    callees: Vec<CallId>,
    /// Where each of the stacks ends that it was made of, in their order.
    tips: Vec<CallId>,
    /// Where stacks end that are not among them.
    unknown: CallId,
}

impl Calls {
    /// Of these stacks of a tree; processes are called by their labels.
    pub(crate) fn new(
        tree: &CallTree,
        stacks: &[NodeId],
        resolver: &Resolver,
        labels: &HashMap<usize, String>,
    ) -> (Calls, Sources) {
        let names = NamedStacks::look_up(tree, stacks.iter().copied(), resolver);
        let mut functions = FunctionsBuild::default();
        let nodes = Nodes::new(functions.number("all".to_owned(), None, None));
        let (recorders, numbers) = (HashSet::new(), HashMap::new());
        let mut build = Build { functions, nodes, recorders, numbers, frames: vec![Vec::new()] };
        let (mut ends, mut frames) = (vec![CallId::default()], vec![NO_LINES]);
        for node in tree.nodes.iter().skip(1) {
            let caller = ends[node.parent.0 as usize];
            let (end, frame) = match node.frame.process() {
                Some(process) => (build.process(caller, labels.get(&process)), NO_LINES),
                None => build.frame(caller, &node.frame, &names),
            };
            ends.push(end);
            frames.push(frame);
        }
        let mut tip = |stack: &NodeId| match (ends[stack.0 as usize], tree.is_unknown(*stack)) {
            (end, true) => build.unknown(end),
            (end, false) => build.tip(end),
        };
        let tips = stacks.iter().map(&mut tip).collect();
        let unknown = build.unknown(CallId(0));
        let sources = Sources::new(tree, &frames, build.without_recorders(), stacks);
        let calls = Calls::of(build.functions.finish(), build.nodes.into_calls(), unknown);
        (Calls { tips, ..calls }, sources)
    }

    /// The same functions, called otherwise; stacks are not among them.
    pub(super) fn with_nodes(&self, nodes: Vec<Call>, unknown: CallId) -> Calls {
        let mut calls = Calls { functions: self.functions.clone(), nodes, unknown, ..Calls::default() };
        calls.link();
        calls
    }

    /// Of these functions.
    pub(super) fn of(functions: Functions, nodes: Vec<Call>, unknown: CallId) -> Calls {
        Calls { functions: Arc::new(functions), ..Calls::default() }.with_nodes(nodes, unknown)
    }

    /// The same calls with another name for what is called `from`, and is in no file: a process.
    pub(crate) fn renamed(&self, from: &str, to: &str) -> Calls {
        Calls::of(self.functions.renamed(from, to), self.nodes.clone(), self.unknown)
    }

    pub(crate) fn functions(&self) -> &Functions {
        &self.functions
    }

    pub(crate) fn function(&self, id: FunctionId) -> &Function {
        self.functions.get(id)
    }

    pub(crate) fn nodes(&self) -> &[Call] {
        &self.nodes
    }

    pub(crate) fn node(&self, id: CallId) -> &Call {
        &self.nodes[id.0 as usize]
    }

    pub(crate) fn tips(&self) -> &[CallId] {
        &self.tips
    }

    pub(crate) fn unknown(&self) -> CallId {
        self.unknown
    }

    /// What a node calls.
    pub(crate) fn callees(&self, id: CallId) -> &[CallId] {
        let at = |n: u32| self.first_callee[n as usize] as usize;
        &self.callees[at(id.0)..at(id.0 + 1)]
    }

    /// The node and its callers, the innermost first, without the root.
    pub(crate) fn callers(&self, id: CallId) -> impl Iterator<Item = CallId> {
        std::iter::successors(Some(id), |at| Some(self.node(*at).caller)).take_while(|at| at.0 != 0)
    }

    fn link(&mut self) {
        let mut first = vec![0; self.nodes.len() + 1];
        for node in self.nodes.iter().skip(1) {
            first[node.caller.0 as usize + 1] += 1;
        }
        for n in 1..first.len() {
            first[n] += first[n - 1];
        }
        let mut next = first.clone();
        self.callees = vec![CallId::default(); self.nodes.len().saturating_sub(1)];
        for (n, node) in (0..).zip(&self.nodes).skip(1) {
            let at = &mut next[node.caller.0 as usize];
            self.callees[*at as usize] = CallId(n);
            *at += 1;
        }
        self.first_callee = first;
    }
}

/// Calls that are being made.
struct Build {
    functions: FunctionsBuild,
    nodes: Nodes,
    /// Functions of the recorder, where that is a part of the program.
    recorders: HashSet<FunctionId>,
    /// The lines of frames, the innermost first, and the number of each: frames are few, nodes of a tree are many.
    frames: Vec<Vec<Line>>,
    numbers: HashMap<Frame, u32>,
}

/// The number of a frame that has no lines.
const NO_LINES: u32 = 0;

impl Build {
    /// One that is in no file.
    fn function(&mut self, name: &str) -> FunctionId {
        self.functions.number(name.to_owned(), None, None)
    }

    /// The node of a process; that of its caller where it has no label.
    fn process(&mut self, caller: CallId, label: Option<&String>) -> CallId {
        let Some(label) = label else { return caller };
        let function = self.function(label);
        self.nodes.add(caller, function)
    }

    /// The innermost node of a frame, and the frame's number.
    fn frame(&mut self, caller: CallId, frame: &Frame, names: &NamedStacks<'_>) -> (CallId, u32) {
        let number = match self.numbers.get(frame) {
            Some(known) => *known,
            None => {
                let lines = names.lines_of(frame).into_iter().map(|line| self.line(line)).collect();
                self.frames.push(lines);
                let number = self.frames.len() as u32 - 1;
                self.numbers.insert(*frame, number);
                number
            }
        };
        let lines = self.frames[number as usize].iter().rev();
        (lines.fold(caller, |caller, line| self.nodes.add(caller, line.function)), number)
    }

    fn line(&mut self, named: NamedFrame) -> Line {
        let (name, is_recorders) = (named.name(), named.is_recorders());
        let line = named.line.filter(|_| named.file.is_some());
        let function = self.functions.number(name, named.file.or(named.module.clone()), named.module);
        if is_recorders {
            self.recorders.insert(function);
        }
        Line { function, line }
    }

    /// The lines of frames, without those that nobody asks about.
    fn without_recorders(&self) -> Vec<Vec<Line>> {
        let is_shown = |line: &&Line| !self.recorders.contains(&line.function);
        self.frames.iter().map(|lines| lines.iter().filter(is_shown).copied().collect()).collect()
    }

    fn unknown(&mut self, caller: CallId) -> CallId {
        let function = self.function("[unknown stack]");
        self.nodes.add(caller, function)
    }

    /// Nobody asks who called the allocator to learn that it was called.
    fn tip(&self, end: CallId) -> CallId {
        let is_shown = |at: &CallId| {
            let function = self.nodes.get(*at).function;
            !self.recorders.contains(&function)
        };
        self.nodes.callers(end).find(is_shown).unwrap_or(end)
    }
}
