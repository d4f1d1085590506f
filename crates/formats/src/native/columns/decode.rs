//! Decodes the columns of a chunk to events.

use heapscribe_wire::ids::{NameId, RateId, StackId, ThreadId};
use heapscribe_wire::limits::{CHUNK_PAYLOAD_BYTES, RATES_MAX};
use heapscribe_wire::record::{BadEvent, Block, Call, Event, Mapping, Note};
use heapscribe_wire::varint::unzigzag;

use super::births::Births;
use super::cursor::Cursor;
use super::layout::{COLUMNS, Column, NEAR_MAX, SAME, SIZE_BASE, VERBATIM, kind};
use super::stacks::StackTable;
use crate::native::fields::Fields;

/// The state of decoding one events block; its memory is reused for the next.
#[derive(Debug, Default)]
pub(crate) struct DecodeState {
    births: Births,
    stacks: StackTable,
}

/// The columns of an events block, cut apart.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Columns<'a> {
    all: [Cursor<'a>; COLUMNS],
}

impl<'a> Columns<'a> {
    /// Cuts them apart; `None` when the lengths are not those of the bytes, or there are more events than
    /// a chunk can have.
    pub(crate) fn split(bytes: &'a [u8]) -> Option<Columns<'a>> {
        let mut fields = Fields::new(bytes);
        let mut lengths = [0; COLUMNS];
        for length in &mut lengths {
            *length = usize::try_from(fields.number()?).ok()?;
        }
        let mut columns = Columns::default();
        for (column, length) in columns.all.iter_mut().zip(lengths) {
            *column = Cursor::new(fields.bytes(length)?);
        }
        (fields.is_empty() && lengths[Column::Tags as usize] <= CHUNK_PAYLOAD_BYTES).then_some(columns)
    }

    /// The events, the ticks of the first counted from `begin_ticks`.
    pub(crate) fn events(self, begin_ticks: u64, state: &'a mut DecodeState) -> ChunkEvents<'a> {
        state.births.clear();
        state.stacks.clear();
        ChunkEvents { columns: self, state, offset: 0, ticks: begin_ticks, last_birth: begin_ticks }
    }
}

/// The events of a chunk in order, each with the ticks since the one before it. After an error it ends.
#[derive(Debug)]
pub struct ChunkEvents<'a> {
    columns: Columns<'a>,
    state: &'a mut DecodeState,
    offset: usize,
    ticks: u64,
    last_birth: u64,
}

/// Says what a missing or wrong field is.
type Field<T> = Result<T, &'static str>;

impl ChunkEvents<'_> {
    #[inline(always)]
    fn number(&mut self, column: Column) -> Field<u64> {
        self.columns.all[column as usize].number().ok_or("cut or overlong number")
    }

    #[inline(always)]
    fn small(&mut self, column: Column) -> Field<u32> {
        u32::try_from(self.number(column)?).map_err(|_| "number over 32 bits")
    }

    /// The event of a tag.
    #[inline(always)]
    fn event(&mut self, tag: u8) -> Field<(u64, Event)> {
        if tag & 7 == kind::RATE {
            let rate = RateId(tag >> 3);
            let known = usize::from(rate.0) <= RATES_MAX;
            return if known { Ok((0, Event::Rate { rate })) } else { Err("unknown rate") };
        }
        if tag == kind::TOOK {
            return Ok((0, Event::Took { units: self.number(Column::Rest)? }));
        }
        let is_alloc = tag & 7 == kind::ALLOC;
        let dt = self.number(if is_alloc { Column::AllocDt } else { Column::OtherDt })?;
        self.ticks = self.ticks.wrapping_add(dt);
        if tag & 7 == kind::NOTE {
            return Ok((dt, self.note(tag)?));
        }
        let call = *Call::ALL.get(usize::from(tag >> 3 & 0xf)).ok_or("unknown call")?;
        let flag = tag & kind::FLAG != 0;
        let event = match tag & 7 {
            kind::ALLOC if !flag => {
                let (stack, size_bytes) = self.allocated()?;
                let align_log2 = if call.is_aligned() { self.number(Column::Rest)?.min(63) as u8 } else { 0 };
                Event::Alloc { call, size_bytes, stack, align_log2 }
            }
            kind::FREE => Event::Free { call, block: self.freed(flag)? },
            kind::REALLOC => {
                let old = self.freed(flag)?;
                let (stack, size_bytes) = self.allocated()?;
                Event::Realloc { call, old, size_bytes, stack }
            }
            kind::FAILED if !flag => {
                let (stack, size_bytes) = self.stack_and_size(Column::Stacks, Column::Sizes)?;
                Event::Failed { call, size_bytes, stack }
            }
            kind::UNKNOWN if flag => {
                let (stack, size_bytes) = self.allocated()?;
                Event::UnknownRealloc { call, size_bytes, stack }
            }
            kind::UNKNOWN => Event::UnknownFree { call },
            _ => return Err("unknown kind of event"),
        };
        Ok((dt, event))
    }

