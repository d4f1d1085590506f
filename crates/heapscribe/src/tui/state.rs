//! What the user of `top` sees and has chosen, without a terminal.

use heapscribe_analyze::answer::NodeId;

use super::growth::Growth;
use super::history::{Counters, History, Point, Rates};
use super::look::Look;
use super::names::NameCache;
use super::rows::{By, Row, Rows, STACKS, Sort, largest};
use heapscribe_symbols::{NamedFrame, Resolver};

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) look: Look,
    /// What threads had done at the look before.
    before: Option<Counters>,
    /// Live and resident bytes of the looks so far.
    pub(crate) history: History,
    pub(crate) by: By,
    pub(crate) sort: Sort,
    pub(crate) filter: String,
    /// Whether keys go into the filter.
    pub(crate) is_typing: bool,
    pub(crate) is_paused: bool,
    pub(crate) selected: usize,
    /// The frames of the row that was opened.
    pub(crate) opened: Option<Vec<NamedFrame>>,
    pub(crate) rows: Vec<Row>,
    growth: Growth,
    names: NameCache,
}

/// What is done next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    Stay,
    Quit,
}

/// A key, whatever terminal it came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Key {
    Char(char),
    Up,
    Down,
    PageUp,
    PageDown,
    Enter,
    Escape,
    Backspace,
}

impl State {
    /// Takes a new look.
    pub(crate) fn take(&mut self, look: Look, resolver: &Resolver) {
        self.before = Counters::of(&self.look).or(self.before);
        self.history.push(Point { heap_bytes: look.live.live.bytes, rss_bytes: look.rss_bytes });
        self.look = look;
        let shown: Vec<NodeId> = largest(&self.look).iter().map(|stack| stack.node).collect();
        self.growth.take(&self.look, &shown);
        self.names.learn(&self.look.live.tree, &shown, resolver);
        self.refresh();
    }

    /// How much was allocated and freed per second since the look before.
    pub(crate) fn rates(&self) -> Option<Rates> {
        self.before?.rates(&Counters::of(&self.look)?)
    }

    /// Stacks that do not fit: how many, and what they hold.
    pub(crate) fn left_out(&self) -> (usize, u64) {
        let all = &self.look.live.stacks;
        let shown: u64 = largest(&self.look).iter().map(|stack| stack.live.bytes).sum();
        (all.len().saturating_sub(STACKS), self.look.live.live.bytes.saturating_sub(shown))
    }

    /// How much a row has grown per second since the look before.
    pub(crate) fn growth_a_second(&self, row: &Row) -> f64 {
        let Some(before) = self.before else { return 0.0 };
        let seconds = self.look.mono_ns.saturating_sub(before.mono_ns) as f64 / 1e9;
        if seconds > 0.0 { row.growth as f64 / seconds } else { 0.0 }
    }

    /// The rows anew: of another kind, filtered, sorted.
    fn refresh(&mut self) {
        self.rows = self.made_of().list(self.by, &self.filter, self.sort);
        self.selected = self.selected.min(self.rows.len().saturating_sub(1));
    }

