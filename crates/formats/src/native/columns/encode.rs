//! Encodes the events of a chunk as columns.

use heapscribe_wire::record::{Block, Event, Events, Note, ShortEvent};
use heapscribe_wire::varint;

use super::births::{Births, ByTicks};
use super::field_writer::FieldWriter;
use super::layout::{COLUMNS, Column, NEAR_MAX, SAME, SIZE_BASE, VERBATIM};
use super::stacks::{Numbered, STACKS_MAX, StackNumbers};
use crate::model::ChunkInfo;
use crate::model::ChunkSums;
use crate::native::block::EVENTS_BYTES_MAX;
use crate::native::fields;

/// Events between two checks of the size of the columns.
const EVENTS_BETWEEN_CHECKS: u32 = 256;
/// Bytes that those can take at most: all fields of an event, and the codes for how each is written.
const BYTES_BETWEEN_CHECKS: usize = EVENTS_BETWEEN_CHECKS as usize * 8 * varint::MAX_BYTES;
/// DecodeState for the lengths of the columns.
const LENGTHS_BYTES_MAX: usize = COLUMNS * varint::MAX_BYTES;

/// Encodes chunks; its memory is reused from one to the next.
#[derive(Default)]
pub(crate) struct Encoder {
    columns: [FieldWriter; COLUMNS],
    births: Births,
    by_ticks: ByTicks,
    stacks: StackNumbers,
    begin: u64,
    ticks: u64,
    last_birth: u64,
}

impl Encoder {
    /// Appends the columns of the events in `payload`, up to the first that is none, to `out`, and where
    /// each column ends there to `ends`. The rest of `payload` is counted in [`ChunkSums::cut_bytes`].
    pub(crate) fn encode(
        &mut self,
        info: &ChunkInfo,
        payload: &[u8],
        out: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) -> ChunkSums {
        self.begin(info);
        let mut sums = ChunkSums::begin(info);
        let (mut events, mut taken, mut count) = (Events::new(payload), 0, 0u32);
        loop {
            if count.is_multiple_of(EVENTS_BETWEEN_CHECKS) && !self.has_space(out.len()) {
                break;
            }
            count += 1;
            if let Some(event) = events.next_short() {
                sums.add_short(&event);
                self.short(&event);
            } else if let Some(Ok((dt, event))) = events.next() {
                sums.add_event(dt, &event);
                self.event(dt, &event, payload[taken]);
            } else {
                break;
            }
            taken = events.offset();
        }
        sums.cut_bytes = u32::try_from(payload.len() - taken).unwrap_or(u32::MAX);
        self.columns.iter().for_each(|column| fields::put(out, column.written().len() as u64));
        for column in &self.columns {
            out.extend_from_slice(column.written());
            ends.push(out.len());
        }
        sums
    }

    fn begin(&mut self, info: &ChunkInfo) {
        self.columns.iter_mut().for_each(FieldWriter::clear);
        self.births.clear();
        self.stacks.clear();
        (self.begin, self.ticks, self.last_birth) = (info.begin_ticks, info.begin_ticks, info.begin_ticks);
    }

    /// Whether there is space for the events until the next check.
    fn has_space(&self, before: usize) -> bool {
        let bytes: usize = self.columns.iter().map(|column| column.written().len()).sum();
        before + LENGTHS_BYTES_MAX + bytes + BYTES_BETWEEN_CHECKS <= EVENTS_BYTES_MAX
            && self.stacks.len() + 2 * EVENTS_BETWEEN_CHECKS <= STACKS_MAX
    }

    #[inline(always)]
    fn put(&mut self, column: Column, value: u64) {
        self.columns[column as usize].number(value);
    }

    #[inline(always)]
    fn short(&mut self, event: &ShortEvent) {
        let ShortEvent { tag, dt, age_ticks, size_bytes, stack, .. } = *event;
        self.columns[Column::Tags as usize].byte(tag);
        self.ticks = self.ticks.wrapping_add(dt);
        match age_ticks {
            None => {
                self.put(Column::AllocDt, dt);
                self.allocated(stack.0, size_bytes);
            }
            Some(age_ticks) => {
                self.put(Column::OtherDt, dt);
                self.freed(&Block { size_bytes, stack, age_ticks, birth_thread: None });
            }
        }
    }

