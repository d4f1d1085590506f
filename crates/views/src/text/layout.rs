//! How a line of a stack looks: a short name, and beside it where that is; calls within libraries folded into one.

use crate::own::{is_library, is_wrapper};
use heapscribe_symbols::{NamedFrame, are_full_names_shown, shown};
use heapscribe_units::counted;

/// Columns before a frame.
const INDENT: usize = 6;
/// The part of a line that names of functions have, in percent.
const NAMES_PERCENT: usize = 48;

/// Functions that call each other in a circle, at most, for the circle to be folded.
const ROUND_MAX: usize = 4;

/// A line of a stack.
#[derive(Clone, Default)]
pub(super) struct Line {
    frame: NamedFrame,
    /// Calls of libraries that it stands for, besides itself.
    folded: usize,
    /// Whether it is a library's, in a stack that has lines of the program.
    is_library: bool,
    /// How often it and the lines before it were called by themselves, and how many lines that are.
    rounds: usize,
    round: usize,
    /// Whether it stands for several lines of its function, or places in a module without lines.
    is_several: bool,
    /// Whether it stands for what is not the same in all stacks.
    is_gap: bool,
}

impl From<NamedFrame> for Line {
    fn from(frame: NamedFrame) -> Line {
        Line { frame, ..Line::default() }
    }
}

impl Line {
    /// A line of all stacks of an entry, which perhaps come through it several times.
    pub(super) fn of_all(frame: NamedFrame, is_recursive: bool) -> Line {
        Line { rounds: usize::from(is_recursive), ..Line::from(frame) }
    }

    /// The same of one more stack: what differs is left out.
    pub(super) fn and_of(mut self, frame: &NamedFrame) -> Line {
        self.frame.inlined &= frame.inlined;
        self.is_several = self.is_several || place(frame) != place(&self.frame);
        if frame.file != self.frame.file {
            self.frame.file = None;
        }
        if frame.module != self.frame.module && frame.function.is_some() {
            self.frame.module = None;
        }
        self
    }

    /// Between lines of all stacks, for those that are not the same in all.
    pub(super) fn gap() -> Line {
        Line { is_gap: true, ..Line::default() }
    }

    /// Whether it is neither a library's nor a wrapper of malloc.
    pub(super) fn is_own(&self) -> bool {
        !self.is_gap && !is_library(&self.frame) && !is_wrapper(&self.frame)
    }

    /// The function and where it is: beside it, or on a line of its own below a long name.
    pub(super) fn text(&self, width: usize) -> String {
        let columns = width.saturating_sub(INDENT);
        let name = self.name();
        let name = if are_full_names_shown() { name } else { cut(&name, columns) };
        let Some(place) = self.place().filter(|_| !self.is_library && !self.is_gap) else { return name };
        let names = columns * NAMES_PERCENT / 100;
        let length = name.chars().count();
        if length <= names {
            format!("{name:<names$} {}", cut_left(&place, columns.saturating_sub(names + 1)))
        } else if length + 1 + place.chars().count() <= columns {
            format!("{name} {place}")
        } else {
            format!("{name}\n{:INDENT$}    {}", "", cut_left(&place, columns.saturating_sub(4)))
        }
    }

    /// What all stacks share of the place: of several lines their file, of places in a module the module.
    fn place(&self) -> Option<String> {
        let NamedFrame { file, module, function, .. } = &self.frame;
        if !self.is_several {
            return place(&self.frame);
        }
        let module = module.as_deref().filter(|_| function.is_some());
        let module = module.map(|path| path.rsplit('/').next().unwrap_or(path).to_owned());
        file.clone().or(module)
    }

    /// The function, and what there is to say of it.
    pub(super) fn name(&self) -> String {
        let frame = &self.frame;
        if self.is_gap {
            return "... (called from several places)".to_owned();
        }
        let mut name = frame.function.as_deref().map_or_else(|| frame.name(), shown);
        let folded = format!(" (+{})", counted(self.folded as u64, "library frame"));
        let rounds = match self.round {
            0 => " (recursive)".to_owned(),
            1 => format!(" (recursive, {} calls)", self.rounds),
            _ => format!(" (these {} lines {} times)", self.round, self.rounds),
        };
        for (set, mark) in [
            (frame.inlined && self.folded == 0, " (inlined)"),
            (frame.guessed, " (guessed)"),
            (self.folded > 0, folded.as_str()),
            (self.rounds > 0, rounds.as_str()),
        ] {
            if set {
                name.push_str(mark);
            }
        }
        name
    }

    /// Whether it has a place beside its name.
    pub(super) fn has_place(frame: &NamedFrame) -> bool {
        place(frame).is_some()
    }

    /// `shop.c:12`, else the place in the module.
    pub(super) fn short_place(frame: &NamedFrame) -> String {
        let place = place(frame).unwrap_or_else(|| frame.name());
        place.rsplit('/').next().unwrap_or(&place).to_owned()
    }
}

