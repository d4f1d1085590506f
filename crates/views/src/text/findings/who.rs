//! Whom a finding is about: the own caller of a stack, and its callers.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use heapscribe_analyze::answer::NodeId;
use heapscribe_symbols::{NamedFrame, NamedStacks, short};

use crate::own::{Merged, OwnCallers, is_nameless, shown_name};
use crate::text::functions::{At, Functions};

/// Names of callers, at most.
const CALLERS: usize = 6;

/// The first frame of the program's own code on a stack.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Who {
    /// The function.
    pub name: String,
    /// `shop.c:12`, where lines are known.
    pub place: Option<String>,
    /// Its callers, the innermost first.
    pub callers: Vec<String>,
    /// The frame.
    pub frame: NamedFrame,
    /// Whether all of the stack is of libraries.
    pub is_of_libraries: bool,
}

impl Who {
    /// Of a stack.
    pub(crate) fn of(stack: NodeId, own: &mut OwnCallers<'_>, names: &NamedStacks<'_>) -> Who {
        if stack == NodeId::ROOT {
            return Who { name: "an unknown caller".to_owned(), ..Who::default() };
        }
        let caller = own.of(stack);
        let frames = names.tree().frames(caller.node);
        let mut lines = frames.flat_map(|(_, frame)| names.lines_of(frame)).skip(caller.line);
        let frame = lines.next().unwrap_or_default();
        let name = name_of(&frame);
        let mut callers: Vec<String> = Vec::new();
        for caller in lines.filter(|line| !own.is_library(line)).map(|line| name_of(&line)) {
            if callers.last().unwrap_or(&name) != &caller && callers.len() < CALLERS {
                callers.push(caller);
            }
        }
        let place = frame.place().map(|place| place.rsplit('/').next().unwrap_or(&place).to_owned());
        Who { name, place, callers, frame, is_of_libraries: caller.is_of_libraries }
    }

    /// Of several stacks with the same own caller, the one with most first: named are the callers that most comes through,
    /// and of blocks of several lines the first and how many there are more.
    pub(in crate::text) fn of_all(
        of: &Merged,
        own: &mut OwnCallers<'_>,
        functions: &mut Functions<'_>,
        names: &NamedStacks<'_>,
    ) -> Who {
        let Some(stack) = through_most(of, own, functions) else { return Who::default() };
        let mut who = Who::of(stack, own, names);
        let (mut seen, mut lines) = (HashSet::new(), HashSet::new());
        for (other, _) in &of.parts {
            let caller = own.of(*other);
            let Some((_, frame)) = names.tree().frames(caller.node).next() else { continue };
            if seen.insert((*frame, caller.line)) {
                lines.extend(names.lines_of(frame).get(caller.line).map(NamedFrame::place));
            }
        }
        lines.remove(&who.frame.place());
        who.place = who.place.map(|place| match lines.len() {
            0 => place,
            1 => format!("{place} and 1 more line"),
            more => format!("{place} and {more} more lines"),
        });
        who
    }

    /// The name, with the place of a closure or lambda, of whose name there are many.
    pub(super) fn in_sentence(&self) -> String {
        match self.place.as_ref().filter(|_| is_nameless(&self.name)) {
            Some(place) => format!("{} at {place}", self.name),
            None => self.name.clone(),
        }
    }

    /// `load at shop.c:12 < open < main`, in so many columns.
    pub fn line(&self, columns: usize) -> String {
        let mut line = if self.is_of_libraries { "only libraries: " } else { "" }.to_owned() + &self.name;
        if let Some(place) = &self.place {
            line = format!("{line} at {place}");
        }
        for caller in &self.callers {
            let longer = format!("{line} < {caller}");
            if longer.chars().count() > columns {
                break;
            }
            line = longer;
        }
        fitted(line, columns)
    }
}

/// The largest stack of those that come to the own caller from the function that most comes from. (A program whose `work`
/// was called by a loop once, and 3,000 times by a recursion with seven times as much, was said to be that of the loop.)
pub(super) fn through_most(
    of: &Merged,
    own: &mut OwnCallers<'_>,
    functions: &mut Functions<'_>,
) -> Option<NodeId> {
    let mut callers: HashMap<Option<u32>, (u64, NodeId)> = HashMap::new();
    for (stack, figure) in &of.parts {
        let own = own.of(*stack);
        let outside = functions.outside(At { node: own.node, line: own.line });
        let (sum, _) = callers.entry(functions.at(outside)).or_insert((0, *stack));
        *sum = sum.saturating_add(*figure);
    }
    callers.into_values().max_by_key(|(sum, stack)| (*sum, Reverse(*stack))).map(|(_, stack)| stack)
}

