//! Tables of live blocks, both ways: the head of a table, and its blocks in columns. Bytes after the known
//! fields of a head were added by a later minor version.
//!
//! ```text
//!   live     number  role (0 snapshot, 1 before the first event, 2 after the last)  mono  real  ticks
//!            name  why it is not of one instant (text, empty when it is)  blocks
//!            allocated blocks  bytes  freed blocks  bytes
//!   blocks   number of the table u32  count u32  lengths of six columns, then the columns:
//!            address*  size  stack*  thread*  birth ticks*  flags u8 (bits 0-1 rate, 2 of a pool)
//! ```
//! `*` zigzag against the block before it, the first against 0. Blocks are in the order of their addresses.

use heapscribe_wire::ids::{HeapAddress, RateId, StackId, ThreadId};
use heapscribe_wire::limits::RATES_MAX;

use super::fields::{Fields, put, put_from, put_text};
use crate::model::{LiveBlock, LiveRole, LiveTable};

/// Blocks of one block of the file, at most: with all fields at their longest they fit.
pub(super) const BLOCKS_MAX: usize = 1 << 14;
const COLUMNS: usize = 6;
const POOL: u8 = 4;
const _: () =
    assert!(BLOCKS_MAX * (5 * heapscribe_wire::varint::MAX_BYTES + 1) < super::block::BLOCK_BYTES_MAX);

const ROLES: [LiveRole; 3] = [LiveRole::Snapshot, LiveRole::Before, LiveRole::After];

pub(super) fn put_table(out: &mut Vec<u8>, table: &LiveTable) {
    put(out, u64::from(table.number));
    put(out, table.role as u64);
    for n in [table.mono_ns, table.real_ns, table.ticks] {
        put(out, n);
    }
    put_text(out, table.name.as_bytes());
    put_text(out, table.inexact.as_bytes());
    for n in
        [table.blocks, table.allocated_blocks, table.allocated_bytes, table.freed_blocks, table.freed_bytes]
    {
        put(out, n);
    }
}

pub(super) fn get_table(payload: &[u8]) -> Option<LiveTable> {
    let mut f = Fields::new(payload);
    Some(LiveTable {
        number: f.small()?,
        role: ROLES.get(f.number()? as usize).copied()?,
        mono_ns: f.number()?,
        real_ns: f.number()?,
        ticks: f.number()?,
        name: f.string()?,
        inexact: f.string()?,
        blocks: f.number()?,
        allocated_blocks: f.number()?,
        allocated_bytes: f.number()?,
        freed_blocks: f.number()?,
        freed_bytes: f.number()?,
    })
}

/// Buffers for the columns of one block of the file.
#[derive(Debug, Default)]
pub(super) struct Columns([Vec<u8>; COLUMNS]);

impl Columns {
    /// The payload of some of a table's blocks, and where its columns end.
    pub(super) fn put(&mut self, table: u32, blocks: &[LiveBlock], out: &mut Vec<u8>, ends: &mut Vec<usize>) {
        self.0.iter_mut().for_each(Vec::clear);
        let mut last = LiveBlock::default();
        for block in blocks {
            self.block(block, &last);
            last = *block;
        }
        out.extend_from_slice(&table.to_le_bytes());
        out.extend_from_slice(&(blocks.len() as u32).to_le_bytes());
        self.0.iter().for_each(|column| put(out, column.len() as u64));
        for column in &self.0 {
            ends.push(out.len());
            out.extend_from_slice(column);
        }
    }

    fn block(&mut self, block: &LiveBlock, last: &LiveBlock) {
        let [addresses, sizes, stacks, threads, births, flags] = &mut self.0;
        put_from(addresses, block.address.0, last.address.0);
        put(sizes, block.size_bytes);
        put_from(stacks, u64::from(block.stack.0), u64::from(last.stack.0));
        put_from(threads, u64::from(block.thread.0), u64::from(last.thread.0));
        put_from(births, block.birth_ticks, last.birth_ticks);
        flags.push(block.rate.0 | if block.is_pool { POOL } else { 0 });
    }
}

/// The number of the table that the blocks of a payload belong to.
pub(super) fn table_of(payload: &[u8]) -> Option<u32> {
    Fields::new(payload).fixed_u32()
}

/// Calls `visit` with the blocks; how many there were, if no bytes are left.
pub(super) fn get_blocks(payload: &[u8], mut visit: impl FnMut(&LiveBlock)) -> Option<u64> {
    let mut f = Fields::new(payload);
    f.fixed_u32()?;
    let count = f.fixed_u32()?;
    let mut lengths = [0; COLUMNS];
    for length in &mut lengths {
        *length = usize::try_from(f.number()?).ok()?;
    }
    let mut columns = [Fields::new(&[]); COLUMNS];
    for (column, length) in columns.iter_mut().zip(lengths) {
        *column = Fields::new(f.bytes(length)?);
    }
    if !f.is_empty() || lengths[COLUMNS - 1] != count as usize {
        return None;
    }
    let mut block = LiveBlock::default();
    for _ in 0..count {
        block = get_block(&mut columns, &block)?;
        visit(&block);
    }
    columns.iter().all(Fields::is_empty).then_some(u64::from(count))
}

fn get_block(columns: &mut [Fields<'_>; COLUMNS], last: &LiveBlock) -> Option<LiveBlock> {
    let [addresses, sizes, stacks, threads, births, flags] = columns;
    let flags = flags.bytes(1)?[0];
    let rate = flags & !POOL;
    Some(LiveBlock {
        address: HeapAddress(addresses.number_from(last.address.0)?),
        size_bytes: sizes.number()?,
        stack: StackId(u32::try_from(stacks.number_from(u64::from(last.stack.0))?).ok()?),
        thread: ThreadId(u32::try_from(threads.number_from(u64::from(last.thread.0))?).ok()?),
        birth_ticks: births.number_from(last.birth_ticks)?,
        rate: RateId(Some(rate).filter(|rate| usize::from(*rate) <= RATES_MAX)?),
        is_pool: flags & POOL != 0,
    })
}
