//! A trace as lines of text. An event's line starts with its time, a definition's with `#`.

use std::io::{self, Write};

use heapscribe_analyze::memory::PartName;
use heapscribe_formats::{
    ExitStatus, HeapInfo, HowEnded, LiveRole, LiveTable, MemorySample, Process, ResidentSample, SessionEnd,
    SessionInfo, Stage,
};
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::head::LossReason;
use heapscribe_wire::heap::HeapCounts;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::language::Language;
use heapscribe_wire::mode::Mode;
use heapscribe_wire::record::{Block, Call, Event, Note};

use super::mappings;
use super::printer::{Moment, Printer, Rates, Standing};
use crate::interpreters::version;
use heapscribe_symbols::lossy;

/// Writes lines.
pub struct Lines<W> {
    /// Where the lines go.
    pub out: W,
    /// Sampling rates that were defined so far.
    pub rates: Rates,
}

impl<W: Write> Printer for Lines<W> {
    fn session(&mut self, info: &SessionInfo) -> io::Result<()> {
        writeln!(
            self.out,
            "# session host={} version={} command={}",
            info.host,
            info.version,
            words(&info.command)
        )
    }

    fn process(&mut self, process: &Process) -> io::Result<()> {
        let index = process.index.0;
        let Some(info) = &process.info else { return writeln!(self.out, "# process P{index} unknown") };
        let how = if info.stage == Stage::Forked { "forked" } else { "execed" };
        let (pid, parent, exe) = (info.pid, info.parent_pid, text(&info.exe));
        let command = words(&info.command);
        writeln!(self.out, "# process P{index} pid={pid} parent={parent} {how} exe={exe} command={command}")
    }

    fn definition(&mut self, process: u32, node: StackId, definition: &Definition<'_>) -> io::Result<()> {
        self.rates.note(process, definition);
        write!(self.out, "# P{process} ")?;
        match definition {
            Definition::Node(n) => {
                let guesses = if n.guesses { " guesses" } else { "" };
                let exact = if n.exact { " exact" } else { "" };
                writeln!(
                    self.out,
                    "stack S{} pc={:#x} caller=S{}{guesses}{exact}",
                    node.0, n.pc.0, n.parent.0
                )
            }
            Definition::Function(f) => writeln!(
                self.out,
                "function F{} {} {} {}:{}",
                f.id.0,
                language(f.language),
                text(f.name),
                text(f.file),
                f.first_line
            ),
            Definition::Code(c) => {
                write!(self.out, "code {:#x}..{:#x} F{}:{}", c.start, c.end, c.function.0, c.line)?;
                match c.first_node {
                    StackId::UNKNOWN => writeln!(self.out),
                    first => writeln!(self.out, " from=S{}", first.0),
                }
            }
            Definition::Interpreter(i) => {
                let read = i.frames.name().map_or_else(|| i.frames.0.to_string(), str::to_owned);
                let version = version(i.version).unwrap_or_else(|| "-".to_owned());
                let objects = i.objects.name().unwrap_or("-");
                let of = language(i.language);
                writeln!(self.out, "interpreter {of} {version} frames_read={read} objects={objects}")
            }
            Definition::Interpreted(n) => {
                writeln!(self.out, "stack S{} F{}:{} caller=S{}", node.0, n.function.0, n.line, n.parent.0)
            }
            Definition::Cut { reason, parent } => {
                let caller = match *parent {
                    StackId::UNKNOWN => String::new(),
                    parent => format!(" caller=S{}", parent.0),
                };
                writeln!(self.out, "stack S{} cut {}{caller}", node.0, reason_name(*reason))
            }
            Definition::Thread { id, tid, born_ticks, name } => {
                writeln!(self.out, "thread T{} tid={tid} born_ticks={born_ticks} name={}", id.0, text(name))
            }
            Definition::Module(m) => writeln!(
                self.out,
                "module {:#x}-{:#x} bias={:#x} build_id={} path={}",
                m.start,
                m.end,
                m.bias,
                hex(m.build_id),
                text(m.name)
            ),
            Definition::Unmapped => writeln!(self.out, "unmapped"),
            Definition::Rate { id, mean_bytes } => {
                writeln!(self.out, "rate R{} mean_bytes={mean_bytes}", id.0)
            }
            Definition::Name { id, name } => writeln!(self.out, "name N{} {}", id.0, text(name)),
        }
    }