    #[cold]
    fn note(&mut self, tag: u8) -> Field<Event> {
        if tag == kind::NOTE {
            let count = self.number(Column::Rest)?;
            return Ok(Event::Lost { count, reason: self.number(Column::Rest)?.min(255) as u8 });
        }
        if tag == kind::MAPPING {
            return Mapping::read(|| self.number(Column::Rest)).map(Event::Mapping);
        }
        let mut note = Note::from_bits(tag >> 3).ok_or("unknown kind of note")?;
        let name = NameId(self.small(Column::Rest)?);
        if let Note::GoesOn { age_ticks } = &mut note {
            *age_ticks = self.number(Column::Rest)?;
        }
        Ok(Event::Note { note, name })
    }

    #[inline(always)]
    fn allocated(&mut self) -> Field<(StackId, u64)> {
        let (stack, size_bytes) = self.stack_and_size(Column::Stacks, Column::Sizes)?;
        self.state.births.allocated(self.ticks, size_bytes, stack.0);
        Ok((stack, size_bytes))
    }

    /// Reads a stack and a size.
    #[inline(always)]
    fn stack_and_size(&mut self, stacks: Column, sizes: Column) -> Field<(StackId, u64)> {
        let (number, code) = (self.number(stacks)?, self.number(sizes)?);
        let verbatim = if code == VERBATIM { self.number(sizes)? } else { 0 };
        let known = if number == 0 {
            let distance = unzigzag(self.number(Column::New)?);
            self.state.stacks.add(distance).ok_or("number over 32 bits")?
        } else {
            self.state.stacks.get(number).ok_or("stack that was not named")?
        };
        known.size_bytes = match code {
            SAME => known.size_bytes,
            VERBATIM => verbatim,
            code => code - SIZE_BASE,
        };
        Ok((StackId(known.stack), known.size_bytes))
    }

    #[inline(always)]
    fn freed(&mut self, flag: bool) -> Field<Block> {
        let number = self.number(Column::Freed)?;
        if number == 0 || flag {
            // Field by field: copied whole, its padding too, it is read back wider than it is written here below, and
            // the processor waits for that at every free (8 % of an analysis).
            let Block { size_bytes, stack, age_ticks, birth_thread } = self.foreign_block(number, flag)?;
            return Ok(Block { size_bytes, stack, age_ticks, birth_thread });
        }
        let births = &mut self.state.births;
        let found = if number <= NEAR_MAX { births.near(number) } else { births.far(number - NEAR_MAX) };
        let at = found.ok_or("block that was not allocated here")?;
        let birth = *births.at(at);
        births.freed(at);
        let (size_bytes, stack) = (birth.size_bytes, StackId(birth.stack));
        Ok(Block { size_bytes, stack, age_ticks: self.ticks.wrapping_sub(birth.ticks), birth_thread: None })
    }

    fn foreign_block(&mut self, number: u64, flag: bool) -> Field<Block> {
        if number != 0 {
            return Err("another thread's block with a position");
        }
        let born = self.last_birth.wrapping_add(unzigzag(self.number(Column::ForeignBirths)?) as u64);
        self.last_birth = born;
        let (stack, size_bytes) = self.stack_and_size(Column::ForeignStacks, Column::OldSizes)?;
        let birth_thread = if flag { Some(ThreadId(self.small(Column::Threads)?)) } else { None };
        let age_ticks = Block::age(self.ticks.wrapping_sub(born));
        Ok(Block { size_bytes, stack, age_ticks, birth_thread })
    }

    /// After the last event: nothing may be left of any column.
    #[cold]
    fn end(&mut self) -> Option<BadEvent> {
        let is_whole = self.columns.all.iter().all(|column| column.rest().is_empty());
        self.columns = Columns::default();
        (!is_whole).then_some(BadEvent { offset: self.offset, why: "fields of no event" })
    }
}

impl Iterator for ChunkEvents<'_> {
    type Item = Result<(u64, Event), BadEvent>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let Some(tag) = self.columns.all[Column::Tags as usize].byte() else { return self.end().map(Err) };
        let result = self.event(tag).map_err(|why| BadEvent { offset: self.offset, why });
        match result {
            Ok(_) => self.offset += 1,
            Err(_) => self.columns = Columns::default(),
        }
        Some(result)
    }
}
