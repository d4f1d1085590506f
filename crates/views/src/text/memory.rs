//! `report --memory`: of what the resident memory of a process is made, who keeps nearly empty pages, and what comes back
//! without their blocks.

use std::io;

use heapscribe_analyze::answer::NodeId;
use heapscribe_analyze::memory::{
    Memory, OtherMapping, PINNED_MAX_QUARTERS, PINNED_OF_QUARTERS, PartName, Pinned, TopBlock,
};
use heapscribe_analyze::snapshot::Snapshot;
use heapscribe_formats::{FreeKind, HeapLayout, ListsRead};

use super::bounds::Shown;
use super::findings::wrapped;
use super::stack_list::StackPrinter;
use super::{Out, heading};
use crate::coverage::{self, UnseenHeap};
use heapscribe_symbols::{NamedStacks, lossy};
use heapscribe_units::{about, bytes, counted, date, duration, percent, percent_cell, short_bytes};

/// What is less than this part of the resident size is not worth a line.
const NOTEWORTHY: u64 = 50;
/// Columns of a part's name.
const NAME: usize = 50;

/// What is to be printed.
pub struct MemoryReport<'a> {
    /// The snapshot.
    pub snapshot: &'a Snapshot,
    /// What its memory is made of.
    pub memory: &'a Memory,
    /// Heaps that are not recorded, where little is explained.
    pub heaps: &'a [UnseenHeap],
    /// Entries of each list.
    pub top: usize,
    /// The file's path, for the commands to type next.
    pub path: &'a str,
    /// Columns of a line.
    pub width: usize,
}

/// What a part is, in words, of a heap that is glibc's or not known.
pub fn words(part: PartName) -> &'static str {
    match part {
        PartName::Live => "live blocks, as the program asked for them",
        PartName::Rounding => "their headers and rounding",
        PartName::MappedTails => "ends of blocks with a mapping of their own",
        PartName::FreeInUsedPages => "free, in pages that also hold live blocks",
        PartName::FreePages => "free pages between live blocks",
        PartName::FreePagesAtTop => "free pages above the last live block",
        PartName::FreeArenas => "arenas without a live block",
        PartName::SampledHeap => "the heap (not divided: blocks were sampled)",
        PartName::Stacks => "stacks of threads",
        PartName::Files => "code and data of programs, libraries and files",
        PartName::SharedMemory => "shared memory",
        PartName::Recorder => "heapscribe's recorder",
        PartName::OtherAnonymous => "other anonymous memory, without recorded blocks",
        PartName::Unexplained => "unexplained",
    }
}

/// The same of a heap with a name.
pub fn words_of(part: PartName, heap: HeapLayout) -> String {
    let by = match heap.name() {
        Some(name) if heap != HeapLayout::Glibc => name,
        _ => return words(part).to_owned(),
    };
    let is_pool = heap == HeapLayout::Tlsf;
    match part {
        PartName::Rounding if is_pool => "their headers and rounding in the pool".to_owned(),
        PartName::Rounding => format!("rounded up to {by}'s sizes"),
        PartName::FreeInUsedPages if is_pool => "free in the pool, in pages with live blocks".to_owned(),
        PartName::FreePages if is_pool => "free pages of the pool between live blocks".to_owned(),
        PartName::FreePagesAtTop if is_pool => "free pages of the pool above the last one".to_owned(),
        PartName::FreeArenas if is_pool => "pools without a live block".to_owned(),
        PartName::FreeInUsedPages => format!("kept by {by}, in pages with live blocks"),
        PartName::FreePages => format!("kept by {by}, pages without live blocks"),
        PartName::FreePagesAtTop => format!("kept by {by}, pages above the last live block"),
        PartName::FreeArenas => format!("kept by {by}, mappings without live blocks"),
        _ => words(part).to_owned(),
    }
}

/// Where glibc has free memory, in words.
fn list_words(kind: FreeKind) -> &'static str {
    match kind {
        FreeKind::ThreadCache => "caches of threads (tcache), never given back",
        FreeKind::FastBin => "fast bins",
        FreeKind::Bin => "bins",
        FreeKind::Top => "top of the heap and of arenas",
        FreeKind::Own | FreeKind::Pool => "its own structures",
    }
}

