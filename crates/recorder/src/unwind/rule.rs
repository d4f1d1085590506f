//! How to get from a frame to its caller, in 31 bits, so that a rule and the tag of its code address fit
//! in one atomic word.
//!
//! | bits   | field        | meaning                                                              |
//! |--------|--------------|----------------------------------------------------------------------|
//! | 0..3   | kind         | see [`Kind`]; 0 is no rule, so that a cache word of 0 is empty       |
//! | 3..11  | frame pointer| where the caller's rbp was saved; 0: it is still in rbp              |
//! | 11..31 | offset / 8   | signed: ± 4 MiB                                                      |
//!
//! *CFA* is the value of the stack pointer before the call, *slot* the word that holds the caller's rbp;
//! the return address is at CFA - 8, or there is no such rule.
//!
//! | kind    | CFA             | slot, of field f        |
//! |---------|-----------------|-------------------------|
//! | `Stack` | rsp + offset    | CFA - 8 f               |
//! | `Frame` | rbp + offset    | CFA - 8 f               |
//! | `Deref` | \[rbp + offset] | rbp + 8 (f - 128)       |

/// What kind of step leads to the caller.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Kind {
    /// The CFA is at an offset from the stack pointer.
    Stack = 1,
    /// The CFA is at an offset from the frame pointer.
    Frame = 2,
    /// The CFA was saved at an offset from the frame pointer: a function that realigns its stack.
    Deref = 3,
    /// The trampoline below a signal handler: the registers are in the kernel's signal frame.
    Signal = 4,
    /// The outermost frame.
    End = 5,
    /// The unwinding information has something for which there is no rule here.
    Other = 6,
    /// There is no unwinding information.
    NoInfo = 7,
}

/// A step to the caller, packed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rule(u32);

const KIND_BITS: u32 = 3;
const SLOT_BITS: u32 = 8;
const OFFSET_SHIFT: u32 = KIND_BITS + SLOT_BITS;
const OFFSET_LIMIT: i64 = 1 << (Rule::BITS - 1 - OFFSET_SHIFT);
/// Bits above a rule in 64.
const UNUSED_BITS: u32 = u64::BITS - Rule::BITS;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
/// The slot field that means rbp itself in a `Deref` rule.
const SLOT_ORIGIN: i64 = 128;

const _: () = assert!(OFFSET_SHIFT == 11);
const _: () = assert!((Kind::NoInfo as u32) < 1 << KIND_BITS);
const _: () = assert!(OFFSET_LIMIT * 8 == 4 << 20);

impl Rule {
    /// How many bits a rule has.
    pub(super) const BITS: u32 = 31;
    /// The trampoline below a signal handler.
    pub const SIGNAL: Rule = Rule(Kind::Signal as u32);
    /// The outermost frame.
    pub const END: Rule = Rule(Kind::End as u32);
    /// Beyond these rules.
    pub const OTHER: Rule = Rule(Kind::Other as u32);
    /// No unwinding information.
    pub const NO_INFO: Rule = Rule(Kind::NoInfo as u32);

    /// CFA = rsp + `offset`; the caller's rbp is saved `saved_below` bytes below the CFA, when it is.
    /// [`Rule::OTHER`] for numbers that do not fit.
    pub fn stack(offset: i64, saved_below: Option<i64>) -> Rule {
        Self::below_cfa(Kind::Stack, offset, saved_below)
    }

    /// CFA = rbp + `offset`; otherwise as [`Rule::stack`].
    pub fn frame(offset: i64, saved_below: Option<i64>) -> Rule {
        Self::below_cfa(Kind::Frame, offset, saved_below)
    }

    fn below_cfa(kind: Kind, offset: i64, saved_below: Option<i64>) -> Rule {
        let slot = match saved_below {
            None => Some(0),
            Some(below) => Self::words(below).filter(|&words| words != 0),
        };
        Self::pack(kind, offset, slot)
    }

    /// CFA = \[rbp + `offset`]; the caller's rbp is saved at rbp + `saved_at`, when it is.
    /// [`Rule::OTHER`] for numbers that do not fit.
    pub fn deref(offset: i64, saved_at: Option<i64>) -> Rule {
        let slot = match saved_at {
            None => Some(0),
            Some(at) => Self::words(at).and_then(|w| w.checked_add(SLOT_ORIGIN)).filter(|&field| field != 0),
        };
        Self::pack(Kind::Deref, offset, slot)
    }

    fn words(bytes: i64) -> Option<i64> {
        (bytes % 8 == 0).then_some(bytes / 8)
    }

