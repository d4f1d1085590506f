//! Which frames of a stack are the program's own, and which are of the libraries below it: a reader wants to know
//! who in the program asked for memory, not that `std::vector` asks `operator new` for it.
//!
//! A frame is a library's by where its code lies (a shared library of the system, a header of the C++ library, a
//! crate of Rust's) or by its name. Functions that only pass a request on to malloc are stepped over, too.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use heapscribe_analyze::answer::{Frame, NodeId};
use heapscribe_symbols::{NamedFrame, NamedStacks, lossy, short};
use heapscribe_wire::real_time_rules::fits;

use crate::call_paths;
use crate::thin_main;

mod libraries;

pub use libraries::passes_on;
use libraries::{is_interpreter, is_language};
pub(crate) use libraries::{is_library, is_wrapper};

/// Operators that only ask for memory.
const OPERATORS: [&str; 2] = ["operator new", "operator delete"];

/// Frames of a library that are enough to know whether its functions have names.
const FRAMES_LOOKED_AT: usize = 10_000;

/// Functions that are stepped over besides the built-in ones: their short names, with * and ?.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Folded(pub Vec<String>);

impl Folded {
    fn has(&self, frame: &NamedFrame) -> bool {
        let name = || frame.function.as_deref().map_or_else(|| frame.name(), short);
        !self.0.is_empty() && {
            let name = name();
            self.0.iter().any(|pattern| fits(pattern.as_bytes(), name.as_bytes()))
        }
    }
}

/// What is known of the modules of a recording.
#[derive(Default)]
struct Modules {
    /// Paths of libraries that count as the program's own, see [`thin_main`].
    libraries: BTreeSet<String>,
    /// Those of interpreters that run the program.
    interpreters: BTreeSet<String>,
    /// Whether stacks have functions that an interpreter runs: code in no file is what is between these then.
    has_interpreted: bool,
}

fn is_own(frame: &NamedFrame, folded: &Folded, modules: &Modules) -> bool {
    let is_interpreters = match &frame.module {
        Some(module) => modules.interpreters.contains(module),
        None => modules.has_interpreted && frame.is_in_no_file(),
    };
    !folded.has(frame)
        && frame.cut.is_none()
        && !frame.is_recorders()
        && !is_interpreters
        && !is_library_but(frame, &modules.libraries)
        && !is_wrapper(frame)
}

/// Whether a frame is a library's that is none of these; in these only functions with a name tell anything.
fn is_library_but(frame: &NamedFrame, libraries: &BTreeSet<String>) -> bool {
    let is_counted = frame.module.as_ref().is_some_and(|module| libraries.contains(module));
    if is_counted { is_language(frame) || frame.function.is_none() } else { is_library(frame) }
}

/// A stack's own caller: the first of its frames that is no library's and no wrapper.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct OwnCaller {
    /// The node that it is in.
    pub(crate) node: NodeId,
    /// Which of the node's lines it is; lines before it are inlined into it.
    pub(crate) line: usize,
    /// Number of the function.
    function: u32,
    /// Whether it is of libraries, as all of the stack is.
    pub(crate) is_of_libraries: bool,
}

/// Whether the name of a function is that of many: of closures and lambdas, as debug information has it.
pub(crate) fn is_nameless(name: &str) -> bool {
    name.starts_with("{closure") || name == "operator()"
}

/// What code is called that is in no file and has no name: a JIT compiler's has one where it is recorded.
pub(crate) const NO_FILE: &str = "code in no file";

/// The name of a frame's function; addresses in no file tell nothing.
pub(crate) fn shown_name(frame: &NamedFrame) -> String {
    let has_name = frame.function.is_some() || frame.module.is_some() || frame.cut.is_some();
    if has_name { frame.name() } else { NO_FILE.to_owned() }
}

/// Whether code is that of a `.pth` file, which Python runs when it starts: `<string>`, as what `python -c` is given.
fn is_of_pth<'f>(mut callers: impl Iterator<Item = &'f NamedFrame>) -> bool {
    let is_site = |file: &str| file == "<frozen site>" || file.ends_with("/site.py");
    callers.any(|caller| caller.file.as_deref().is_some_and(is_site))
}

/// What tells functions of one name apart: the source file and, of those that have no name of their own, the line and
/// the function that the code is in, because several of them may be on one line.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Identity {
    name: String,
    file: Option<String>,
    module: Option<String>,
    nameless: Option<(Option<u32>, String)>,
}