    fn event(&mut self, m: &Moment<'_>) -> io::Result<()> {
        write!(self.out, "{} P{} T{} ", m.time_ns, m.process, m.thread)?;
        match m.event {
            Event::Alloc { call, size_bytes, stack, align_log2 } => {
                write!(self.out, "+ {size_bytes} - S{} {}", stack.0, call.name())?;
                alignment(&mut self.out, *call, *align_log2)?;
            }
            Event::Free { call, block } => {
                write!(self.out, "- {} {} S{} {}", block.size_bytes, m.age_ns, block.stack.0, call.name())?;
                birth(&mut self.out, block)?;
            }
            Event::Realloc { call, old, size_bytes, stack } => {
                let (from, to) = (old.size_bytes, size_bytes);
                write!(self.out, "~ {from}>{to} {} S{}>S{} {}", m.age_ns, old.stack.0, stack.0, call.name())?;
                birth(&mut self.out, old)?;
            }
            Event::Failed { call, size_bytes, stack } => {
                write!(self.out, "! {size_bytes} - S{} {}", stack.0, call.name())?;
            }
            Event::UnknownFree { call } => write!(self.out, "? - - - {}", call.name())?,
            Event::UnknownRealloc { call, size_bytes, stack } => {
                write!(self.out, "? ->{size_bytes} - ->S{} {}", stack.0, call.name())?;
            }
            Event::Rate { rate } => match self.rates.mean_bytes(m.process, *rate) {
                Some(mean_bytes) => write!(self.out, "% {mean_bytes} - R{}", rate.0)?,
                None => write!(self.out, "% - - R{}", rate.0)?,
            },
            Event::Took { .. } => {} // stands on the line of its call
            Event::Lost { count, reason } => write!(self.out, "x {count} - - {}", reason_name(*reason))?,
            Event::Note { note, name } => match note {
                Note::Mark => write!(self.out, "@ - - N{} mark", name.0)?,
                Note::Begin => write!(self.out, "@ - - N{} section_begin", name.0)?,
                Note::End => write!(self.out, "@ - - N{} section_end", name.0)?,
                Note::GoesOn { .. } => write!(self.out, "@ - {} N{} section_goes_on", m.age_ns, name.0)?,
            },
            Event::Mapping(mapping) => write!(self.out, "{}", mappings::line(mapping))?,
        }
        if let Some(ns) = m.took_ns {
            write!(self.out, " took={ns}")?;
        }
        writeln!(self.out)
    }

    fn live(&mut self, process: u32, time_ns: u64, t: &LiveTable) -> io::Result<()> {
        write!(self.out, "# P{process} live {} time={time_ns} blocks={}", role(t.role), t.blocks)?;
        let counters = [t.allocated_blocks, t.allocated_bytes, t.freed_blocks, t.freed_bytes];
        for (name, n) in ["allocations", "allocated_bytes", "frees", "freed_bytes"].into_iter().zip(counters)
        {
            write!(self.out, " {name}={n}")?;
        }
        if !t.inexact.is_empty() {
            write!(self.out, " inexact={}", t.inexact.escape_default())?;
        }
        if !t.name.is_empty() {
            write!(self.out, " name={}", t.name.escape_default())?;
        }
        writeln!(self.out)
    }

    fn live_block(&mut self, s: &Standing<'_>) -> io::Result<()> {
        let b = s.block;
        write!(
            self.out,
            "{} P{} T{} = {} {} S{} {:#x}",
            s.time_ns, s.process, b.thread.0, b.size_bytes, s.age_ns, b.stack.0, b.address.0
        )?;
        if b.rate.0 != 0 {
            write!(self.out, " R{}", b.rate.0)?;
        }
        writeln!(self.out, "{}", if b.is_pool { " pool" } else { "" })
    }

    fn memory(&mut self, process: u32, time_ns: u64, s: &MemorySample) -> io::Result<()> {
        let (rss, shared, space) = (s.rss_bytes, s.shared_bytes, s.virtual_bytes);
        writeln!(self.out, "# P{process} memory time={time_ns} rss={rss} shared={shared} virtual={space}")
    }

    fn resident(&mut self, process: u32, time_ns: u64, s: &ResidentSample) -> io::Result<()> {
        let (resident, pinned) = (s.resident_bytes, s.pinned_bytes);
        write!(self.out, "# P{process} resident time={time_ns} bytes={resident} pinned={pinned}")?;
        let parts = PartName::ALL.iter().zip(s.parts).filter(|(_, bytes)| *bytes > 0);
        parts.into_iter().try_for_each(|(part, bytes)| write!(self.out, " {}={bytes}", part.key()))?;
        writeln!(self.out)?;
        for of in &s.sections {
            let (name, thread, begin, end) = (of.name.0, of.thread.0, of.begin_ticks, of.end_ticks);
            write!(
                self.out,
                "# P{process} left time={time_ns} section=N{name} thread=T{thread} begin={begin} end={end}"
            )?;
            writeln!(self.out, " blocks={} bytes={} pinned={}", of.blocks, of.bytes, of.pinned_bytes)?;
        }
        Ok(())
    }

