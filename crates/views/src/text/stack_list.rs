//! Lists of stacks: what each did, and the calls that led there, the innermost first. Stacks with the same own caller
//! are one entry with its parts. Calls within libraries are one line, and what was printed before is only named.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;

use heapscribe_analyze::answer::{Frame, NodeId};

use super::functions::{At, Functions};
use super::layout::{Line, folded};
use super::out::{Out, heading};
use super::shared::{Caller, Part, Places, Shared, shared};
use crate::own::{Folded, Merged, OwnCaller, OwnCallers};
use heapscribe_symbols::{NamedFrame, NamedStacks, shown};
use heapscribe_units::{counted, percent, percent_cell};

/// Lines of one stack that a report shows.
pub(super) const LINES_SHOWN: usize = 12;
/// The same of an entry after the first ones of its list.
const LINES_SHOWN_LATER: usize = 6;
const FIRST: usize = 3;
/// Places and callers of one entry that a report shows.
const PARTS_SHOWN: usize = 4;
/// What stands between a function and its caller.
const BETWEEN: &str = " < ";
/// Columns of a caller's line that its path may not have.
const CALLER_INDENT: usize = 30;
/// The width of a line where nobody says how wide the terminal is.
pub const WIDTH: usize = 80;

/// Prints stacks.
pub struct StackPrinter<'a> {
    names: &'a NamedStacks<'a>,
    own: OwnCallers<'a>,
    functions: Functions<'a>,
    width: usize,
    /// The list that is printed now.
    list: String,
    /// Where lines of a stack have been printed.
    printed: HashMap<Vec<String>, String>,
}

impl<'a> StackPrinter<'a> {
    /// Nothing printed yet, on lines of so many columns.
    pub fn new(names: &'a NamedStacks<'a>, width: usize) -> Self {
        StackPrinter::folding(names, width, &Folded::default())
    }

    /// The same, stepping over more functions.
    pub fn folding(names: &'a NamedStacks<'a>, width: usize, folded: &Folded) -> Self {
        let (own, functions) = (OwnCallers::folding(names, folded), Functions::new(names));
        StackPrinter { names, own, functions, width, list: String::new(), printed: HashMap::new() }
    }

    /// Begins a list, with its heading.
    pub fn list(&mut self, out: Out<'_>, title: &str) -> io::Result<()> {
        self.begin(title.split(" (").next().unwrap_or(title));
        heading(out, title)
    }