/// A line in so many columns; of a place in a module the module is cut, and not the offset.
fn fitted(line: String, columns: usize) -> String {
    const DOTS: &str = "...";
    if line.chars().count() <= columns {
        return line;
    }
    let offset = line.rfind("+0x").map_or("", |at| &line[at..]);
    let kept = columns.saturating_sub(DOTS.len() + offset.len());
    let name: String = line.chars().take(kept).collect();
    (name + DOTS + offset).chars().take(columns).collect()
}

fn name_of(frame: &NamedFrame) -> String {
    frame.function.as_deref().map_or_else(|| shown_name(frame), short)
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::{CallTree, Frame, Module, Node};
    use heapscribe_symbols::Resolver;
    use heapscribe_symbols::places::{Place, path_of};

    use super::*;
    use crate::own::Folded;

    /// A stranger's `two.c`: 3,000,010 bytes of line 6 and 10,010 of line 4 were "main at two.c:6".
    #[test]
    fn of_blocks_of_several_lines_the_others_are_counted() {
        let check = |lines: &[i64], expected: &str| {
            let mut tree = CallTree { nodes: vec![Node::default()], ..CallTree::default() };
            for (module, line) in (0..).zip(lines) {
                let (function, file) = ("main".to_owned(), "/src/two.c".to_owned());
                let place = Place { function, file, line: *line, start_char: 0, end_char: 0 };
                let path = path_of(&[place]).into_bytes();
                tree.modules.push(Module { path, build_id: Vec::new() });
                let frame = Frame { module: Some(module), ..Frame::default() };
                tree.nodes.push(Node { parent: NodeId::ROOT, frame });
            }
            let stacks: Vec<NodeId> = (1..=lines.len() as u32).map(NodeId).collect();
            let names = NamedStacks::look_up(&tree, stacks.iter().copied(), &Resolver::new("/nowhere"));
            let mut own = OwnCallers::folding(&names, &Folded::default());
            let parts = stacks.iter().map(|stack| (*stack, 1)).collect();
            let all = Merged { figure: stacks.len() as u64, parts };
            assert_eq!(Who::of_all(&all, &mut own, &mut Functions::new(&names), &names).line(80), expected);
        };
        check(&[6], "main at two.c:6");
        check(&[6, 6], "main at two.c:6");
        check(&[6, 4], "main at two.c:6 and 1 more line");
        check(&[6, 4, 4, 6, 9], "main at two.c:6 and 2 more lines");
    }

    #[test]
    fn what_is_too_long_keeps_its_offset() {
        for (line, columns, expected) in [
            ("load at shop.c:12", 17, "load at shop.c:12"),
            ("load_everything at shop.c:12", 12, "load_ever..."),
            (
                "_sqlite3.cpython-311-x86_64-linux-gnu.so+0x1f8c0",
                40,
                "_sqlite3.cpython-311-x86_64-l...+0x1f8c0",
            ),
            ("_sqlite3.so+0x1f8c0", 4, "...+"),
        ] {
            assert_eq!(fitted(line.to_owned(), columns), expected);
        }
    }

    /// A stranger's `work` had 41,200 bytes from a loop, of one stack, and 300,000 from a recursion, 100 of each call.
    #[test]
    fn callers_are_those_that_most_comes_through() {
        let (tree, stacks) = crate::own::tests::tree(&[
            &["work", "step", "main"],
            &["work", "rec", "main"],
            &["work", "rec", "rec", "main"],
            &["work", "rec", "rec", "rec", "main"],
        ]);
        let names = NamedStacks::look_up(&tree, stacks.iter().copied(), &Resolver::new("/nowhere"));
        let mut own = OwnCallers::folding(&names, &Folded::default());
        let merged = own.merge(stacks.iter().copied().zip([40, 20, 19, 18]));
        let who = Who::of_all(&merged[0], &mut own, &mut Functions::new(&names), &names);
        assert_eq!(
            (merged.len(), who.name.as_str(), who.callers),
            (1, "work", vec!["rec".to_owned(), "main".to_owned()])
        );
    }
}