    fn heap(&mut self, process: u32, time_ns: u64, info: &HeapInfo, c: &HeapCounts) -> io::Result<()> {
        write!(self.out, "# P{process} heap time={time_ns} name={}", info.name.escape_default())?;
        let (pool, used, peak, largest) = (c.pool_bytes, c.used_bytes, c.peak_bytes, c.largest_free_bytes);
        write!(self.out, " pool={pool} used={used} peak={peak} free={} largest={largest}", c.free_bytes)?;
        writeln!(self.out, " blocks={} growths={} failures={}", c.blocks, c.growths, c.failures)
    }

    fn mode(&mut self, process: u32, time_ns: u64, mode: Mode) -> io::Result<()> {
        match mode {
            Mode::Off => writeln!(self.out, "# P{process} mode time={time_ns} off"),
            Mode::Full => writeln!(self.out, "# P{process} mode time={time_ns} full"),
            Mode::Sampled { mean_bytes } => {
                writeln!(self.out, "# P{process} mode time={time_ns} sampled mean_bytes={mean_bytes}")
            }
        }
    }

    fn process_end(&mut self, process: &Process) -> io::Result<()> {
        let index = process.index.0;
        let Some(end) = &process.end else { return writeln!(self.out, "# end P{index} unknown") };
        write!(self.out, "# end P{index} {} threads={}", how_ended(end.how), end.threads)?;
        for reason in LossReason::ALL {
            write!(self.out, " {}={}", reason.name(), end.drops[reason as usize])?;
        }
        if !end.lost_note.is_empty() {
            write!(self.out, " note={}", end.lost_note.escape_default())?;
        }
        writeln!(self.out)
    }

    fn session_end(&mut self, end: &SessionEnd) -> io::Result<()> {
        for program in &end.unrecorded.programs {
            let (reason, name) = (program.reason.name(), program.name.escape_ascii());
            writeln!(self.out, "# not recorded pid={} reason={reason} {name}", program.pid)?;
        }
        for (reason, count) in &end.unrecorded.others {
            writeln!(self.out, "# not recorded others={count} reason={}", reason.name())?;
        }
        match end.exit {
            Some(ExitStatus::Code(code)) => writeln!(self.out, "# end session code={code}"),
            Some(ExitStatus::Signal(signal)) => writeln!(self.out, "# end session signal={signal}"),
            None => writeln!(self.out, "# end session running"),
        }
    }
}

/// What a table of live blocks is there for, in a word.
pub(super) fn role(role: LiveRole) -> &'static str {
    match role {
        LiveRole::Snapshot => "snapshot",
        LiveRole::Before => "before",
        LiveRole::After => "after",
    }
}

fn alignment(out: &mut dyn Write, call: Call, align_log2: u8) -> io::Result<()> {
    if call.is_aligned() { write!(out, " align={}", 1u64 << align_log2.min(63)) } else { Ok(()) }
}

fn birth(out: &mut dyn Write, block: &Block) -> io::Result<()> {
    block.birth_thread.map_or(Ok(()), |thread| write!(out, " from=T{}", thread.0))
}

/// How a process ended, in a word.
pub(super) fn how_ended(how: HowEnded) -> &'static str {
    match how {
        HowEnded::Exited => "exited",
        HowEnded::Killed(_) => "killed",
        HowEnded::Unseen => "ended",
        HowEnded::Execed => "execed",
        HowEnded::Abandoned => "abandoned",
        HowEnded::Unknown => "unknown",
    }
}

/// The reason's name, or its number when it is of a later version.
pub(super) fn reason_name(reason: u8) -> String {
    LossReason::from_number(reason)
        .map_or_else(|| format!("reason_{reason}"), |known| known.name().to_owned())
}

/// The language's name, or its number when it is of a later version.
pub(super) fn language(language: Language) -> String {
    language.name().map_or_else(|| format!("language_{}", language.0), str::to_owned)
}

/// Bytes in hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Names come from outside: what would break the line is escaped.
fn text(bytes: &[u8]) -> String {
    lossy(bytes)
        .chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect()
}

fn words(parts: &[Vec<u8>]) -> String {
    parts.iter().map(|part| text(part)).collect::<Vec<_>>().join(" ")
}