    /// Begins a list whose heading stands there already.
    /// The width of a line.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn begin(&mut self, name: &str) {
        name.clone_into(&mut self.list);
    }

    /// The names of all stacks.
    pub(super) fn names(&self) -> &'a NamedStacks<'a> {
        self.names
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
        if self.names.is_evicted(stack) {
            return writeln!(out, "{rank:>4}. {figures}\n      stacks not in the trace");
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
        let shared = self.shared(of);
        let callers = &shared.callers;
        let columns = self.width.saturating_sub(CALLER_INDENT);
        let text = |caller| caller_text(caller, &shared.outer, of.figure, columns);
        let callers: Vec<_> = callers.iter().map(|caller| (caller.part, text(caller))).collect();
        let gap = (!callers.is_empty() && !shared.outer.is_empty()).then(Line::gap);
        let heading = shared.inner.into_iter().chain(gap).chain(shared.outer).collect();
        self.print(out, rank, &format!("{figures}, {stacks}"), heading)?;
        let places = self.places(of);
        let texts: Vec<_> = places.iter().map(|place| (place.part, place.text())).collect();
        let own = self.own.of(of.parts[0].0);
        let has_place = self.frames_of(own.node).get(own.line).is_some_and(Line::has_place);
        match (&places[..], &texts[..]) {
            // Without a symbol the place is the name, which the heading has.
            ([only], _) if !has_place => {
                if let Some(callee) = &only.through {
                    writeln!(out, "      all through {callee}")?;
                }
            }
            (_, [(_, text)]) => writeln!(out, "      all {text}")?,
            _ => print_parts(out, &texts, of.figure, "place")?,
        }
        print_parts(out, &callers, of.figure, "caller")
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

    /// What the stacks of an entry share, from their own caller outwards.
    fn shared(&mut self, of: &Merged) -> Shared {
        let mut at = Places::new();
        for (stack, figure) in &of.parts {
            let own = self.own.of(*stack);
            let place = At { node: own.node, line: own.line };
            at.entry(place).or_default().add(Part { figure: *figure, stacks: 1, stack: *stack });
        }
        shared(at, &mut self.functions)
    }

    fn frames_of(&self, node: NodeId) -> Vec<NamedFrame> {
        let frame = self.names.tree().frames(node).next();
        frame.map(|(_, frame)| self.names.lines_of(frame)).unwrap_or_default()
    }

    /// Where in the own caller, and through what it asks for memory, the place with most first.
    fn places(&mut self, of: &Merged) -> Vec<Place> {
        // First by where they are in the code, as thousands of stacks have a few names.
        let mut parts: HashMap<_, (OwnCaller, Part)> = HashMap::new();
        for (stack, figure) in &of.parts {
            let own = self.own.of(*stack);
            let at = self.functions.place(At { node: own.node, line: own.line });
            let (_, part) =
                parts.entry((at, self.callee_frame(*stack, own))).or_insert((own, Part::default()));
            part.add(Part { figure: *figure, stacks: 1, stack: *stack });
        }
        let mut places: HashMap<(String, Option<String>), Place> = HashMap::new();
        for ((_, callee), (own, part)) in parts {
            let key = (self.line_of(own), self.callee_of(callee, own));
            let place = places.entry(key.clone()).or_default();
            (place.line, place.through) = key;
            place.part.add(part);
        }
        let mut places: Vec<Place> = places.into_values().collect();
        places.sort_by_key(|place| (Reverse(place.part.figure), place.part.stack));
        places
    }

    fn line_of(&self, own: OwnCaller) -> String {
        self.frames_of(own.node).get(own.line).map_or_else(String::new, Line::short_place)
    }

    /// The frame that an own caller called, if it is not inlined.
    fn callee_frame(&self, stack: NodeId, own: OwnCaller) -> Option<Frame> {
        let inside = self.names.tree().frames(stack).take_while(|(node, _)| *node != own.node);
        inside.last().map(|(_, frame)| *frame).filter(|_| own.line == 0)
    }

    /// What an own caller called.
    fn callee_of(&self, callee: Option<Frame>, own: OwnCaller) -> Option<String> {
        let frame = match own.line.checked_sub(1) {
            Some(inlined) => self.frames_of(own.node).into_iter().nth(inlined),
            None => callee.and_then(|frame| self.names.lines_of(&frame).pop()),
        };
        frame?.function.map(|function| shown(&function))
    }
}

/// A line of an own caller, and what it calls there.
#[derive(Default)]
struct Place {
    line: String,
    through: Option<String>,
    part: Part,
}

impl Place {
    /// `at shop.c:12 through std::vector::push_back`.
    fn text(&self) -> String {
        let through = self.through.as_ref().map(|callee| format!(" through {callee}")).unwrap_or_default();
        format!("at {}{through}", self.line)
    }
}

/// `from load < open (55.0 %) < handle`: a caller and its callers, with the share of the entry where it gets less,
/// without those at the end that the heading has, in so many columns.
fn caller_text(caller: &Caller, outer: &[Line], whole: u64, columns: usize) -> String {
    let mut names = Vec::new();
    for segment in &caller.path {
        let mut lines: Vec<String> = folded(segment.lines.clone()).iter().map(Line::name).collect();
        if segment.part != caller.part && !lines.is_empty() {
            lines[0] = format!("{} ({})", lines[0], percent(segment.part.figure, whole));
        }
        names.append(&mut lines);
    }
    let outer: Vec<String> = folded(outer.to_vec()).iter().map(Line::name).collect();
    if names.len() > outer.len() && names.ends_with(&outer) {
        names.truncate(names.len() - outer.len());
    }
    // A recursion has thousands of names: those that have room are counted from the front.
    let mut width = 0;
    let has_room = |name: &&String| {
        width += name.chars().count() + if width == 0 { 0 } else { BETWEEN.len() };
        width <= columns
    };
    let count = names.iter().take_while(has_room).count();
    names.truncate(count.max(1));
    if names.is_empty() { "with no caller".to_owned() } else { format!("from {}", names.join(BETWEEN)) }
}

/// Parts of an entry, those with most first; the sum of all is the entry.
fn print_parts(out: Out<'_>, parts: &[(Part, String)], whole: u64, what: &str) -> io::Result<()> {
    let is_shown = |(part, _): &&(Part, String)| is_worth_showing(part.figure, whole);
    let shown = parts.iter().take(PARTS_SHOWN).take_while(is_shown).count();
    for (part, text) in &parts[..shown] {
        let stacks = match part.stacks {
            1 => format!("stack {}", part.stack.0),
            several => counted(several, "stack"),
        };
        writeln!(out, "      {:>6} {text}, {stacks}", percent_cell(part.figure, whole))?;
    }
    let rest = &parts[shown..];
    if rest.is_empty() {
        return Ok(());
    }
    let figure = rest.iter().map(|(part, _)| part.figure).fold(0, u64::saturating_add);
    let what = if shown > 0 { format!("more {what}") } else { what.to_owned() };
    writeln!(out, "      {:>6} in {}", percent(figure, whole), counted(rest.len() as u64, &what))
}

/// Whether something shows more than `0.0 %`; where there is only nothing, all of it is worth showing.
pub(super) fn is_worth_showing(figure: u64, whole: u64) -> bool {
    u128::from(figure) * 2000 >= u128::from(whole)
}

#[cfg(test)]
mod tests {
    use heapscribe_symbols::Resolver;

    use super::*;
    use crate::own::tests::tree;

    /// Nothing is listed with `0.0 %`, and no part of the rest is said to be nothing.
    #[test]
    fn what_rounds_to_nothing_is_not_listed() {
        for whole in [1, 999, 1000, 1999, 2000, 2001, 1_000_000, u64::MAX] {
            for figure in
                [1, whole / 2001, whole / 2000, whole / 2000 + 1, whole / 1999 + 1, whole / 2, whole]
            {
                let figure = figure.max(1);
                let shown = percent(figure, whole);
                let is_nothing = shown == "0.0 %";
                assert!(!(is_worth_showing(figure, whole) && is_nothing), "{figure} of {whole}: {shown}");
                assert_ne!(percent(figure, whole), "0.0 %", "{figure} of {whole}");
            }
        }
    }

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
