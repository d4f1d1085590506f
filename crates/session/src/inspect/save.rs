//! A snapshot as a trace: one process, what its numbers mean, and one table of blocks.

use std::io::{self, Write};

use heapscribe_formats::model::{LiveBlock, LiveRole, LiveTable, ProcessEnd, SessionInfo};
use heapscribe_formats::{HowEnded, ProcessIndex, SessionEnd, Writer};
use heapscribe_wire::definitions::Position;
use heapscribe_wire::live::age_ticks;
use heapscribe_wire::live::walk::{Live, TableError};

use super::copied::Exactness;
use super::snapshot::Snapshot;
use crate::head::{process_end, process_info};

/// Blocks that are written at a time.
const PIECE_BLOCKS: usize = 1 << 14;
/// Problems of a table that are reported one by one.
const PROBLEMS_MAX: usize = 16;

impl Snapshot {
    /// The table as a trace has it, as that process's table of this number; and what makes no sense in it.
    pub fn table(&self, number: u32, role: LiveRole) -> (LiveTable, Vec<String>) {
        let (mut blocks, mut bad, mut problems) = (0, 0, Vec::new());
        let walked = self.for_each(|found| match found {
            Ok(_) => blocks += 1,
            Err(e) => {
                bad += 1;
                if problems.len() < PROBLEMS_MAX {
                    problems.push(e.to_string());
                }
            }
        });
        problems.extend(walked.err().map(|e| e.to_string()));
        if bad > PROBLEMS_MAX {
            problems.push(format!("{} more entries of the live table are invalid", bad - PROBLEMS_MAX));
        }
        let sum = |of: fn(&heapscribe_wire::operation::Record) -> u64| {
            self.records.iter().map(of).fold(0, u64::wrapping_add)
        };
        let table = LiveTable {
            number,
            role,
            mono_ns: self.moment.mono_ns,
            real_ns: self.moment.real_ns,
            ticks: self.moment.ticks,
            name: self.name.clone().unwrap_or_default(),
            inexact: match &self.exactness {
                Exactness::Inexact(why) => why.to_string(),
                Exactness::Instant | Exactness::Ended => String::new(),
            },
            blocks,
            allocated_blocks: sum(|record| record.allocated_blocks),
            allocated_bytes: sum(|record| record.allocated_bytes),
            freed_blocks: sum(|record| record.freed_blocks),
            freed_bytes: sum(|record| record.freed_bytes),
        };
        (table, problems)
    }

    /// Hands the blocks to `take` as a trace has them, in pieces.
    pub fn pieces(&self, mut take: impl FnMut(&[LiveBlock])) {
        let mut piece = Vec::with_capacity(PIECE_BLOCKS);
        // What is wrong is reported with the table.
        let _ = self.for_each(|found: Result<Live, TableError>| {
            let Ok(block) = found else { return };
            piece.push(self.block(&block));
            if piece.len() == PIECE_BLOCKS {
                take(&piece);
                piece.clear();
            }
        });
        take(&piece);
    }

    fn block(&self, block: &Live) -> LiveBlock {
        let Live { address, is_pool, slot } = *block;
        let age = age_ticks(self.moment.ticks, slot.birth_ticks);
        LiveBlock {
            address,
            size_bytes: slot.size_bytes,
            stack: slot.stack,
            thread: slot.thread,
            birth_ticks: self.moment.ticks.saturating_sub(age),
            rate: slot.rate,
            is_pool,
        }
    }
}

/// What was written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Saved {
    /// Blocks of the heap, without those of the program's own pools, which lie inside them.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What makes no sense in the snapshot, in words.
    pub problems: Vec<String>,
}

impl Saved {
    /// Counts blocks that are written.
    pub fn count(&mut self, blocks: &[LiveBlock]) {
        for block in blocks.iter().filter(|block| !block.is_pool) {
            self.blocks += 1;
            self.bytes = self.bytes.wrapping_add(block.size_bytes);
        }
    }
}

/// Writes a snapshot as a trace.
///
/// # Errors
/// Those of the medium.
pub fn save(snapshot: &Snapshot, into: &mut impl Write) -> io::Result<Saved> {
    let mut writer = Writer::new();
    let mut out = Vec::new();
    let head = snapshot.head.get();
    let info = process_info(&head);
    writer.start(&session(snapshot, &info.command), &mut out);
    let process = writer.process(&info, &mut out);
    let accepted = writer.definitions(process, Position::default(), &snapshot.definitions, &mut out);
    writer.definitions(process, accepted.position, &snapshot.jit_names, &mut out);
    let (table, mut problems) = snapshot.table(0, LiveRole::Snapshot);
    if accepted.bytes < snapshot.definitions.len() {
        let why = accepted.bad.map_or("it is truncated", |bad| bad.why);
        problems.push(format!("cannot read the definitions from byte {} on: {why}", accepted.bytes));
    }
    writer.live(process, &table, &mut out);
    let saved = blocks(snapshot, &mut writer, process, &mut out, into)?;
    if let Some(pages) = &snapshot.pages {
        let map = &pages.map;
        writer.memory_map(
            process,
            &pages.head(table.number),
            (&map.mappings, &map.runs, &pages.free.ranges),
            &mut out,
        );
        if let Some((info, sample)) = &pages.statistics {
            writer.heap(process, info, std::slice::from_ref(sample), &mut out);
        }
    }
    let how = match snapshot.exactness {
        Exactness::Ended => HowEnded::Unseen,
        Exactness::Instant | Exactness::Inexact(_) => HowEnded::Abandoned,
    };
    let ended_mono_ns = snapshot.moment.mono_ns;
    let end = ProcessEnd {
        how,
        ended_mono_ns,
        lost_note: problems.join("; "),
        modes: snapshot.modes.clone(),
        ..process_end(&head, &snapshot.records)
    };
    writer.process_end(process, &end, &mut out);
    writer.session_end(&SessionEnd { ended_mono_ns, ..SessionEnd::default() }, &mut out);
    writer.finish(&mut out);
    into.write_all(&out)?;
    into.flush()?;
    Ok(Saved { problems, ..saved })
}

/// Writes the blocks.
fn blocks(
    snapshot: &Snapshot,
    writer: &mut Writer,
    process: ProcessIndex,
    out: &mut Vec<u8>,
    into: &mut impl Write,
) -> io::Result<Saved> {
    let (mut written, mut saved) = (Ok(()), Saved::default());
    snapshot.pieces(|blocks| {
        saved.count(blocks);
        writer.blocks(process, 0, blocks, out);
        if written.is_ok() {
            written = into.write_all(out);
        }
        out.clear();
    });
    written.map(|()| saved)
}

fn session(snapshot: &Snapshot, command: &[Vec<u8>]) -> SessionInfo {
    SessionInfo {
        command: command.to_vec(),
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_real_ns: snapshot.moment.real_ns,
        started_mono_ns: snapshot.moment.mono_ns,
        ..SessionInfo::default()
    }
}
