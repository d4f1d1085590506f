//! Rules: what a program must not do, and how much of what it may.

use heapscribe_analyze::measure::Measure;
use heapscribe_formats::RealTimeRules;

use heapscribe_symbols::lossy;

use super::unit::Unit;
use super::unwanted::Unwanted;

/// A figure of a process that has a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limited {
    /// Most live bytes at a time.
    Peak,
    /// Largest resident set, bytes.
    Rss,
    /// Bytes that were never freed.
    Leaked,
    /// Blocks that were never freed.
    LeakedBlocks,
    /// Bytes that were never freed, of each stack by itself.
    LeakedPerStack,
    /// Allocated blocks.
    Allocations,
    /// Allocated bytes.
    Allocated,
    /// Blocks that their thread freed before it allocated another.
    Temporary,
    /// Those blocks as a part of all allocated ones.
    TemporaryPart,
    /// Calls that failed.
    Failed,
    /// Most blocks allocated in a second.
    AllocRate,
    /// Blocks allocated a second, on average over the life of the process.
    MeanAllocRate,
    /// How long the slowest call took, ns.
    Latency,
}

impl Limited {
    /// The flag, without its dashes.
    pub fn name(self) -> &'static str {
        match self {
            Limited::Peak => "max-peak",
            Limited::Rss => "max-rss",
            Limited::Leaked => "max-leaked",
            Limited::LeakedBlocks => "max-leaked-blocks",
            Limited::LeakedPerStack => "max-leaked-per-stack",
            Limited::Allocations => "max-allocations",
            Limited::Allocated => "max-allocated",
            Limited::Temporary | Limited::TemporaryPart => "max-temporary",
            Limited::Failed => "max-failed",
            Limited::AllocRate => "max-alloc-rate",
            Limited::MeanAllocRate => "max-mean-alloc-rate",
            Limited::Latency => "max-latency",
        }
    }

    /// What it is measured in.
    pub fn unit(self) -> Unit {
        match self {
            Limited::Peak | Limited::Rss | Limited::Leaked | Limited::LeakedPerStack | Limited::Allocated => {
                Unit::Bytes
            }
            Limited::LeakedBlocks | Limited::Allocations | Limited::Temporary => Unit::Blocks,
            Limited::TemporaryPart => Unit::Part,
            Limited::Failed => Unit::Calls,
            Limited::AllocRate | Limited::MeanAllocRate => Unit::BlocksPerSecond,
            Limited::Latency => Unit::Ns,
        }
    }

    /// Whether it is about blocks that were never freed.
    pub fn is_of_leaks(self) -> bool {
        matches!(self, Limited::Leaked | Limited::LeakedBlocks | Limited::LeakedPerStack)
    }

    /// Whether the figures of several processes add up to one of them together.
    pub fn adds_up(self) -> bool {
        matches!(
            self,
            Limited::Leaked
                | Limited::LeakedBlocks
                | Limited::Allocations
                | Limited::Allocated
                | Limited::Temporary
                | Limited::Failed
        )
    }

    /// Whether what is missing from a trace can only add to it, so that too much stays too much.
    pub fn only_grows(self) -> bool {
        matches!(
            self,
            Limited::Rss
                | Limited::Allocations
                | Limited::Allocated
                | Limited::Temporary
                | Limited::Failed
                | Limited::AllocRate
                | Limited::Latency
        )
    }
}

/// Where there must be no call of the heap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Forbidden {
    /// Inside a section of this name.
    In(String),
    /// After a mark of this name.
    After(String),
    /// In threads with names like this pattern.
    By(String),
}

/// A rule.
#[derive(Clone, PartialEq, Debug)]
pub enum Rule {
    /// No call there, by threads that are named like one of these, or by any thread.
    NoCalls(Forbidden, Vec<String>),
    /// No more than that.
    Max(Limited, f64),
    /// No more than in the baseline and the tolerance, a part of 1.
    Grew(Measure, f64),
    /// No such finding.
    NoFindings(Unwanted),
}

impl Rule {
    /// The flag that gives it, without dashes; JSON and JUnit call it so.
    pub fn name(&self) -> String {
        match self {
            Rule::NoCalls(Forbidden::In(_), _) => "no-alloc-in".to_owned(),
            Rule::NoCalls(Forbidden::After(_), _) => "no-alloc-after".to_owned(),
            Rule::NoCalls(Forbidden::By(_), _) => "no-alloc-by".to_owned(),
            Rule::Max(limited, _) => limited.name().to_owned(),
            Rule::Grew(measure, _) => format!("baseline {}", measure.name()),
            Rule::NoFindings(unwanted) => unwanted.flag().to_owned(),
        }
    }

    /// Whether the figures of several processes add up to one of them together.
    pub fn adds_up(&self) -> bool {
        match self {
            Rule::NoCalls(..) => true,
            Rule::Max(limited, _) => limited.adds_up(),
            Rule::Grew(..) | Rule::NoFindings(_) => false,
        }
    }

    /// The section, mark, thread, severity or kind of finding.
    pub fn place(&self) -> Option<&str> {
        match self {
            Rule::NoCalls(Forbidden::In(name) | Forbidden::After(name) | Forbidden::By(name), _) => {
                Some(name)
            }
            Rule::NoFindings(unwanted) => Some(unwanted.name()),
            _ => None,
        }
    }

    /// As it was given: `max-peak 200 MiB`, `no-alloc-in control --thread rt-*`.
    pub fn shown(&self) -> String {
        let name = self.name();
        match self {
            Rule::NoCalls(_, threads) => {
                let threads: String = threads.iter().map(|thread| format!(" --thread {thread}")).collect();
                format!("{name} {}{threads}", self.place().unwrap_or_default())
            }
            Rule::Max(limited, limit) => format!("{name} {}", limited.unit().limit(*limit)),
            Rule::Grew(_, tolerance) => format!("{name} +{}%", (tolerance * 1e4).round() / 100.0),
            Rule::NoFindings(unwanted) => format!("{name} {}", unwanted.name()),
        }
    }
}

/// The rules that the program was recorded with.
pub fn recorded(rules: &RealTimeRules) -> Vec<Rule> {
    let names = |names: &[Vec<u8>]| names.iter().map(|name| lossy(name)).collect::<Vec<_>>();
    let threads = names(&rules.threads);
    let mut of_places = no_calls(&names(&rules.sections), Forbidden::In, &threads);
    of_places.extend(no_calls(&names(rules.after_mark.as_slice()), Forbidden::After, &threads));
    if of_places.is_empty() { no_calls(&threads, Forbidden::By, &[]) } else { of_places }
}

/// A rule for each of these places: no calls there by threads of these names, or by any.
pub fn no_calls(names: &[String], place: fn(String) -> Forbidden, threads: &[String]) -> Vec<Rule> {
    names.iter().map(|name| Rule::NoCalls(place(name.clone()), threads.to_vec())).collect()
}

/// Each rule once, in their order.
pub fn without_duplicates(rules: Vec<Rule>) -> Vec<Rule> {
    let mut distinct: Vec<Rule> = Vec::new();
    for rule in rules {
        if !distinct.contains(&rule) {
            distinct.push(rule);
        }
    }
    distinct
}
