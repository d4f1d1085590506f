//! Lists of stacks: what each did, and the calls that led there, the innermost first. Stacks with the same own caller
//! are one entry with its parts. Calls within libraries are one line, and what was printed before is only named.

use std::collections::{BTreeMap, HashMap};
use std::io;

use heapscribe_analyze::answer::NodeId;

use super::callers::Callers;
use super::layout::{Line, folded};
use super::out::{Out, heading};
use crate::own::{Merged, OwnCaller, OwnCallers};
use heapscribe_symbols::{NamedFrame, NamedStacks, short};
use heapscribe_units::{counted, percent};

/// Lines of one stack that a report shows.
pub(super) const LINES_SHOWN: usize = 12;
/// The same of an entry after the first ones of its list.
const LINES_SHOWN_LATER: usize = 6;
const FIRST: usize = 3;
/// Places of one entry that a report shows.
const PLACES_SHOWN: usize = 4;
/// Frames that are enough to know which library a block is of.
const INNERMOST: usize = 64;
/// The width of a line where nobody says how wide the terminal is.
pub const WIDTH: usize = 80;

/// Prints stacks.
pub struct StackPrinter<'a> {
    names: &'a NamedStacks<'a>,
    own: OwnCallers<'a>,
    width: usize,
    /// The list that is printed now.
    list: String,
    /// Where lines of a stack have been printed.
    printed: HashMap<Vec<String>, String>,
}

impl<'a> StackPrinter<'a> {
    /// Nothing printed yet, on lines of so many columns.
    pub fn new(names: &'a NamedStacks<'a>, width: usize) -> Self {
        let (own, list) = (OwnCallers::new(names), String::new());
        StackPrinter { names, own, width, list, printed: HashMap::new() }
    }

    /// Begins a list, with its heading.
    pub fn list(&mut self, out: Out<'_>, title: &str) -> io::Result<()> {
        self.begin(title.split(" (").next().unwrap_or(title));
        heading(out, title)
    }

    /// Begins a list whose heading stands there already.
    pub(super) fn begin(&mut self, name: &str) {
        name.clone_into(&mut self.list);
    }

    /// The innermost frames of a stack.
    pub(super) fn innermost(&self, stack: NodeId) -> Vec<NamedFrame> {
        self.names.innermost(stack, INNERMOST)
    }

    /// Stacks with the same own caller together, the largest figure first.
    pub(super) fn merge(&mut self, stacks: impl Iterator<Item = (NodeId, u64)>) -> Vec<Merged> {
        self.own.merge(stacks)
    }

    /// An entry of a list: one stack.
    pub fn entry(&mut self, out: Out<'_>, rank: usize, figures: &str, stack: NodeId) -> io::Result<()> {
        if stack == NodeId::ROOT {
            return writeln!(out, "{rank:>4}. {figures}\n      unknown stack");
        }
        let lines = self.names.frames(stack).into_iter().map(Line::from).collect();
        self.print(out, rank, &format!("{figures}, stack {}", stack.0), lines)
    }

    /// An entry of a list: stacks with the same own caller.
    pub(super) fn merged(&mut self, out: Out<'_>, rank: usize, figures: &str, of: &Merged) -> io::Result<()> {
        if let [(stack, _)] = of.parts[..] {
            return self.entry(out, rank, figures, stack);
        }
        let stacks = counted(of.parts.len() as u64, "stack");
        let path = self.most_used_path(of);
        self.print(out, rank, &format!("{figures}, {stacks}"), path)?;
        self.print_places(out, of)
    }

    fn print_places(&mut self, out: Out<'_>, of: &Merged) -> io::Result<()> {
        let places = self.places(of);
        if let [place] = &places[..] {
            return match &place.through {
                Some(function) => writeln!(out, "      all through {function}"),
                None => Ok(()),
            };
        }
        for place in places.iter().take(PLACES_SHOWN) {
            writeln!(out, "      {:>6} {}", percent(place.figure, of.figure), place.text())?;
        }
        let rest = places.get(PLACES_SHOWN..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(());
        }
        let figure = rest.iter().map(|place| place.figure).fold(0, u64::saturating_add);
        let more = counted(rest.len() as u64, "more place");
        writeln!(out, "      {:>6} in {more}", percent(figure, of.figure))
    }

    fn print(&mut self, out: Out<'_>, rank: usize, figures: &str, lines: Vec<Line>) -> io::Result<()> {
        writeln!(out, "{rank:>4}. {figures}")?;
        let own = lines.iter().find(|line| line.is_own()).or(lines.first());
        let own = own.map_or_else(String::new, |line| line.text(self.width));
        let texts: Vec<String> = folded(lines).iter().map(|line| line.text(self.width)).collect();
        if let Some(place) = self.printed.get(&texts).filter(|_| texts.len() > 2) {
            return writeln!(out, "      {own}\n      (its callers: see {place})");
        }
        let shown = if rank <= FIRST { LINES_SHOWN } else { LINES_SHOWN_LATER };
        let hidden = texts.len().saturating_sub(shown);
        for line in texts.iter().take(shown) {
            writeln!(out, "      {line}")?;
        }
        if hidden > 0 {
            writeln!(out, "      ... {} (see --json)", counted(hidden as u64, "more frame"))?;
        }
        self.printed.insert(texts, format!("entry {rank} of {}", self.list));
        Ok(())
    }

