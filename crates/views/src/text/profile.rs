//! The report of a profile of another program: its sums, the stacks that have most of them, and what it cannot answer.

use std::cmp::Reverse;
use std::io;

use heapscribe_analyze::answer::{Amount, NodeId, Stack};
use heapscribe_analyze::measure::Measure;
use heapscribe_convert::profile_sums::Sums;
use heapscribe_formats::profile::{About, Origin, Rate, Unit};

use super::chart::{self, Column};
use super::stack_list::StackPrinter;
use super::{Out, heading, losses};
use heapscribe_symbols::{NamedStacks, lossy};
use heapscribe_units::{bytes, count, counted, date, duration, percent, short_bytes};

/// What is to be printed.
pub struct ProfileReport<'a> {
    /// The profile.
    pub sums: &'a Sums,
    /// Entries of each list.
    pub top: usize,
    /// The file's path, for the commands to type next.
    pub path: &'a str,
    /// Columns of a line.
    pub width: usize,
}

/// What a figure of a profile is called.
pub fn title(measure: Measure) -> &'static str {
    match measure {
        Measure::Peak => "Bytes live at the peak of the heap",
        Measure::Leaked => "Bytes live when the profile was written",
        Measure::Allocated => "Bytes allocated",
        Measure::Count => "Number of allocations",
        Measure::Temporary => "Blocks freed before the next allocation",
    }
}

/// A kind of sums that the file has.
struct Part {
    measure: Measure,
    unit: Unit,
    whole: Amount,
}

impl Part {
    fn of(&self, stack: &Stack) -> Amount {
        self.measure.amount(stack)
    }

    /// The figure that stacks are put in order by.
    fn figure(&self, amount: Amount) -> u64 {
        if self.unit.bytes { amount.bytes } else { amount.blocks }
    }

    fn text(&self, amount: Amount) -> String {
        let blocks = counted(amount.blocks, "block");
        match (self.unit.bytes, self.unit.blocks) {
            (true, true) => format!("{} in {blocks}", bytes(amount.bytes)),
            (true, false) => bytes(amount.bytes),
            _ => blocks,
        }
    }
}

impl ProfileReport<'_> {
    fn parts(&self) -> Vec<Part> {
        let known = &self.sums.about.known;
        let answer = &self.sums.answer;
        let peak = Amount { blocks: answer.peak.blocks, bytes: answer.peak.bytes };
        let totals = &answer.totals;
        let allocated = Amount { blocks: totals.allocations, bytes: totals.allocated_bytes };
        let parts = [
            Part { measure: Measure::Peak, unit: known.at_peak, whole: peak },
            Part { measure: Measure::Leaked, unit: known.live, whole: answer.leaked },
            Part { measure: Measure::Allocated, unit: known.allocated, whole: allocated },
        ];
        parts.into_iter().filter(|part| part.unit.is_any()).collect()
    }

    /// The stacks that have most of a part.
    fn first(&self, part: &Part) -> Vec<&Stack> {
        let figure = |stack: &Stack| part.figure(part.of(stack));
        let mut stacks: Vec<_> = self.sums.answer.stacks.iter().filter(|stack| figure(stack) > 0).collect();
        stacks.sort_by_key(|stack| (Reverse(figure(stack)), stack.node));
        stacks.truncate(self.top);
        stacks
    }

    /// The stacks that will be printed: only their names need to be looked up.
    pub fn wanted(&self) -> Vec<NodeId> {
        let parts = self.parts();
        parts.iter().flat_map(|part| self.first(part)).map(|stack| stack.node).collect()
    }

    /// Prints all of it.
    pub fn print(&self, out: Out<'_>, names: &NamedStacks<'_>) -> io::Result<()> {
        self.header(out)?;
        let parts = self.parts();
        let mut printer = StackPrinter::new(names, self.width);
        for part in &parts {
            let estimated = if self.sums.is_estimated() { " (estimated)" } else { "" };
            heading(out, &format!("{}{estimated}", self.whole_title(part.measure)))?;
            writeln!(out, "  {}.", part.text(part.whole))?;
        }
        curve(out, &self.sums.about, self.width)?;
        for part in &parts {
            printer.list(out, self.stacks_title(part.measure))?;
            for (n, stack) in self.first(part).into_iter().enumerate() {
                let amount = part.of(stack);
                let share = percent(part.figure(amount), part.figure(part.whole));
                let lived = self.lived(part, stack);
                printer.entry(out, n + 1, &format!("{share}: {}{lived}", part.text(amount)), stack.node)?;
            }
        }
        self.missing(out, names)?;
        heading(out, "Next")?;
        writeln!(out, "  heapscribe flame {} -o heap.svg", self.path)?;
        writeln!(out, "  heapscribe hotspots {}", self.path)
    }

    /// How long the blocks of a stack lived on average, where that is known and all of them are shown.
    fn lived(&self, part: &Part, stack: &Stack) -> String {
        let mean = self.sums.mean_lifetime(stack).filter(|_| part.measure == Measure::Allocated);
        let unit = &self.sums.about.lived_unit;
        mean.map_or_else(String::new, |mean| format!(", lived {} {unit} on average", count(mean)))
    }

    fn header(&self, out: Out<'_>) -> io::Result<()> {
        let (about, answer) = (&self.sums.about, &self.sums.answer);
        writeln!(out, "{} is {}: sums by stack, without events.", self.path, about.origin.name())?;
        if !answer.command.is_empty() {
            let command: Vec<_> = answer.command.iter().map(|part| lossy(part)).collect();
            writeln!(out, "Program: {}", command.join(" "))?;
        }
        match (about.real_ns, about.duration_ns) {
            (0, 0) => {}
            (real_ns, 0) => writeln!(out, "Written on {}.", date(real_ns))?,
            (0, duration_ns) => writeln!(out, "It is of {}.", duration(duration_ns))?,
            (real_ns, duration_ns) => {
                writeln!(out, "Of {}, on {}.", duration(duration_ns), date(real_ns))?;
            }
        }
        self.rate(out)?;
        about.problems.iter().try_for_each(|problem| writeln!(out, "Not whole: {problem}."))
    }

    fn rate(&self, out: Out<'_>) -> io::Result<()> {
        let about = &self.sums.about;
        match about.rate {
            Rate::Exact if about.counts_pages => {
                writeln!(
                    out,
                    "It counts pages of all mappings (--pages-as-heap=yes), not blocks of the heap."
                )
            }
            Rate::Exact if about.origin == Origin::Massif => {
                writeln!(out, "All blocks were counted; stacks below massif's threshold are put together.")
            }
            Rate::Exact => writeln!(out, "All blocks were recorded."),
            Rate::Sampled { mean_bytes } => {
                let mean = short_bytes(mean_bytes);
                writeln!(out, "All figures are estimates, of samples every {mean} on average.")
            }
            Rate::Unknown => {
                writeln!(out, "It does not say whether all blocks were recorded or samples of them.")
            }
        }
    }

    fn whole_title(&self, measure: Measure) -> &'static str {
        match measure {
            Measure::Peak if self.sums.about.heap_max_bytes > 0 => "At the largest moment that has stacks",
            Measure::Peak if self.sums.about.counts_pages => "When most memory was mapped",
            Measure::Peak => "At the peak of the heap",
            Measure::Leaked => "Live when it was written",
            _ => "Allocated in all",
        }
    }

    fn stacks_title(&self, measure: Measure) -> &'static str {
        match measure {
            Measure::Peak if self.sums.about.heap_max_bytes > 0 => "Stacks with the most bytes then",
            Measure::Peak => "Stacks with the most bytes at the peak",
            Measure::Leaked => "Stacks with the most live bytes",
            _ => "Stacks that allocated the most",
        }
    }

    fn missing(&self, out: Out<'_>, names: &NamedStacks<'_>) -> io::Result<()> {
        heading(out, "What this file cannot answer")?;
        for question in unknown(self.sums) {
            writeln!(out, "  {question}.")?;
        }
        losses::names(out, &names.unnamed())
    }
}