impl Identity {
    /// Of one of a frame's lines.
    pub(crate) fn of(lines: &[NamedFrame], at: usize) -> Identity {
        let frame = &lines[at];
        let (name, file, module) = (shown_name(frame), frame.file.clone(), frame.module.clone());
        let enclosing = lines.last().map(NamedFrame::name).unwrap_or_default();
        let nameless = is_nameless(&name).then_some((frame.line, enclosing));
        Identity { name, file, module, nameless }
    }

    /// The same in whatever module, where the source file is known.
    pub(crate) fn of_source(lines: &[NamedFrame], at: usize) -> Identity {
        let identity = Identity::of(lines, at);
        Identity { module: identity.module.filter(|_| identity.file.is_none()), ..identity }
    }
}

/// Which of a frame's lines is the program's own, the number of that function, and whether it has a name.
#[derive(Clone, Copy)]
struct OwnLine {
    line: usize,
    function: u32,
    is_named: bool,
}

/// The own callers of stacks. Each frame is looked at once, however many nodes are of it, and each stack.
pub(crate) struct OwnCallers<'a> {
    names: &'a NamedStacks<'a>,
    folded: Folded,
    stacks: HashMap<NodeId, OwnCaller>,
    frames: HashMap<Frame, Option<OwnLine>>,
    functions: HashMap<Identity, u32>,
    modules: Modules,
    /// Paths of libraries that would count as the program's own if their functions had names.
    nameless: BTreeSet<String>,
}

impl<'a> OwnCallers<'a> {
    /// Stepping over more functions than the built-in ones.
    pub(crate) fn folding(names: &'a NamedStacks<'a>, folded: &Folded) -> Self {
        let mut own = OwnCallers::without_libraries(names, folded);
        let languages = names.tree().languages();
        if !languages.is_empty() {
            // What a script calls is no library of its own, and the interpreter is none of a `main` that only starts it.
            let paths = names.tree().modules.iter().map(|module| lossy(&module.path));
            let is_one = |path: &String| languages.iter().any(|language| is_interpreter(path, *language));
            own.modules.interpreters = paths.filter(is_one).collect();
            own.modules.has_interpreted = true;
            return own;
        }
        let found = thin_main::libraries(&call_paths::of(names, |frame| {
            own.in_frame(frame).map(|of| (of.function, of.is_named))
        }));
        if found.is_empty() {
            return own;
        }
        let path = |module: &u32| names.tree().modules.get(*module as usize).map(|of| lossy(&of.path));
        let (named, nameless): (BTreeSet<u32>, BTreeSet<u32>) =
            found.into_iter().partition(|module| own.has_names(*module));
        OwnCallers {
            modules: Modules { libraries: named.iter().filter_map(path).collect(), ..Modules::default() },
            nameless: nameless.iter().filter_map(path).collect(),
            ..OwnCallers::without_libraries(names, folded)
        }
    }

    /// Whether functions of a module have names, but for those that pass a request on to malloc.
    fn has_names(&self, module: u32) -> bool {
        let frames = self.names.tree().nodes.iter().filter(|node| node.frame.module == Some(module));
        let is_named = |line: &NamedFrame| line.function.is_some() && !is_wrapper(line);
        frames.take(FRAMES_LOOKED_AT).any(|node| self.names.lines_of(&node.frame).iter().any(is_named))
    }

    fn without_libraries(names: &'a NamedStacks<'a>, folded: &Folded) -> Self {
        OwnCallers {
            names,
            folded: folded.clone(),
            stacks: HashMap::new(),
            frames: HashMap::new(),
            functions: HashMap::new(),
            modules: Modules::default(),
            nameless: BTreeSet::new(),
        }
    }

    /// Files of the libraries that count as the program's own.
    pub(crate) fn libraries(&self) -> Vec<&str> {
        files(&self.modules.libraries)
    }

    /// Files of those that would if their functions had names.
    pub(crate) fn nameless_libraries(&self) -> Vec<&str> {
        files(&self.nameless)
    }

    /// Whether a frame is a library's, and not of one that counts as the program's own.
    pub(crate) fn is_library(&self, frame: &NamedFrame) -> bool {
        is_library_but(frame, &self.modules.libraries)
    }

    /// The own caller of a stack; of one that is all libraries' the first that is not a wrapper, else the
    /// innermost.
    pub(crate) fn of(&mut self, stack: NodeId) -> OwnCaller {
        if let Some(known) = self.stacks.get(&stack) {
            return *known;
        }
        let own = self.find(stack);
        self.stacks.insert(stack, own);
        own
    }