    fn pack(kind: Kind, offset: i64, slot: Option<i64>) -> Rule {
        let fits = (-OFFSET_LIMIT..OFFSET_LIMIT, 0..=i64::from(SLOT_MASK));
        match (Self::words(offset), slot) {
            (Some(words), Some(slot)) if fits.0.contains(&words) && fits.1.contains(&slot) => {
                let words = words as u32 & ((1 << (Rule::BITS - OFFSET_SHIFT)) - 1);
                Rule(words << OFFSET_SHIFT | (slot as u32) << KIND_BITS | kind as u32)
            }
            _ => Rule::OTHER,
        }
    }

    /// The bits; never 0 in the lowest three.
    pub const fn to_bits(self) -> u32 {
        self.0
    }

    /// The rule of `bits`, if they can be one.
    #[inline(always)]
    pub const fn from_bits(bits: u32) -> Option<Rule> {
        if bits & ((1 << KIND_BITS) - 1) == 0 { None } else { Some(Rule(bits)) }
    }

    /// What kind of step this is.
    #[inline(always)]
    pub const fn kind(self) -> Kind {
        match self.0 & ((1 << KIND_BITS) - 1) {
            1 => Kind::Stack,
            2 => Kind::Frame,
            3 => Kind::Deref,
            4 => Kind::Signal,
            5 => Kind::End,
            6 => Kind::Other,
            _ => Kind::NoInfo,
        }
    }

    /// The offset in bytes.
    #[inline(always)]
    pub const fn offset(self) -> i64 {
        // Of 64 bits, because a cache word has the rule in its upper bits: one shift, which a walk waits for.
        (((self.0 as u64) << UNUSED_BITS) as i64 >> (UNUSED_BITS + OFFSET_SHIFT)) * 8
    }

    /// How far below the CFA a `Stack` or `Frame` rule finds the caller's rbp, in bytes; 0: it is in rbp.
    #[inline(always)]
    pub const fn saved_below(self) -> usize {
        (self.0 >> KIND_BITS & SLOT_MASK) as usize * 8
    }

    /// Where a `Deref` rule finds the caller's rbp, in bytes from rbp; none: it is in rbp.
    #[inline(always)]
    pub const fn saved_at(self) -> Option<i64> {
        match self.0 >> KIND_BITS & SLOT_MASK {
            0 => None,
            field => Some((field as i64 - SLOT_ORIGIN) * 8),
        }
    }
}

impl core::fmt::Debug for Rule {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.kind() {
            kind @ Kind::Deref => write!(f, "{kind:?}({:+}, bp {:?})", self.offset(), self.saved_at()),
            kind @ (Kind::Stack | Kind::Frame) => {
                write!(f, "{kind:?}({:+}, bp below {})", self.offset(), self.saved_below())
            }
            kind => write!(f, "{kind:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_fits_comes_back(words in -(1i64 << 19)..1 << 19, below in 0i64..256, at in -127i64..128) {
            let saved = (below != 0).then_some(below * 8);
            for (rule, kind) in [
                (Rule::stack(words * 8, saved), Kind::Stack),
                (Rule::frame(words * 8, saved), Kind::Frame),
            ] {
                prop_assert_eq!(rule.kind(), kind);
                prop_assert_eq!(rule.offset(), words * 8);
                prop_assert_eq!(rule.saved_below() as i64, below * 8);
                prop_assert_eq!(Rule::from_bits(rule.to_bits()), Some(rule));
            }
            let rule = Rule::deref(words * 8, Some(at * 8));
            prop_assert_eq!((rule.kind(), rule.offset(), rule.saved_at()), (Kind::Deref, words * 8, Some(at * 8)));
            prop_assert_eq!(Rule::deref(words * 8, None).saved_at(), None);
        }

        #[test]
        fn what_does_not_fit_is_other(offset in any::<i64>(), below in any::<i64>()) {
            let fits = offset % 8 == 0 && (-(4 << 20)..4 << 20).contains(&offset);
            prop_assert_eq!(Rule::stack(offset, None) == Rule::OTHER, !fits);
            let fits = below % 8 == 0 && (8..=2040).contains(&below);
            prop_assert_eq!(Rule::frame(16, Some(below)) == Rule::OTHER, !fits);
            let fits = below % 8 == 0 && (-1016..=1016).contains(&below);
            prop_assert_eq!(Rule::deref(-8, Some(below)) == Rule::OTHER, !fits);
        }
    }

    #[test]
    fn no_bits_are_no_rule() {
        assert_eq!(Rule::from_bits(0), None);
        assert_eq!(Rule::from_bits(8), None);
    }
}
