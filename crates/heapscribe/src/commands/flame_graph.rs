//! What a flame graph is drawn of: stacks by the names of their functions, how much each is, and the lines of source
//! that each box stands for, which its tooltip shows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Functions that call each other in a circle, at most, for the circle to be folded.
const ROUND_MAX: usize = 4;
/// Lines of source that a tooltip has.
const PLACES_SHOWN: usize = 3;

/// A function of a stack and where in it the next one is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Call {
    pub(super) function: String,
    pub(super) places: BTreeSet<String>,
}

/// Stacks and how much each is.
#[derive(Debug, Default)]
pub(super) struct FlameGraph {
    /// By their functions, the outermost first.
    stacks: BTreeMap<Vec<String>, Stack>,
}

#[derive(Debug, Default)]
struct Stack {
    width: u64,
    places: Vec<BTreeSet<String>>,
}

/// A box: how deep, from 1, and what is left of it.
type At = (usize, u64);

impl FlameGraph {
    /// Adds a stack, the outermost call first.
    pub(super) fn add(&mut self, calls: Vec<Call>, width: u64) {
        if width == 0 {
            return;
        }
        // The format separates frames by semicolons and stacks by lines.
        let name = |call: &Call| call.function.replace(';', ":").replace('\n', " ");
        let of = self.stacks.entry(calls.iter().map(name).collect()).or_default();
        of.width = of.width.saturating_add(width);
        of.places.resize_with(calls.len(), BTreeSet::new);
        for (all, call) in of.places.iter_mut().zip(calls) {
            all.extend(call.places);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// Calls of the deepest stack.
    pub(super) fn depth(&self) -> usize {
        self.stacks.keys().map(Vec::len).max().unwrap_or(0)
    }

    /// `outer;inner 42`, a line for each stack. Stacks that share callers follow each other.
    pub(super) fn lines(&self) -> Vec<String> {
        self.stacks.iter().map(|(names, of)| format!("{} {}", names.join(";"), of.width)).collect()
    }

    /// A picture of these lines with places in its tooltips.
    pub(super) fn with_places(&self, svg: &str, is_inverted: bool) -> String {
        let boxes = boxes(svg);
        let mut heights: Vec<u64> = boxes.iter().map(|drawn| drawn.y).collect();
        heights.sort_unstable();
        heights.dedup();
        if !is_inverted {
            heights.reverse();
        }
        let depths: HashMap<u64, usize> = heights.into_iter().enumerate().map(|(n, y)| (y, n)).collect();
        let places = self.places();
        let mut out = String::with_capacity(svg.len() * 5 / 4);
        let mut done = 0;
        for drawn in &boxes {
            let at = (depths.get(&drawn.y).copied().unwrap_or(0), drawn.left);
            let Some(places) = places.get(&at).filter(|places| !places.is_empty()) else { continue };
            out.push_str(&svg[done..drawn.end_of_title]);
            out.push_str(&tooltip(places));
            done = drawn.end_of_title;
        }
        out + &svg[done..]
    }

    /// The places of each box.
    fn places(&self) -> HashMap<At, BTreeSet<&String>> {
        let mut places: HashMap<At, BTreeSet<&String>> = HashMap::new();
        let (mut left, mut before): (u64, &[String]) = (0, &[]);
        let mut begins: Vec<u64> = Vec::new();
        for (names, of) in &self.stacks {
            let shared = names.iter().zip(before).take_while(|(a, b)| a == b).count();
            begins.truncate(shared);
            begins.resize(names.len(), left);
            for (n, (begin, of_call)) in begins.iter().zip(&of.places).enumerate() {
                places.entry((n + 1, *begin)).or_default().extend(of_call);
            }
            (left, before) = (left.saturating_add(of.width), names);
        }
        places
    }
}

/// A box of a picture.
struct Drawn {
    /// Where the closing bracket of its title is.
    end_of_title: usize,
    y: u64,
    left: u64,
}

/// The boxes of a picture, in its order.
fn boxes(svg: &str) -> Vec<Drawn> {
    let mut all = Vec::new();
    let mut at = svg.find("id=\"frames\"").unwrap_or(svg.len());
    while let Some(end) = svg[at..].find(")</title><rect ").map(|found| at + found) {
        let rect = &svg[end..];
        let rect = &rect[..rect.find("/>").unwrap_or(rect.len())];
        let number = |name: &str| {
            let value = &rect[rect.find(name)? + name.len()..];
            value[..value.find('"')?].parse().ok()
        };
        if let (Some(y), Some(left)) = (number(" y=\""), number(" fg:x=\"")) {
            all.push(Drawn { end_of_title: end, y, left });
        }
        at = end + 1;
    }
    all
}

/// `; shop.c:12, shop.c:17 and 3 more`. The page's script takes the last bracket of a title for the figures.
fn tooltip(places: &BTreeSet<&String>) -> String {
    let shown: Vec<String> = places.iter().take(PLACES_SHOWN).map(|place| place.replace('(', "[")).collect();
    let more = places.len().saturating_sub(PLACES_SHOWN);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let text = format!("; {}{more}", shown.join(", "));
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Calls with each recursion, also of some functions in a circle, as one round of it.
pub(super) fn without_recursion(calls: Vec<Call>) -> Vec<Call> {
    let mut all: Vec<Call> = Vec::new();
    for call in calls {
        all.push(call);
        let is_round = |length: &usize| {
            let Some(begin) = all.len().checked_sub(2 * length) else { return false };
            let (before, last) = all[begin..].split_at(*length);
            before.iter().zip(last).all(|(a, b)| a.function == b.function)
        };
        if let Some(length) = (1..=ROUND_MAX).find(is_round) {
            let last = all.split_off(all.len() - length);
            let begin = all.len() - length;
            all[begin..].iter_mut().zip(last).for_each(|(call, other)| call.places.extend(other.places));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: &str) -> Call {
        let (function, place) = text.split_once('@').unwrap_or((text, ""));
        let places = Some(format!("{function}.c:{place}")).filter(|_| !place.is_empty());
        Call { function: function.to_owned(), places: places.into_iter().collect() }
    }

    fn calls(stack: &str) -> Vec<Call> {
        stack.split(' ').map(call).collect()
    }

    #[test]
    fn boxes_have_the_lines_of_all_their_stacks() {
        let mut graph = FlameGraph::default();
        for (stack, width) in [("main@1 load@5", 10), ("main@2 load@6", 5), ("main@1 add", 3), ("x", 0)] {
            graph.add(calls(stack), width);
        }
        assert_eq!(graph.lines(), ["main;add 3", "main;load 15"]);
        assert_eq!(graph.depth(), 2);
        let places = graph.places();
        let of = |at: At| places[&at].iter().map(|place| place.as_str()).collect::<Vec<_>>();
        assert_eq!(of((1, 0)), ["main.c:1", "main.c:2"]);
        assert_eq!(of((2, 3)), ["load.c:5", "load.c:6"]);
        assert!(places[&(2, 0)].is_empty());
    }

    #[test]
    fn recursion_is_one_round_of_it() {
        let check = |stack: &str, expected: &str| {
            let folded = without_recursion(calls(stack));
            let names: Vec<&str> = folded.iter().map(|call| call.function.as_str()).collect();
            assert_eq!(names.join(" "), expected, "{stack}");
        };
        check("main eval eval eval add", "main eval add");
        check("main eval apply eval apply eval add", "main eval apply eval add");
        check("main a b c", "main a b c");
        let folded = without_recursion(calls("eval@1 eval@2"));
        assert_eq!(folded[0].places.iter().collect::<Vec<_>>(), ["eval.c:1", "eval.c:2"]);
    }
}