    #[inline(always)]
    fn event(&mut self, dt: u64, event: &Event, tag: u8) {
        self.columns[Column::Tags as usize].byte(tag);
        match event {
            Event::Rate { .. } => return,
            Event::Took { units } => return self.put(Column::Rest, *units),
            _ => {}
        }
        self.ticks = self.ticks.wrapping_add(dt);
        let dt_column = if let Event::Alloc { .. } = event { Column::AllocDt } else { Column::OtherDt };
        self.put(dt_column, dt);
        match event {
            Event::Alloc { call, size_bytes, stack, align_log2 } => {
                self.allocated(stack.0, *size_bytes);
                if call.is_aligned() {
                    self.put(Column::Rest, u64::from(*align_log2));
                }
            }
            Event::Free { block, .. } => self.freed(block),
            Event::Realloc { old, size_bytes, stack, .. } => {
                self.freed(old);
                self.allocated(stack.0, *size_bytes);
            }
            Event::UnknownRealloc { size_bytes, stack, .. } => self.allocated(stack.0, *size_bytes),
            Event::Failed { size_bytes, stack, .. } => {
                self.stack_and_size(stack.0, *size_bytes, Column::Stacks, Column::Sizes);
            }
            Event::UnknownFree { .. } | Event::Rate { .. } | Event::Took { .. } => {}
            Event::Lost { count, reason } => {
                self.put(Column::Rest, *count);
                self.put(Column::Rest, u64::from(*reason));
            }
            Event::Note { note, name } => {
                self.put(Column::Rest, u64::from(name.0));
                if let Note::GoesOn { age_ticks } = note {
                    self.put(Column::Rest, *age_ticks);
                }
            }
            Event::Mapping(mapping) => mapping.fields().for_each(|field| self.put(Column::Rest, field)),
        }
    }

    #[inline(always)]
    fn allocated(&mut self, stack: u32, size_bytes: u64) {
        self.stack_and_size(stack, size_bytes, Column::Stacks, Column::Sizes);
        self.births.allocated(self.ticks, size_bytes, stack);
        self.by_ticks.allocated(self.ticks, &self.births);
    }

    /// Writes a stack and a size.
    #[inline(always)]
    fn stack_and_size(&mut self, stack: u32, size_bytes: u64, stacks: Column, sizes: Column) {
        let Numbered { number, size_bytes: last, new } = self.stacks.number(stack);
        let last = std::mem::replace(last, size_bytes);
        let number = if new.is_none() { number } else { 0 };
        self.put(stacks, u64::from(number));
        if let Some(distance) = new {
            self.put(Column::New, varint::zigzag(distance));
        }
        if last == size_bytes {
            self.put(sizes, SAME);
        } else if let Some(code) = size_bytes.checked_add(SIZE_BASE) {
            self.put(sizes, code);
        } else {
            self.put(sizes, VERBATIM);
            self.put(sizes, size_bytes);
        }
    }

    #[inline(always)]
    fn freed(&mut self, block: &Block) {
        match self.allocated_here(block) {
            Some((at, number)) => {
                self.put(Column::Freed, number);
                self.births.freed(at);
            }
            None => self.foreign_block(block),
        }
    }

    /// The place of a block that was allocated in this events block, and the number by which the column
    /// `freed` names it.
    #[inline(always)]
    fn allocated_here(&self, block: &Block) -> Option<(usize, u64)> {
        if block.birth_thread.is_some() {
            return None;
        }
        let born = self.ticks.wrapping_sub(block.age_ticks);
        let at = if born <= self.begin { None } else { self.by_ticks.find(born, &self.births) }?;
        let birth = self.births.at(at);
        if birth.size_bytes != block.size_bytes || birth.stack != block.stack.0 || !self.births.is_live(at) {
            return None;
        }
        let number = self.births.rank(at).unwrap_or_else(|| self.births.back(at) + NEAR_MAX);
        Some((at, number))
    }

    fn foreign_block(&mut self, block: &Block) {
        self.put(Column::Freed, 0);
        let born = self.ticks.wrapping_sub(block.age_ticks);
        self.put(Column::ForeignBirths, varint::zigzag(born.wrapping_sub(self.last_birth) as i64));
        self.last_birth = born;
        self.stack_and_size(block.stack.0, block.size_bytes, Column::ForeignStacks, Column::OldSizes);
        if let Some(thread) = block.birth_thread {
            self.put(Column::Threads, u64::from(thread.0));
        }
    }
}