    fn made_of(&self) -> Rows<'_> {
        Rows { look: &self.look, growth: &self.growth, names: &self.names }
    }

    /// Does what a key asks for.
    pub(crate) fn press(&mut self, key: Key) -> Next {
        if self.is_typing {
            self.type_in(key);
            return Next::Stay;
        }
        match key {
            Key::Char('q') => return Next::Quit,
            Key::Char('s') => self.show(By::Stack),
            Key::Char('f') => self.show(By::Function),
            Key::Char('t') => self.show(By::Thread),
            Key::Char('b') => self.sort_by(Sort::Bytes),
            Key::Char('n') => self.sort_by(Sort::Blocks),
            Key::Char('g') => self.sort_by(Sort::Growth),
            Key::Char('o') => self.sort_by(Sort::Oldest),
            Key::Char('/') => self.is_typing = true,
            Key::Char(' ') => self.is_paused = !self.is_paused,
            Key::Enter => self.open(),
            Key::Escape => self.close(),
            Key::Up => self.selected = self.selected.saturating_sub(1),
            Key::Down => self.select(self.selected + 1),
            Key::PageUp => self.selected = self.selected.saturating_sub(10),
            Key::PageDown => self.select(self.selected + 10),
            Key::Char(_) | Key::Backspace => {}
        }
        Next::Stay
    }

    fn type_in(&mut self, key: Key) {
        match key {
            Key::Char(c) => self.filter.push(c),
            Key::Backspace => drop(self.filter.pop()),
            Key::Escape => {
                self.filter.clear();
                self.is_typing = false;
            }
            _ => self.is_typing = false,
        }
        self.refresh();
    }

    fn select(&mut self, row: usize) {
        self.selected = row.min(self.rows.len().saturating_sub(1));
    }

    fn show(&mut self, by: By) {
        (self.by, self.selected, self.opened) = (by, 0, None);
        self.refresh();
    }

    fn sort_by(&mut self, sort: Sort) {
        self.sort = sort;
        self.refresh();
    }

    /// Opens the row: a stack's frames, or a function's stacks.
    fn open(&mut self) {
        let Some(row) = self.rows.get(self.selected) else { return };
        match row.stack {
            Some(stack) => self.opened = Some(self.made_of().frames(stack)),
            None if self.by == By::Function => {
                self.filter = row.label.clone();
                self.show(By::Stack);
            }
            None => {}
        }
    }

    fn close(&mut self) {
        if self.opened.take().is_none() {
            self.filter.clear();
            self.refresh();
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use heapscribe_analyze::answer::{Amount, CallTree, Frame, Module, Node};
    use heapscribe_analyze::snapshot::{LiveStack, LiveThread, Snapshot};
    use heapscribe_symbols::places::{Place, path_of};

    use super::*;

    /// A process with three stacks, `third < second < first` and so on, of a file that is not there.
    pub(crate) fn look(seconds: u64, bytes: [u64; 3]) -> Look {
        let frame = |address: u64| Frame { module: Some(0), address, ..Frame::default() };
        let node = |parent: u32, address: u64| Node { parent: NodeId(parent), frame: frame(address) };
        let tree = CallTree {
            nodes: vec![Node::default(), node(0, 0x10), node(1, 0x20), node(2, 0x30)],
            modules: vec![Module { path: b"/gone/app".to_vec(), build_id: vec![] }],
        };
        let stack = |(i, &bytes): (usize, &u64)| LiveStack {
            node: NodeId(i as u32 + 1),
            live: Amount { blocks: bytes / 100, bytes },
            oldest_ns: (i as u64 + 1) * 1_000_000_000,
            ..LiveStack::default()
        };
        let all: u64 = bytes.iter().sum();
        let live = Amount { blocks: all / 100, bytes: all };
        let threads = vec![LiveThread { id: 1, tid: 4711, name: b"main".to_vec(), live }];
        let stacks = bytes.iter().enumerate().map(stack).collect();
        Look {
            mono_ns: (seconds + 1) * 1_000_000_000,
            pid: 4711,
            exe: "/usr/bin/app".to_owned(),
            mode: "full".to_owned(),
            is_alive: true,
            held_ns: 30_000,
            rss_bytes: 2 * all,
            allocated_bytes: all + seconds * 4096,
            allocated_blocks: all / 100 + seconds * 10,
            freed_bytes: seconds * 4096,
            live: Snapshot { live, stacks, threads, tree, ..Snapshot::default() },
            ..Look::default()
        }
    }

    pub(crate) fn seen(looks: impl IntoIterator<Item = Look>) -> State {
        let resolver = Resolver::new("/nowhere");
        let mut state = State::default();
        looks.into_iter().for_each(|look| state.take(look, &resolver));
        state
    }

    fn labels(state: &State) -> Vec<(&str, u64)> {
        state.rows.iter().map(|row| (row.label.as_str(), row.live.bytes)).collect()
    }

    fn press(state: &mut State, keys: &str) {
        keys.chars().for_each(|c| assert_eq!(state.press(Key::Char(c)), Next::Stay));
    }

    #[test]
    fn stacks_are_sorted_by_what_was_asked_for() {
        let mut state = seen([look(0, [1000, 3000, 2000]), look(2, [1000, 3400, 3000])]);
        assert_eq!(labels(&state).iter().map(|row| row.1).collect::<Vec<_>>(), [3400, 3000, 1000]);
        let growth =
            |state: &State| state.rows.iter().map(|row| state.growth_a_second(row)).collect::<Vec<_>>();
        press(&mut state, "g");
        assert_eq!(growth(&state), [500.0, 200.0, 0.0]);
        press(&mut state, "o");
        assert_eq!(state.rows.iter().map(|row| row.oldest_ns / 1_000_000_000).collect::<Vec<_>>(), [3, 2, 1]);
        press(&mut state, "n");
        assert_eq!(state.rows[0].live.blocks, 34);
        let (allocated_bytes, allocated_blocks, freed_bytes) = (4096.0 + 700.0, 17.0, 4096.0);
        assert_eq!(state.rates(), Some(Rates { allocated_bytes, allocated_blocks, freed_bytes }));
    }

    /// A process with stacks of one function, called from the lines of a file; what each holds.
    fn look_at_lines(seconds: u64, lines: &[(i64, u64)]) -> Look {
        let mut look = look(seconds, [0; 3]);
        let path = |&(line, _): &(i64, u64)| {
            let (function, file) = ("load".to_owned(), "shop.c".to_owned());
            path_of(&[Place { function, file, line, start_char: 0, end_char: 0 }]).into_bytes()
        };
        let modules = lines.iter().map(|line| Module { path: path(line), build_id: vec![] }).collect();
        let calls_before = |n: usize| lines[..n].iter().filter(|(line, _)| *line == lines[n].0).count();
        let frame = |n| Frame { module: Some(n as u32), address: calls_before(n) as u64, ..Frame::default() };
        let node = |n| Node { parent: NodeId::ROOT, frame: frame(n) };
        let nodes = std::iter::once(Node::default()).chain((0..lines.len()).map(node)).collect();
        let stack = |(i, &(_, bytes)): (usize, &(i64, u64))| LiveStack {
            node: NodeId(i as u32 + 1),
            live: Amount { blocks: 1, bytes },
            ..LiveStack::default()
        };
        look.live.stacks = lines.iter().enumerate().map(stack).collect();
        look.live.tree = CallTree { nodes, modules };
        look
    }

    #[test]
    fn growth_is_that_of_a_stack_and_not_of_its_name() {
        let check = |before: &[(i64, u64)], after: &[(i64, u64)], stacks: &[f64], function: f64| {
            let mut state = seen([look_at_lines(0, before), look_at_lines(2, after)]);
            let growth = |state: &State| -> Vec<f64> {
                state.rows.iter().map(|row| state.growth_a_second(row)).collect()
            };
            assert_eq!(growth(&state), stacks, "{before:?} to {after:?}");
            press(&mut state, "f");
            assert_eq!(growth(&state), [function], "{before:?} to {after:?}");
        };
        check(&[(7, 8000), (9, 1000)], &[(7, 8000), (9, 1000)], &[0.0, 0.0], 0.0);
        check(&[(7, 8000), (9, 1000)], &[(9, 1000), (7, 8000)], &[0.0, 0.0], 0.0);
        check(&[(7, 8000)], &[(7, 8000), (9, 1000)], &[0.0, 500.0], 500.0);
        check(&[(7, 8000), (9, 1000)], &[(9, 1200)], &[100.0], -3900.0);
        check(&[(7, 8000), (7, 1000)], &[(7, 8000), (7, 1400)], &[200.0], 200.0);
    }

    #[test]
    fn two_calls_on_one_line_are_one_row() {
        let state = seen([look_at_lines(0, &[(7, 8000), (9, 500), (7, 1000)])]);
        assert_eq!(labels(&state), [("load shop.c:7", 9000), ("load shop.c:9", 500)]);
        assert_eq!(state.rows[0].live.blocks, 2);
    }

    #[test]
    fn a_function_holds_what_is_below_it() {
        let mut state = seen([look(0, [1000, 3000, 2000])]);
        press(&mut state, "f");
        assert_eq!(labels(&state), [("app+0x10", 6000), ("app+0x20", 5000), ("app+0x30", 2000)]);
        state.press(Key::Down);
        state.press(Key::Enter);
        assert_eq!((state.by, state.filter.as_str()), (By::Stack, "app+0x20"));
        assert_eq!(labels(&state).iter().map(|row| row.1).collect::<Vec<_>>(), [3000, 2000]);
    }

    #[test]
    fn a_filter_is_typed_kept_and_cleared() {
        let mut state = seen([look(0, [1000, 3000, 2000])]);
        press(&mut state, "/0x30q");
        assert!(state.rows.is_empty() && state.is_typing, "q is a letter of the filter");
        state.press(Key::Backspace);
        state.press(Key::Enter);
        assert_eq!(labels(&state), [("app+0x30 < app+0x20 < app+0x10", 2000)]);
        state.press(Key::Escape);
        assert_eq!(state.rows.len(), 3);
        assert_eq!(state.press(Key::Char('q')), Next::Quit);
    }

    #[test]
    fn a_stack_is_opened_and_closed() {
        let mut state = seen([look(0, [1000, 3000, 2000])]);
        state.press(Key::Enter);
        let names: Vec<_> = state.opened.iter().flatten().map(NamedFrame::name).collect();
        assert_eq!(names, ["app+0x20", "app+0x10"]);
        state.press(Key::Escape);
        assert_eq!(state.opened, None);
    }

    #[test]
    fn nothing_is_beyond_the_last_row() {
        let mut state = seen([look(0, [1000, 3000, 2000])]);
        state.press(Key::PageDown);
        assert_eq!(state.selected, 2);
        press(&mut state, "t");
        assert_eq!((labels(&state), state.selected), (vec![("main (thread 1, tid 4711)", 6000)], 0));
        let mut empty = seen([]);
        for key in [Key::Down, Key::Enter, Key::PageUp] {
            assert_eq!(empty.press(key), Next::Stay);
        }
    }
}
