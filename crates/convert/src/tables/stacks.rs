//! The table of stacks: the number of each, and its frames with names where these are known.

use std::collections::BTreeMap;

use heapscribe_analyze::answer::{CallTree, NodeId};
use heapscribe_symbols::{NamedFrame, NamedStacks, Resolver};

use super::batch::{Batch, Column, Leaf, Nested, NestedKind, Values};
use super::stack_hash::StackHashes;

/// A line of a stack: a frame, or a function that is inlined at its place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Line {
    /// The build id of the frame's file in hexadecimal digits.
    pub build_id: Option<String>,
    /// The frame.
    pub frame: NamedFrame,
    /// How many bytes before the frame's address the call is that it is of: none where a signal interrupted it.
    pub call_bytes: u8,
}

/// Stacks by their numbers, each once.
#[derive(Default)]
pub struct Stacks(BTreeMap<i64, Vec<Line>>);

impl Stacks {
    /// Adds stacks of a tree.
    pub fn add(&mut self, tree: &CallTree, nodes: &[NodeId], resolver: &Resolver) {
        let hashes = StackHashes::of(tree);
        let names = NamedStacks::look_up(tree, nodes.iter().copied(), resolver);
        for node in nodes {
            self.0.entry(hashes.get(*node)).or_insert_with(|| lines(tree, *node, &names));
        }
    }

    /// As rows, so many at a time, by their numbers; at least one batch.
    pub fn batches(&self, rows: usize) -> impl Iterator<Item = Batch> {
        let all: Vec<_> = self.0.iter().map(|(number, lines)| (*number, lines.iter().collect())).collect();
        let parts = all.len().div_ceil(rows).max(1);
        (0..parts).map(move |n| batch(&all[n * rows..all.len().min((n + 1) * rows)]))
    }
}

/// The lines of a stack, the innermost first; functions that are inlined at a place have its offset.
fn lines(tree: &CallTree, node: NodeId, names: &NamedStacks<'_>) -> Vec<Line> {
    let frames = tree.frames(node).filter(|(_, frame)| frame.process().is_none());
    let lines = frames.flat_map(|(_, frame)| {
        let module = frame.module.and_then(|module| tree.modules.get(module as usize));
        let id = module.map(|module| &module.build_id).filter(|id| !id.is_empty());
        let id = id.map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        let call_bytes = frame.is_return_address.into();
        let line = move |line| Line { build_id: id.clone(), frame: line, call_bytes };
        names.lines_of(frame).into_iter().map(line)
    });
    lines.skip_while(|line| line.frame.is_recorders()).collect()
}

/// Rows of the table, each a number and its lines.
pub(super) fn batch(stacks: &[(i64, Vec<&Line>)]) -> Batch {
    let lines = || stacks.iter().flat_map(|(_, lines)| lines.iter());
    let frames = || lines().map(|line| &line.frame);
    let function =
        |line: &NamedFrame| line.function.clone().or_else(|| line.cut.is_some().then(|| line.name()));
    let functions: Vec<Option<String>> = frames().map(function).collect();
    let numbers: Vec<Option<u32>> = frames().map(|line| line.line).collect();
    let line = Leaf {
        name: "line",
        values: Values::I32(numbers.iter().map(|n| n.unwrap_or(0) as i32).collect()),
        known: Some(numbers.iter().map(Option::is_some).collect()),
    };
    let fields = vec![
        Leaf::optional_texts("build_id", lines().map(|line| line.build_id.as_deref())),
        Leaf::optional_texts("module", frames().map(|line| line.module.as_deref())),
        Leaf::new("offset", Values::I64(frames().map(|line| line.offset.cast_signed()).collect())),
        Leaf::optional_texts("function", functions.iter().map(Option::as_deref)),
        Leaf::optional_texts("file", frames().map(|line| line.file.as_deref())),
        line,
        Leaf::new("call_bytes", Values::I32(lines().map(|line| line.call_bytes.into()).collect())),
        Leaf::new("inlined", Values::I32(frames().map(|line| line.inlined.into()).collect())),
    ];
    let lengths = stacks.iter().map(|(_, lines)| lines.len() as u32).collect();
    let numbers = Values::I64(stacks.iter().map(|(number, _)| *number).collect());
    Batch {
        rows: stacks.len(),
        columns: vec![
            Column::Flat(Leaf::new("stack", numbers)),
            Column::Nested(Nested { name: "frames", kind: NestedKind::Records, lengths, fields }),
        ],
    }
}