    /// From the own caller outwards, at each step to the caller that most of the entry comes from.
    fn most_used_path(&mut self, of: &Merged) -> Vec<Line> {
        let mut at = BTreeMap::new();
        let mut first: Option<OwnCaller> = None;
        for (stack, figure) in &of.parts {
            let own = self.own.of(*stack);
            first.get_or_insert(own);
            *at.entry(own.node).or_insert(0_u64) += figure;
        }
        let mut lines = Vec::new();
        let mut skipped = first.map_or(0, |own| own.line);
        let mut callers = Callers::new(self.names);
        while let Some(step) = callers.step(at) {
            let frames = self.frames_of(step.node);
            let part = Some(percent(step.figure, of.figure)).filter(|part| part != "100.0 %");
            let last = frames.len().saturating_sub(1);
            let frames = frames.into_iter().enumerate().skip(std::mem::take(&mut skipped));
            let line = |(n, frame)| Line::of_part(frame, part.clone(), step.is_recursive && n == last);
            lines.extend(frames.map(line));
            at = step.callers;
        }
        lines
    }

    fn frames_of(&self, node: NodeId) -> Vec<NamedFrame> {
        let frame = self.names.tree().frames(node).next();
        frame.map(|(_, frame)| self.names.lines_of(frame)).unwrap_or_default()
    }

    /// Where in the own caller, and through what it asks for memory, the place with most first.
    fn places(&mut self, of: &Merged) -> Vec<Place> {
        let mut places: HashMap<(String, Option<String>), Place> = HashMap::new();
        for (stack, figure) in &of.parts {
            let own = self.own.of(*stack);
            let key = (self.line_of(own), self.callee_of(*stack, own));
            let place = places.entry(key.clone()).or_default();
            (place.line, place.through) = key;
            place.figure = place.figure.saturating_add(*figure);
            place.stacks.push(*stack);
        }
        let mut places: Vec<Place> = places.into_values().collect();
        places.sort_by(|a, b| b.figure.cmp(&a.figure).then_with(|| a.stacks.cmp(&b.stacks)));
        places
    }

    fn line_of(&self, own: OwnCaller) -> String {
        self.frames_of(own.node).get(own.line).map_or_else(String::new, Line::short_place)
    }

    /// What an own caller called.
    fn callee_of(&self, stack: NodeId, own: OwnCaller) -> Option<String> {
        let frame = match own.line.checked_sub(1) {
            Some(inlined) => self.frames_of(own.node).into_iter().nth(inlined),
            None => {
                let tree = self.names.tree();
                let inside = tree.frames(stack).take_while(|(node, _)| *node != own.node).last();
                inside.and_then(|(node, _)| self.frames_of(node).pop())
            }
        };
        frame?.function.map(|function| short(&function))
    }
}

/// A line of an own caller, and what it calls there.
#[derive(Default)]
struct Place {
    line: String,
    through: Option<String>,
    figure: u64,
    stacks: Vec<NodeId>,
}

impl Place {
    /// `at shop.c:12 through std::vector::push_back, stack 4`.
    fn text(&self) -> String {
        let through = self.through.as_ref().map(|callee| format!(" through {callee}")).unwrap_or_default();
        let stacks = match self.stacks[..] {
            [stack] => format!("stack {}", stack.0),
            _ => counted(self.stacks.len() as u64, "stack"),
        };
        format!("at {}{through}, {stacks}", self.line)
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_symbols::Resolver;

    use super::*;
    use crate::own::tests::tree;

    #[test]
    fn stacks_of_one_own_caller_have_parts_and_what_was_printed_is_named() {
        let (tree, stacks) = tree(&[
            &[
                "operator new(unsigned long)",
                "std::vector<int>::push_back(int&&)",
                "load",
                "open",
                "main",
                "_start",
            ],
            &[
                "operator new(unsigned long)",
                "std::map<int, int>::insert(int)",
                "load",
                "load",
                "open",
                "main",
                "_start",
            ],
            &[
                "operator new(unsigned long)",
                "std::map<int, int>::insert(int)",
                "load",
                "other",
                "main",
                "_start",
            ],
            &["store", "main"],
        ]);
        let names = NamedStacks::look_up(&tree, stacks.iter().copied(), &Resolver::new("/nowhere"));
        let mut printer = StackPrinter::new(&names, WIDTH);
        let mut out = Vec::new();
        for title in ["Peak", "Leaked (estimated)", "Most bytes"] {
            printer.list(&mut out, title).unwrap();
            let merged = printer.merge(stacks.iter().copied().zip([50, 20, 10, 5]));
            for (i, of) in merged.iter().enumerate() {
                printer.merged(&mut out, i + 1, &format!("{} bytes", of.figure), of).unwrap();
            }
        }
        let text = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
        insta::assert_snapshot!(text);
    }
}
