//! One row of the unwinding table - what is known at one address: what instructions can set in it, and
//! the part that packed rules are made of: the CFA, rbp, rsp and the return address. All other registers
//! can only matter to rows that are `Other`; those are in a [`super::WholeRow`].

use super::cfa::{BP, Cfa, RETURN, SP};
use super::expression;
use super::reader::Block;
use crate::unwind::rule::Rule;

/// Where the caller's value of a register is, by one instruction.
#[derive(Clone, Debug)]
pub(super) enum Saved<'a> {
    /// In the register still.
    Same,
    /// Nowhere.
    Undefined,
    /// At CFA + offset.
    AtCfa(i64),
    /// It is CFA + offset.
    IsCfa(i64),
    /// In another register.
    Register(u64),
    /// At the address that an expression gives.
    At(Block<'a>),
    /// It is what an expression gives.
    Is(Block<'a>),
}

/// What a call frame program fills in: as much of a row as its reader wants. None from a method is the end
/// of a program that makes no sense.
pub(super) trait Row: Copy {
    /// No instruction was about it.
    const EMPTY: Self;

    /// The CFA is a register + offset.
    fn set_cfa(&mut self, register: u64, offset: i64) -> Option<()>;
    /// The same offset from another register.
    fn set_cfa_register(&mut self, register: u64) -> Option<()>;
    /// Another offset from the same register.
    fn set_cfa_offset(&mut self, offset: i64) -> Option<()>;
    /// The CFA is what an expression gives, for code at `pc`.
    fn set_cfa_expression(&mut self, block: &Block<'_>, pc: usize);
    /// A register of the caller's.
    fn set(&mut self, column: u64, saved: Saved<'_>) -> Option<()>;
    /// As it was in the row that a function begins with.
    fn restore(&mut self, column: u64, initial: &Self);
}

/// Where the caller's value of a register is, as far as a packed rule can express it. Small: of some programs six rows are
/// on the stack of whoever allocates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// No instruction was about it.
    Unspecified,
    /// In the register still.
    Same,
    /// Nowhere.
    Undefined,
    /// At CFA + offset.
    AtCfa(i32),
    /// At rbp + offset.
    AtBp(i32),
    /// It is the CFA.
    IsCfa,
    /// Anything else.
    Other,
}

impl Place {
    #[inline(always)]
    fn new(saved: Saved<'_>) -> Place {
        match saved {
            Saved::Same => Place::Same,
            Saved::Undefined => Place::Undefined,
            Saved::AtCfa(offset) => i32::try_from(offset).map_or(Place::Other, Place::AtCfa),
            Saved::IsCfa(0) => Place::IsCfa,
            Saved::At(block) => {
                let offset = expression::offset_from_bp(block.reader);
                offset.and_then(|offset| offset.try_into().ok()).map_or(Place::Other, Place::AtBp)
            }
            Saved::IsCfa(_) | Saved::Register(_) | Saved::Is(_) => Place::Other,
        }
    }

    /// Undefined counts: there is no better value, and no caller asks for it.
    fn is_unchanged(self) -> bool {
        matches!(self, Place::Unspecified | Place::Same | Place::Undefined)
    }
}

/// The part of a row that packed rules are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RuleRow {
    cfa: Cfa,
    bp: Place,
    sp: Place,
    return_address: Place,
}

impl Row for RuleRow {
    const EMPTY: RuleRow = RuleRow {
        cfa: Cfa::Other,
        bp: Place::Unspecified,
        sp: Place::Unspecified,
        return_address: Place::Unspecified,
    };

    fn set_cfa(&mut self, register: u64, offset: i64) -> Option<()> {
        self.cfa = Cfa::new(register, offset);
        Some(())
    }

    fn set_cfa_register(&mut self, register: u64) -> Option<()> {
        self.cfa = match self.cfa {
            Cfa::Sp(offset) | Cfa::Bp(offset) | Cfa::Register(_, offset) => Cfa::new(register, offset),
            Cfa::SavedAtBp(_) | Cfa::Other => return None,
        };
        Some(())
    }

    fn set_cfa_offset(&mut self, offset: i64) -> Option<()> {
        self.cfa = match self.cfa {
            Cfa::Sp(_) => Cfa::Sp(offset),
            Cfa::Bp(_) => Cfa::Bp(offset),
            Cfa::Register(register, _) => Cfa::Register(register, offset),
            Cfa::SavedAtBp(_) | Cfa::Other => return None,
        };
        Some(())
    }

    fn set_cfa_expression(&mut self, block: &Block<'_>, pc: usize) {
        self.cfa = expression::cfa(&block.reader, pc);
    }

    #[inline(always)] // most programs use one kind most of the time, and it is known which
    fn set(&mut self, column: u64, saved: Saved<'_>) -> Option<()> {
        match column {
            BP => self.bp = Place::new(saved),
            SP => self.sp = Place::new(saved),
            RETURN => self.return_address = Place::new(saved),
            _ => {}
        }
        Some(())
    }

    fn restore(&mut self, column: u64, initial: &RuleRow) {
        match column {
            BP => self.bp = initial.bp,
            SP => self.sp = initial.sp,
            RETURN => self.return_address = initial.return_address,
            _ => {}
        }
    }
}

impl RuleRow {
    /// The packed rule.
    pub(super) fn rule(&self) -> Rule {
        match self.return_address {
            Place::Undefined => return Rule::END,
            Place::AtCfa(-8) => {}
            _ => return Rule::OTHER,
        }
        if !matches!(self.sp, Place::Unspecified | Place::IsCfa) {
            return Rule::OTHER;
        }
        match (self.cfa, self.bp) {
            (Cfa::Sp(offset), Place::AtCfa(bp)) => Rule::stack(offset, Some(-i64::from(bp))),
            (Cfa::Bp(offset), Place::AtCfa(bp)) => Rule::frame(offset, Some(-i64::from(bp))),
            (Cfa::Bp(offset), Place::AtBp(bp)) => Rule::frame(offset, Some(offset.wrapping_sub(bp.into()))),
            (Cfa::SavedAtBp(offset), Place::AtBp(bp)) => Rule::deref(offset, Some(bp.into())),
            (Cfa::Sp(offset), bp) if bp.is_unchanged() => Rule::stack(offset, None),
            (Cfa::Bp(offset), bp) if bp.is_unchanged() => Rule::frame(offset, None),
            (Cfa::SavedAtBp(offset), bp) if bp.is_unchanged() => Rule::deref(offset, None),
            _ => Rule::OTHER,
        }
    }
}
