//! The rows of `top`: by stack, by function or by thread, filtered and sorted.

use std::cmp::Reverse;
use std::collections::HashMap;

use heapscribe_analyze::answer::{Amount, CallTree, NodeId};
use heapscribe_analyze::snapshot::LiveStack;

use super::growth::Growth;
use super::look::Look;
use super::names::NameCache;
use heapscribe_symbols::{NamedFrame, lossy};

/// Stacks that are shown one by one: a compiler has 100,000, and names take time.
pub(super) const STACKS: usize = 2000;

/// What the rows are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum By {
    #[default]
    Stack,
    /// All blocks below a function, however deep.
    Function,
    /// The thread that allocated.
    Thread,
}

/// What the rows are sorted by, the most first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Sort {
    #[default]
    Bytes,
    Blocks,
    Growth,
    Oldest,
}

/// A row.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Row {
    /// What it is, for people, and what a filter looks in.
    pub(crate) label: String,
    pub(crate) live: Amount,
    /// Bytes since the look before.
    pub(crate) growth: i64,
    /// Age of its oldest block, ns; 0 when that is not known.
    pub(crate) oldest_ns: u64,
    pub(crate) stack: Option<NodeId>,
}

/// What rows are made of.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) look: &'a Look,
    pub(super) growth: &'a Growth,
    pub(super) names: &'a NameCache,
}

impl Rows<'_> {
    /// The rows of a kind whose labels have `filter` in them, sorted.
    pub(super) fn list(&self, by: By, filter: &str, sort: Sort) -> Vec<Row> {
        let mut rows = match by {
            By::Stack => self.stacks(),
            By::Function => self.functions(),
            By::Thread => self.threads(),
        };
        let wanted = filter.to_lowercase();
        rows.retain(|row| row.label.to_lowercase().contains(&wanted));
        match sort {
            Sort::Bytes => rows.sort_by_key(|row| Reverse(row.live.bytes)),
            Sort::Blocks => rows.sort_by_key(|row| Reverse(row.live.blocks)),
            Sort::Growth => rows.sort_by_key(|row| Reverse(row.growth)),
            Sort::Oldest => rows.sort_by_key(|row| Reverse(row.oldest_ns)),
        }
        rows
    }

    /// Stacks; those that read the same, as two calls on one line do, are one row.
    fn stacks(&self) -> Vec<Row> {
        let mut rows: HashMap<String, Row> = HashMap::new();
        for stack in largest(self.look) {
            let frames: Vec<String> = self.frames(stack.node).iter().map(with_place).collect();
            let label = if frames.is_empty() { "[unknown stack]".to_owned() } else { frames.join(" < ") };
            let row = rows.entry(label).or_default();
            self.add(row, stack);
            row.stack.get_or_insert(stack.node);
        }
        rows_of(rows)
    }

    fn add(&self, row: &mut Row, stack: &LiveStack) {
        row.live.add(&stack.live);
        row.growth = row.growth.saturating_add(self.growth.of_stack(stack.node));
        row.oldest_ns = row.oldest_ns.max(stack.oldest_ns);
    }

    fn functions(&self) -> Vec<Row> {
        let mut rows: HashMap<String, Row> = HashMap::new();
        for stack in largest(self.look) {
            for name in self.functions_of(&self.look.live.tree, stack.node) {
                self.add(rows.entry(name).or_default(), stack);
            }
        }
        for (node, change) in self.growth.freed() {
            for name in self.functions_of(self.growth.tree(), *node) {
                rows.entry(name).and_modify(|row| row.growth = row.growth.saturating_add(*change));
            }
        }
        rows_of(rows)
    }

    /// The functions of a stack; one that calls itself holds its blocks once.
    fn functions_of(&self, tree: &CallTree, stack: NodeId) -> Vec<String> {
        let mut names: Vec<String> = self.names.frames(tree, stack).iter().map(NamedFrame::name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn threads(&self) -> Vec<Row> {
        let row = |thread: &heapscribe_analyze::snapshot::LiveThread| Row {
            label: format!("{} (thread {}, tid {})", lossy(&thread.name), thread.id, thread.tid),
            live: thread.live,
            growth: self.growth.of_thread(thread.id),
            ..Row::default()
        };
        self.look.live.threads.iter().map(row).collect()
    }

    /// The frames of a stack.
    pub(super) fn frames(&self, stack: NodeId) -> Vec<NamedFrame> {
        self.names.frames(&self.look.live.tree, stack)
    }
}

/// Rows by their labels, in an order that does not change from look to look.
fn rows_of(rows: HashMap<String, Row>) -> Vec<Row> {
    let mut rows: Vec<Row> = rows.into_iter().map(|(label, row)| Row { label, ..row }).collect();
    rows.sort_unstable_by(|a, b| a.label.cmp(&b.label));
    rows
}

/// The stacks that are shown one by one, those with most bytes first.
pub(super) fn largest(look: &Look) -> Vec<&LiveStack> {
    let mut stacks: Vec<&LiveStack> = look.live.stacks.iter().collect();
    stacks.sort_by_key(|stack| (Reverse(stack.live.bytes), stack.node));
    stacks.truncate(STACKS);
    stacks
}

/// `load shop.c:12`: two calls in one function differ in their lines only.
fn with_place(frame: &NamedFrame) -> String {
    let name = frame.shown_name();
    match frame.place() {
        Some(place) => format!("{name} {}", place.rsplit('/').next().unwrap_or(&place)),
        None => name,
    }
}