    fn find(&mut self, stack: NodeId) -> OwnCaller {
        let names = self.names;
        let mut nodes = names.tree().frames(stack);
        if let Some(own) =
            nodes.find_map(|(node, frame)| self.in_node(node, frame).filter(|own| !self.is_pths(own)))
        {
            return own;
        }
        let is_operator = |name: &str| OPERATORS.iter().any(|operator| name.starts_with(operator));
        let is_named = |frame: &NamedFrame| {
            let is_operator = frame.function.as_deref().is_some_and(is_operator);
            frame.cut.is_none() && !is_wrapper(frame) && !is_operator
        };
        let mut frames = names.tree().frames(stack);
        let named = frames.find_map(|(node, frame)| self.first(node, &names.lines_of(frame), is_named));
        let innermost = |(node, frame)| self.first(node, &names.lines_of(frame), |_| true);
        let found = named.or_else(|| names.tree().frames(stack).next().and_then(innermost));
        found.map(|of| OwnCaller { is_of_libraries: true, ..of }).unwrap_or_default()
    }

    /// Whether it is code of a `.pth` file.
    fn is_pths(&self, own: &OwnCaller) -> bool {
        let mut frames = self.names.tree().frames(own.node);
        let lines = frames.next().map(|(_, frame)| self.names.lines_of(frame)).unwrap_or_default();
        let is_string = lines.get(own.line).is_some_and(|line| line.file.as_deref() == Some("<string>"));
        let callers = || frames.flat_map(|(_, frame)| self.names.lines_of(frame)).collect::<Vec<_>>();
        is_string && is_of_pth(callers().iter())
    }

    fn in_node(&mut self, node: NodeId, frame: &Frame) -> Option<OwnCaller> {
        let OwnLine { line, function, .. } = self.in_frame(frame)?;
        Some(OwnCaller { node, line, function, ..OwnCaller::default() })
    }

    fn in_frame(&mut self, frame: &Frame) -> Option<OwnLine> {
        if let Some(known) = self.frames.get(frame) {
            return *known;
        }
        let lines = self.names.lines_of(frame);
        let own = lines.iter().position(|line| is_own(line, &self.folded, &self.modules));
        let own = own.map(|line| OwnLine {
            line,
            function: self.function(&lines, line),
            is_named: lines[line].function.is_some(),
        });
        self.frames.insert(*frame, own);
        own
    }

    fn first(
        &mut self,
        node: NodeId,
        lines: &[NamedFrame],
        is_it: impl Fn(&NamedFrame) -> bool,
    ) -> Option<OwnCaller> {
        let line = lines.iter().position(is_it)?;
        Some(OwnCaller { node, line, function: self.function(lines, line), ..OwnCaller::default() })
    }

    /// The number of the function of one of a frame's lines.
    fn function(&mut self, lines: &[NamedFrame], line: usize) -> u32 {
        let next = self.functions.len() as u32 + 1;
        *self.functions.entry(Identity::of(lines, line)).or_insert(next)
    }

    /// Stacks with the same own caller together, the largest figure first; a figure for each stack.
    pub(crate) fn merge(&mut self, stacks: impl Iterator<Item = (NodeId, u64)>) -> Vec<Merged> {
        let mut merged: HashMap<u32, Merged> = HashMap::new();
        for (stack, figure) in stacks {
            let of = merged.entry(self.of(stack).function).or_default();
            of.figure = of.figure.saturating_add(figure);
            of.parts.push((stack, figure));
        }
        let mut all: Vec<Merged> = merged.into_values().collect();
        for of in &mut all {
            of.parts.sort_unstable_by_key(|(stack, figure)| (Reverse(*figure), *stack));
        }
        all.sort_unstable_by_key(|of| (Reverse(of.figure), of.parts[0].0));
        all
    }
}

fn files(paths: &BTreeSet<String>) -> Vec<&str> {
    paths.iter().map(|path| path.rsplit('/').next().unwrap_or(path)).collect()
}

/// Stacks with the same own caller.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Merged {
    /// The sum over all parts.
    pub(crate) figure: u64,
    /// The stacks with their figures, the largest first.
    pub(crate) parts: Vec<(NodeId, u64)>,
}

#[cfg(test)]
pub(crate) mod tests;
