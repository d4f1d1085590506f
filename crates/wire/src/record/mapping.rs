//! What a program does to its own mappings, recorded only when that is asked for. Unlike a free, an unmapping may end
//! parts of several mappings, so these events have addresses, and a reader follows the ranges.

use crate::ids::StackId;

/// In the call bits of a note's tag: not an annotation, a mapping.
pub(super) const MAPPING: u8 = 5;

/// Bits of the field `what` above those of the kind.
const FLAGS_SHIFT: u32 = 4;

/// What happened to a range of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum MappingKind {
    /// It was mapped, over whatever was there: `mmap`, or `brk` and `sbrk` upwards.
    Map = 0,
    /// It was unmapped: `munmap`, or `brk` and `sbrk` downwards.
    Unmap = 1,
    /// The old range was moved or resized to this one: `mremap`.
    Move = 2,
    /// Its rights have changed: `mprotect`.
    Protect = 3,
}

impl MappingKind {
    const ALL: [MappingKind; 4] =
        [MappingKind::Map, MappingKind::Unmap, MappingKind::Move, MappingKind::Protect];
}

/// What is said of a range besides its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MappingFlags(pub u8);

impl MappingFlags {
    /// It may be read, written or executed.
    pub const ACCESSIBLE: MappingFlags = MappingFlags(1);
    /// Private memory without a file.
    pub const ANONYMOUS: MappingFlags = MappingFlags(2);
    /// At the program's break.
    pub const BREAK: MappingFlags = MappingFlags(4);
    /// The old range stays mapped, too.
    pub const KEEPS_OLD: MappingFlags = MappingFlags(8);

    /// With others.
    pub const fn with(self, other: MappingFlags, is_set: bool) -> MappingFlags {
        MappingFlags(if is_set { self.0 | other.0 } else { self.0 })
    }

    /// Whether this flag is set.
    pub const fn has(self, flag: MappingFlags) -> bool {
        self.0 & flag.0 != 0
    }
}

/// A range of addresses and what happened to it. Packed, so that other events do not grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, packed(4))]
pub struct Mapping {
    /// What happened.
    pub kind: MappingKind,
    /// What it is now.
    pub flags: MappingFlags,
    /// Ticks from the begin of the call to the event: what is unmapped may be mapped by another thread before that.
    pub took_ticks: u32,
    /// Who called; 0 for an unmapping and for rights.
    pub stack: StackId,
    /// First address.
    pub address: u64,
    /// Bytes, whole pages but at the break.
    pub len_bytes: u64,
    /// First address of the range that was moved; 0 for other kinds.
    pub old_address: u64,
    /// Its bytes.
    pub old_len_bytes: u64,
}

/// Fields of an event, those of a move included.
const FIELDS: usize = 7;

impl Mapping {
    /// Its fields in their order: of a move seven, of others five.
    pub fn fields(&self) -> impl Iterator<Item = u64> + use<> {
        let what = self.kind as u8 | self.flags.0 << FLAGS_SHIFT;
        let fields: [u64; FIELDS] = [
            u64::from(what),
            u64::from(self.took_ticks),
            u64::from(self.stack.0),
            self.address,
            self.len_bytes,
            self.old_address,
            self.old_len_bytes,
        ];
        let n = if self.kind as u8 == MappingKind::Move as u8 { FIELDS } else { FIELDS - 2 };
        fields.into_iter().take(n)
    }

    /// Reads the fields.
    ///
    /// # Errors
    /// Those of `next`; when the kind or the range makes no sense.
    pub fn read(mut next: impl FnMut() -> Result<u64, &'static str>) -> Result<Mapping, &'static str> {
        let what = u8::try_from(next()?).map_err(|_| "unknown kind of mapping")?;
        let kind = usize::from(what & ((1 << FLAGS_SHIFT) - 1));
        let kind = *MappingKind::ALL.get(kind).ok_or("unknown kind of mapping")?;
        let took_ticks = u32::try_from(next()?).map_err(|_| "number over 32 bits")?;
        let stack = StackId(u32::try_from(next()?).map_err(|_| "number over 32 bits")?);
        let (address, len_bytes) = (next()?, next()?);
        let (old_address, old_len_bytes) = match kind {
            MappingKind::Move => (next()?, next()?),
            _ => (0, 0),
        };
        let ends = [address.checked_add(len_bytes), old_address.checked_add(old_len_bytes)];
        if ends.contains(&None) {
            return Err("mapping beyond the last address");
        }
        let flags = MappingFlags(what >> FLAGS_SHIFT);
        Ok(Mapping { kind, flags, took_ticks, stack, address, len_bytes, old_address, old_len_bytes })
    }
}
