//! Profiles of other programs, sums by stack, as an answer: what views print of a trace, as far as the profile knows it.
//!
//! What it does not know stays 0 in the answer, so whoever shows a figure of it asks [`Sums::knows`] first.

use std::collections::HashMap;
use std::path::Path;

use heapscribe_analyze::answer::{self, Amount, Answer, CallTree, Module, Node, NodeId, Peak, Stack};
use heapscribe_analyze::measure::Measure;
use heapscribe_diagnostics::Problem;
use heapscribe_formats::profile::{About, CallNode, Frame, Line, Mapped, Profile, Rate, StackSums, Sum};
use heapscribe_symbols::places::{self, Place};

/// A profile and the answer that it is.
pub struct Sums {
    /// What is known of the profile as a whole.
    pub about: About,
    /// Its sums: what is live is what was never freed.
    pub answer: Answer,
    /// How long the blocks of each stack lived, added up, where the file says it.
    pub lived: HashMap<NodeId, u64>,
    /// Whether names are those of files of today, as the profile has no build ids: of files that are older than it.
    pub has_names_of_today: bool,
}

impl Sums {
    /// Whether it has the figures of a measure.
    pub fn knows(&self, measure: Measure) -> bool {
        let known = &self.about.known;
        match measure {
            Measure::Peak => known.at_peak.bytes,
            Measure::Leaked => known.live.bytes,
            Measure::Allocated => known.allocated.bytes,
            Measure::Count => known.allocated.blocks,
            Measure::Temporary => false,
        }
    }

    /// Whether it counts the blocks of a measure.
    pub fn knows_blocks(&self, measure: Measure) -> bool {
        let known = &self.about.known;
        match measure {
            Measure::Peak => known.at_peak.blocks,
            Measure::Leaked => known.live.blocks,
            Measure::Allocated | Measure::Count => known.allocated.blocks,
            Measure::Temporary => false,
        }
    }

    /// All that it has, the one that is shown first in front.
    pub fn measures(&self) -> Vec<Measure> {
        let all = [Measure::Peak, Measure::Leaked, Measure::Allocated, Measure::Count];
        all.into_iter().filter(|measure| self.knows(*measure)).collect()
    }

    /// How long the blocks of a stack lived on average, in the unit of the file.
    pub fn mean_lifetime(&self, stack: &Stack) -> Option<u64> {
        self.lived.get(&stack.node).and_then(|lived| lived.checked_div(stack.allocated.blocks))
    }

    /// Whether it is of samples.
    pub fn is_estimated(&self) -> bool {
        matches!(self.about.rate, Rate::Sampled { .. })
    }

    /// The measure that is asked for, or the first that it has.
    ///
    /// # Errors
    /// When it does not have it.
    pub fn measure(&self, asked: Option<Measure>, path: &Path) -> Result<Measure, Problem> {
        let known = self.measures();
        let names: Vec<_> = known.iter().map(|measure| measure.name()).collect();
        match asked {
            Some(measure) if known.contains(&measure) => Ok(measure),
            Some(measure) => {
                let origin = self.about.origin.name();
                let what = format!("{} is {origin}, without the figure `{}`", path.display(), measure.name());
                Err(Problem::new(what, format!("use --metric {}", names.join(" or "))))
            }
            None => known.first().copied().ok_or_else(|| {
                let what = format!("{} has numbers of blocks only, and no bytes", path.display());
                Problem::new(what, "write the profile with `inuse_space` or `alloc_space`")
            }),
        }
    }
}

/// The words of the program's command.
pub(crate) fn command(about: &About) -> Vec<Vec<u8>> {
    about.command.split(' ').filter(|word| !word.is_empty()).map(|word| word.as_bytes().to_vec()).collect()
}

/// The answer that a profile is.
pub fn sums(profile: Profile) -> Sums {
    let Profile { about, calls, frames, stacks } = profile;
    let mut tree = CallTree::default();
    let mut modules = Modules::default();
    let frames: Vec<_> = frames.iter().map(|of| modules.frame(of)).collect();
    tree.modules = modules.all;
    let node = |call: &CallNode| Node { parent: NodeId(call.parent.0), frame: frames[call.frame.0 as usize] };
    tree.nodes.extend(calls.iter().skip(1).map(node));
    let whole = about.whole;
    let totals = answer::Totals {
        allocations: whole.allocated.blocks,
        allocated_bytes: whole.allocated.bytes,
        ..answer::Totals::default()
    };
    let peak = Peak { bytes: whole.at_peak.bytes, blocks: whole.at_peak.blocks, ..Peak::default() };
    let answer = Answer {
        begin_real_ns: about.real_ns,
        duration_ns: about.duration_ns,
        command: command(&about),
        totals,
        peak,
        leaked: amount(whole.live),
        complete: true,
        stacks: stacks.iter().map(stack).collect(),
        tree,
        problems: about.problems.clone(),
        ..Answer::default()
    };
    let lived = stacks.iter().filter(|_| !about.lived_unit.is_empty());
    let lived = lived.map(|of| (NodeId(of.call.0), of.lived)).collect();
    Sums { about, answer, lived, has_names_of_today: false }
}

fn amount(Sum { blocks, bytes }: Sum) -> Amount {
    Amount { blocks, bytes }
}

fn stack(sums: &StackSums) -> Stack {
    Stack {
        node: NodeId(sums.call.0),
        allocated: amount(sums.allocated),
        leaked: amount(sums.live),
        at_peak: amount(sums.at_peak),
        ..Stack::default()
    }
}

/// The modules of a call tree: what has a name is a module of its own, that says it.
#[derive(Default)]
struct Modules {
    all: Vec<Module>,
    numbers: HashMap<Mapped, u32>,
}

impl Modules {
    fn number(&mut self, mapped: Mapped) -> u32 {
        let all = &mut self.all;
        *self.numbers.entry(mapped).or_insert_with_key(|Mapped { path, build_id }| {
            all.push(Module { path: path.clone().into_bytes(), build_id: build_id.clone() });
            all.len() as u32 - 1
        })
    }

    fn frame(&mut self, frame: &Frame) -> answer::Frame {
        match frame {
            Frame::Named(lines) => {
                let lines: Vec<_> = lines.iter().map(place).collect();
                let module = Mapped { path: places::path_of(&lines), build_id: Vec::new() };
                answer::Frame { module: Some(self.number(module)), ..answer::Frame::default() }
            }
            Frame::Address { module, address, is_return_address } => {
                let (address, is_return_address) = (*address, *is_return_address);
                let module = module.clone().map(|module| self.number(module));
                answer::Frame { module, address, is_return_address, ..answer::Frame::default() }
            }
        }
    }
}

fn place(Line { function, file, line }: &Line) -> Place {
    let line = i64::try_from(*line).unwrap_or(0);
    Place { function: function.clone(), file: file.clone(), line, start_char: 0, end_char: 0 }
}