/// The size of the heap over time, where the file has it at moments; between two of them it is drawn as at the first.
fn curve(out: Out<'_>, about: &About, width: usize) -> io::Result<()> {
    let (Some((begin, _)), Some((end, _))) = (about.curve.first(), about.curve.last()) else { return Ok(()) };
    let span = u128::from(end.saturating_sub(*begin)).max(1);
    let mut columns = [Column::default(); chart::COLUMNS];
    let last = columns.len() - 1;
    let mut at = 0;
    for (time, bytes) in &about.curve {
        let to = (u128::from(time.saturating_sub(*begin)) * last as u128 / span).min(last as u128) as usize;
        let before = columns[at].line;
        // `line` is the size at the end of a column here, until the columns are drawn.
        columns.iter_mut().take(to).skip(at + 1).for_each(|of| *of = Column { area: before, line: before });
        columns[to] = Column { area: columns[to].area.max(*bytes), line: *bytes };
        at = at.max(to);
    }
    let columns = columns.map(|of| Column { line: 0, ..of });
    let what = if about.counts_pages { "Mapped memory" } else { "Heap" };
    let title =
        format!("{what} (#) at the {} that massif wrote down", counted(about.curve.len() as u64, "moment"));
    let unit = match about.curve_unit.as_str() {
        "i" => " instructions",
        "B" => " bytes allocated and freed",
        unit => &format!(" {unit}"),
    };
    let end = format!("{}{unit}", count(*end));
    chart::picture(out, &title, columns.into_iter(), [&count(*begin), &end], chart::ROWS, width).map(drop)
}

/// What a profile cannot answer, in words.
pub fn unknown(sums: &Sums) -> Vec<String> {
    let known = &sums.about.known;
    let has_curve = !sums.about.curve.is_empty();
    let blocks = [known.at_peak, known.live, known.allocated];
    let all = [
        ("Who held the heap when it was largest", known.at_peak.is_any()),
        ("What was live at its end", known.live.is_any()),
        ("What was allocated and freed again", known.allocated.is_any()),
        ("How many blocks there were", blocks.iter().any(|unit| unit.blocks)),
        ("How old blocks are, which were temporary, and what was ever freed", {
            !sums.lived.is_empty() || sums.about.origin == Origin::GoTrace
        }),
        ("Which blocks were temporary", sums.lived.is_empty()),
        ("The heap over time, threads and processes", has_curve),
        ("Threads and processes", !has_curve),
        ("Whether files are those that ran: it has no build ids, so names are of files older than it", {
            !sums.has_names_of_today
        }),
    ];
    let unknown = all.into_iter().filter(|(_, is_known)| !is_known).map(|(what, _)| what.to_owned());
    let at_peak = match sums.about.heap_max_bytes {
        0 => None,
        most => Some(format!("Who held the heap when it was largest, {}", bytes(most))),
    };
    unknown.chain(at_peak).chain(sums.about.notes.iter().cloned()).collect()
}
