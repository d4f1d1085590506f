//! One row of the unwinding table - what is known at one address - as far as the recorder follows it: the
//! CFA, rbp, rsp and the return address. All other registers can only matter to rows that are `Other`.

use super::super::rule::Rule;

/// How the CFA is had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cfa {
    /// rsp + offset.
    Sp(i64),
    /// rbp + offset.
    Bp(i64),
    /// \[rbp + offset].
    SavedAtBp(i64),
    /// Another register + offset.
    Register(u64, i64),
    /// Anything else.
    Other,
}

impl Cfa {
    pub(super) fn new(register: u64, offset: i64) -> Cfa {
        match register {
            Row::SP => Cfa::Sp(offset),
            Row::BP => Cfa::Bp(offset),
            other => Cfa::Register(other, offset),
        }
    }

    /// The same offset from another register.
    pub(super) fn with_register(self, register: u64) -> Option<Cfa> {
        match self {
            Cfa::Sp(offset) | Cfa::Bp(offset) | Cfa::Register(_, offset) => Some(Cfa::new(register, offset)),
            Cfa::SavedAtBp(_) | Cfa::Other => None,
        }
    }

    /// Another offset from the same register.
    pub(super) fn with_offset(self, offset: i64) -> Option<Cfa> {
        match self {
            Cfa::Sp(_) => Some(Cfa::Sp(offset)),
            Cfa::Bp(_) => Some(Cfa::Bp(offset)),
            Cfa::Register(register, _) => Some(Cfa::Register(register, offset)),
            Cfa::SavedAtBp(_) | Cfa::Other => None,
        }
    }
}

/// Where the caller's value of a register is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Saved {
    /// Nothing was said.
    Unspecified,
    /// In the register still.
    Same,
    /// Nowhere.
    Undefined,
    /// At CFA + offset.
    AtCfa(i64),
    /// At rbp + offset.
    AtBp(i64),
    /// It is the CFA.
    IsCfa,
    /// Anything else.
    Other,
}

/// What is known at one address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Row {
    pub(super) cfa: Cfa,
    pub(super) bp: Saved,
    pub(super) sp: Saved,
    pub(super) return_address: Saved,
}

impl Row {
    /// DWARF's number of rbp on x86_64.
    pub(super) const BP: u64 = 6;
    /// DWARF's number of rsp on x86_64.
    pub(super) const SP: u64 = 7;

    pub(super) const EMPTY: Row = Row {
        cfa: Cfa::Other,
        bp: Saved::Unspecified,
        sp: Saved::Unspecified,
        return_address: Saved::Unspecified,
    };

    /// The packed rule.
    pub(super) fn rule(&self) -> Rule {
        match self.return_address {
            Saved::Undefined => return Rule::END,
            Saved::AtCfa(-8) => {}
            _ => return Rule::OTHER,
        }
        if !matches!(self.sp, Saved::Unspecified | Saved::IsCfa) {
            return Rule::OTHER;
        }
        match (self.cfa, self.bp) {
            (Cfa::Sp(offset), Saved::AtCfa(bp)) => Rule::stack(offset, Some(bp.wrapping_neg())),
            (Cfa::Bp(offset), Saved::AtCfa(bp)) => Rule::frame(offset, Some(bp.wrapping_neg())),
            (Cfa::Bp(offset), Saved::AtBp(bp)) => Rule::frame(offset, Some(offset.wrapping_sub(bp))),
            (Cfa::SavedAtBp(offset), Saved::AtBp(bp)) => Rule::deref(offset, Some(bp)),
            (Cfa::Sp(offset), bp) if bp.is_unchanged() => Rule::stack(offset, None),
            (Cfa::Bp(offset), bp) if bp.is_unchanged() => Rule::frame(offset, None),
            (Cfa::SavedAtBp(offset), bp) if bp.is_unchanged() => Rule::deref(offset, None),
            _ => Rule::OTHER,
        }
    }
}

impl Saved {
    /// Undefined counts: there is no better value, and no caller asks for it.
    fn is_unchanged(self) -> bool {
        matches!(self, Saved::Unspecified | Saved::Same | Saved::Undefined)
    }
}