/// Lines with each run of several library calls as one, the outermost of them, which is what the program called; and
/// with each recursion as one round of it. Where the program has no part, nothing is left out.
pub(super) fn folded(lines: Vec<Line>) -> Vec<Line> {
    let has_own = lines.iter().any(Line::is_own);
    let mut all: Vec<Line> = Vec::new();
    for line in lines {
        let is_library = has_own && !line.is_gap && line.frame.cut.is_none() && is_library(&line.frame);
        let line = Line { is_library, ..line };
        match all.last_mut().filter(|last| is_library && last.is_library) {
            Some(last) => *last = Line { folded: last.folded + 1, ..line },
            None => {
                fold_recursion(&mut all);
                all.push(line);
            }
        }
    }
    fold_recursion(&mut all);
    all
}

/// Takes the last round of a recursion out again when it is the one before it once more.
fn fold_recursion(lines: &mut Vec<Line>) {
    let round = |length: &usize| {
        let begin = lines.len().checked_sub(2 * length)?;
        let (before, last) = lines[begin..].split_at(*length);
        // A function may be inlined into the rest of itself; that is no recursion.
        let may_recur = *length > 1 || !before[0].frame.inlined;
        let is_same = before.iter().zip(last).all(|(a, b)| a.frame.name() == b.frame.name());
        let (end, inner) = (length - 1, ..length - 1);
        let is_as_often = before[inner].iter().zip(&last[inner]).all(|(a, b)| a.rounds == b.rounds);
        let counts = before[end].rounds == 0 || before[end].round == *length;
        (may_recur && is_same && is_as_often && counts && last[end].rounds == 0).then_some(*length)
    };
    let Some(length) = (1..=ROUND_MAX).find_map(|length| round(&length)) else { return };
    lines.truncate(lines.len() - length);
    if let Some(last) = lines.last_mut() {
        (last.rounds, last.round) = (last.rounds.max(1) + 1, length);
    }
}

/// File and line; for a function without them its place in the module.
fn place(frame: &NamedFrame) -> Option<String> {
    let in_module = || {
        let module = frame.module.as_deref().filter(|_| frame.function.is_some())?;
        Some(format!("{}+{:#x}", module.rsplit('/').next().unwrap_or(module), frame.offset))
    };
    frame.place().or_else(in_module).filter(|place| !place.is_empty())
}

fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    text.chars().take(columns.saturating_sub(3)).chain("...".chars()).collect()
}

/// A path that is too long keeps its end, from a `/` on.
fn cut_left(path: &str, columns: usize) -> String {
    let length = path.chars().count();
    if length <= columns {
        return path.to_owned();
    }
    let end: String = path.chars().skip(length - columns.saturating_sub(3)).collect();
    let end = end.find('/').map_or(end.as_str(), |slash| &end[slash..]);
    format!("...{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, line: u32) -> NamedFrame {
        NamedFrame {
            function: Some(function.to_owned()),
            file: Some("/src/a.c".to_owned()).filter(|_| line > 0),
            line: Some(line),
            module: Some("/opt/libz.so".to_owned()),
            offset: 0x42,
            ..NamedFrame::default()
        }
    }

    #[test]
    fn a_frame_is_a_line_or_two() {
        let long = "application::model::warehouse::Inventory::reorder_what_is_short";
        let inlined = NamedFrame { inlined: true, ..frame("grow", 7) };
        let bare = NamedFrame { function: None, guessed: true, ..frame("", 0) };
        let deep = NamedFrame {
            file: Some("/home/someone/projects/warehouse/application/model/inventory.cpp".to_owned()),
            ..frame("reorder", 1234)
        };
        let frames = [frame("main", 3), frame(long, 12), inlined, frame("deflate", 0), bare, deep];
        let lines = |width| frames.iter().map(move |one| Line::from(one.clone()).text(width));
        insta::assert_snapshot!(lines(80).chain(lines(120)).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn runs_of_libraries_are_one_line() {
        let check = |functions: &[&str], expected: &[&str]| {
            let lines = functions.iter().map(|function| Line::from(frame(function, 0))).collect();
            let names: Vec<String> = folded(lines).iter().map(Line::name).collect();
            assert_eq!(names, expected, "{functions:?}");
        };
        let push = "std::vector<int, std::allocator<int> >::push_back(int const&)";
        check(
            &["operator new(unsigned long)", push, "load", "main"],
            &["std::vector::push_back (+1 library frame)", "load", "main"],
        );
        check(
            &["std::a", "load", "std::b", "std::c", "std::d"],
            &["std::a", "load", "std::d (+2 library frames)"],
        );
        check(&["operator new(unsigned long)", "std::a"], &["operator new", "std::a"]);
        check(&[], &[]);
    }

    #[test]
    fn recursion_is_one_round_of_it() {
        let check = |functions: &str, expected: &str| {
            let lines = functions.split(' ').map(|function| Line::from(frame(function, 0))).collect();
            let names: Vec<String> = folded(lines).iter().map(Line::name).collect();
            assert_eq!(names.join(" | "), expected, "{functions}");
        };
        check("a a a main", "a (recursive, 3 calls) | main");
        check("a b a b a b main", "a | b (these 2 lines 3 times) | main");
        check("c a b a b a", "c | a | b (these 2 lines 2 times) | a");
        check("a std::f a std::f main", "a | std::f (these 2 lines 2 times) | main");
        check("a b c", "a | b | c");
        check("a a b a b c", "a (recursive, 2 calls) | b | a | b | c");
        check("a b a b b", "a | b (these 2 lines 2 times) | b");
        check("a a b a a b", "a (recursive, 2 calls) | b (these 2 lines 2 times)");
    }
}