impl MemoryReport<'_> {
    fn pinned(&self) -> &[Pinned] {
        &self.memory.pinned[..self.memory.pinned.len().min(self.top)]
    }

    /// The blocks at the top that keep anything from being given back.
    fn tops(&self) -> impl Iterator<Item = &TopBlock> {
        let keeps = |top: &&TopBlock| top.below_bytes > self.memory.map.page_bytes;
        self.memory.tops.iter().filter(keeps).take(self.top)
    }

    /// The stacks that will be printed: only their names need to be looked up.
    pub fn wanted(&self) -> Vec<NodeId> {
        self.pinned().iter().map(|of| of.node).chain(self.tops().map(|top| top.node)).collect()
    }

    /// Prints all of it.
    pub fn print(&self, out: Out<'_>, names: &NamedStacks<'_>) -> io::Result<()> {
        let mut printer = StackPrinter::new(names, self.width);
        self.header(out)?;
        if !self.memory.is_cut {
            self.waterfall(out)?;
            self.coverage(out)?;
            self.lists(out)?;
            super::pools::print(out, self.memory, self.snapshot.table.mono_ns, self.width)?;
            if !self.memory.is_sampled {
                self.pins(out, &mut printer)?;
                self.at_top(out, &mut printer)?;
                self.remedy(out)?;
            }
        }
        self.limits(out)?;
        heading(out, "Next")?;
        if !self.memory.is_cut {
            writeln!(out, "  heapscribe flame {} -o pinned.svg --metric pinned", self.path)?;
        }
        writeln!(out, "  heapscribe report {}", self.path)
    }

    fn header(&self, out: Out<'_>) -> io::Result<()> {
        let (s, m) = (self.snapshot, self.memory);
        let info = s.process.info.clone().unwrap_or_default();
        let command: Vec<_> = info.command.iter().map(|part| lossy(part)).collect();
        writeln!(out, "Memory of: {}", command.join(" "))?;
        writeln!(
            out,
            "Process {} on {}, {} after its start.",
            info.pid,
            date(s.table.real_ns),
            duration(s.age_ns)
        )?;
        let (bounds, estimate) = (s.bounds(), s.sampling.as_ref().map(|of| &of.live));
        let live = Shown { seen: s.live, estimate, bounds: bounds.as_ref() }.amount();
        if m.is_cut {
            writeln!(out, "Resident: unknown, the file lacks blocks or pages of this snapshot.")?;
            return writeln!(out, "Live: {live}.");
        }
        write!(out, "Resident: {}", bytes(m.resident_bytes))?;
        let swapped = (m.swapped_bytes > 0).then(|| format!("; swapped out: {}", bytes(m.swapped_bytes)));
        writeln!(out, "{}.", swapped.unwrap_or_default())?;
        write!(out, "Live: {live}")?;
        let about = if m.is_sampled { format!("{} ", about()) } else { String::new() };
        let untouched = format!(", of which {about}{} are not in memory", short_bytes(m.untouched_bytes));
        writeln!(out, "{}.", if m.untouched_bytes > 0 { untouched } else { String::new() })
    }

    fn waterfall(&self, out: Out<'_>) -> io::Result<()> {
        let m = self.memory;
        heading(out, "What the resident memory is")?;
        let mut row = |name: &str, bytes: u64| {
            writeln!(
                out,
                "  {name:<NAME$} {:>9} {:>8}",
                short_bytes(bytes),
                percent_cell(bytes, m.resident_bytes)
            )
        };
        m.parts.iter().try_for_each(|part| row(&words_of(part.name, m.map.heap), part.bytes))?;
        row("resident", m.resident_bytes)?;
        match m.map.heap.name() {
            Some(name) if m.map.heap != HeapLayout::Glibc && !m.is_sampled => {
                let kept = short_bytes(m.kept_bytes());
                writeln!(out, "  The heap is {name}. It keeps {kept} that are no live block's.")
            }
            _ => Ok(()),
        }
    }

    /// Where the heap itself has what is free.
    fn lists(&self, out: Out<'_>) -> io::Result<()> {
        let of = &self.memory.lists;
        if of.read == ListsRead::No || self.memory.map.heap != HeapLayout::Glibc {
            return Ok(());
        }
        heading(out, "Where glibc has the free part of its heap")?;
        let header = "in pages without blocks";
        writeln!(out, "  {:<NAME$} {:>9} {header:>25}", "", "")?;
        for part in of.parts.iter().filter(|part| part.kind != FreeKind::Pool) {
            let (all, in_free) = (short_bytes(part.bytes), short_bytes(part.in_free_pages_bytes));
            writeln!(out, "  {:<NAME$} {all:>9} {in_free:>25}", list_words(part.kind))?;
        }
        let unlisted = match of.read {
            ListsRead::Whole => "in no list: not followed, or changed while read",
            _ => "in no list that could be read",
        };
        writeln!(out, "  {unlisted:<NAME$} {:>9}", short_bytes(of.unlisted_bytes))
    }

    fn coverage(&self, out: Out<'_>) -> io::Result<()> {
        let m = self.memory;
        let share = m.coverage * 100.0;
        writeln!(
            out,
            "  The recorded heap is {share:.1} % of the anonymous memory that is no stack and no file's."
        )?;
        if m.coverage >= coverage::LOW {
            return Ok(());
        }
        writeln!(out, "  The rest was mapped by the program itself, or by a heap that is not recorded:")?;
        m.others.iter().take(self.top).try_for_each(|of| writeln!(out, "    {}", other(of)))?;
        for heap in self.heaps {
            let why = format!("  {}: {}", heap.file, heap.hint);
            wrapped(&why, self.width, 4).iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
        Ok(())
    }

    fn pins(&self, out: Out<'_>, printer: &mut StackPrinter<'_>) -> io::Result<()> {
        printer.list(out, "Who keeps nearly empty pages")?;
        let (m, all) = (self.memory, self.memory.pinned_bytes());
        if m.pinned.is_empty() {
            return writeln!(out, "  Nobody: no page with live blocks is nearly empty.");
        }
        writeln!(
            out,
            "  {} are pages of which blocks take at most {PINNED_MAX_QUARTERS}/{PINNED_OF_QUARTERS}. Each is charged to \
             the stacks whose blocks\n  are in it, in proportion of their bytes in it.",
            bytes(all)
        )?;
        for (i, of) in self.pinned().iter().enumerate() {
            let figures = format!(
                "{}: {} resident for {} in {}, {} to {} old",
                percent(of.resident_bytes, all),
                short_bytes(of.resident_bytes),
                short_bytes(of.live_bytes),
                counted(of.blocks, "block"),
                duration(of.youngest_ns),
                duration(of.oldest_ns)
            );
            printer.entry(out, i + 1, &figures, of.node)?;
        }
        super::tables::more(out, m.pinned.len(), self.top, "stack")
    }

    fn at_top(&self, out: Out<'_>, printer: &mut StackPrinter<'_>) -> io::Result<()> {
        if self.tops().next().is_none() {
            return Ok(());
        }
        printer.list(out, "Blocks at the top of a heap, which cannot shrink below them (sbrk, trimming)")?;
        for (i, top) in self.tops().enumerate() {
            let heap = if top.is_brk { "the heap (brk)" } else { "an arena" };
            let figures = format!(
                "the last block of {heap}, {}, {} old: above {} of free pages; freed alone, {} come back",
                counted(top.size_bytes, "byte"),
                duration(top.age_ns),
                short_bytes(top.below_bytes),
                short_bytes(top.alone_bytes)
            );
            printer.entry(out, i + 1, &figures, top.node)?;
        }
        Ok(())
    }

    fn remedy(&self, out: Out<'_>) -> io::Result<()> {
        let m = self.memory;
        heading(out, "What would come back")?;
        let resident = short_bytes(m.resident_bytes);
        if let Some(free) = m.trim_bytes.map(short_bytes) {
            let cached = if m.lists.read == ListsRead::Whole { "" } else { ", less what threads cache" };
            writeln!(out, "  {free:>9} of {resident} by malloc_trim(0){cached}.")?;
        }
        for (i, of) in self.pinned().iter().enumerate() {
            let who = match i {
                0 => "of stack 1 above".to_owned(),
                _ => format!("of stacks 1 to {} above", i + 1),
            };
            let (back, pooled) = (short_bytes(of.with_previous_bytes), short_bytes(of.in_pool_bytes));
            writeln!(
                out,
                "  {back:>9} more if the blocks {who} were freed; {pooled} if they were in a pool of their own."
            )?;
        }
        let of_arenas = m.bytes_of(PartName::FreeArenas) + m.arena_top_bytes;
        if of_arenas > m.resident_bytes / NOTEWORTHY {
            let of_arenas = short_bytes(of_arenas);
            writeln!(
                out,
                "  {of_arenas:>9} are free at the end of arenas, where malloc_trim leaves them: fewer arenas keep less\n\
                 \u{20}           (MALLOC_ARENA_MAX=1, or mallopt(M_ARENA_MAX, 1) before the first thread)."
            )?;
        }
        Ok(())
    }

    fn limits(&self, out: Out<'_>) -> io::Result<()> {
        let m = self.memory;
        heading(out, "What is missing")?;
        let mut problems = m.problems.iter().chain(&self.snapshot.problems);
        if m.is_cut {
            return problems.try_for_each(|problem| writeln!(out, "  {problem}."));
        }
        match (m.map.allocated_bytes, m.map.freed_bytes) {
            (0, 0) => writeln!(out, "  Nothing was allocated or freed between blocks and pages.")?,
            (allocated, freed) => writeln!(
                out,
                "  Between blocks and pages {} were allocated and {} freed: so much may be in\n  another part.",
                bytes(allocated),
                bytes(freed)
            )?,
        }
        if m.unplaced_blocks > 0 {
            writeln!(out, "  {} outside of all mappings.", counted(m.unplaced_blocks, "block"))?;
        }
        writeln!(out, "  Blocks from before the recording count as free memory.")?;
        match m.lists.read {
            ListsRead::InPart if m.map.heap == HeapLayout::Tlsf => {
                writeln!(out, "  Some pools changed while they were read, and are not in the table.")?
            }
            ListsRead::InPart => writeln!(
                out,
                "  Some of glibc's lists of free memory changed while they were read, were too long, or were not\n  found: what is in them counts as free memory that the heap keeps."
            )?,
            ListsRead::No if m.map.heap == HeapLayout::Glibc && !m.is_sampled => writeln!(
                out,
                "  glibc's lists of free memory were not read (they need the right to trace the process, as gdb does)."
            )?,
            _ => {}
        }
        problems.try_for_each(|problem| writeln!(out, "  {problem}."))
    }
}

fn other(of: &OtherMapping) -> String {
    let name = if of.name.is_empty() { String::new() } else { format!(" {}", lossy(&of.name)) };
    format!("{:>9} at {:#x} to {:#x}{name}", short_bytes(of.resident_bytes), of.start, of.end)
}
