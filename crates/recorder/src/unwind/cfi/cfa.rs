//! How packed rules know the CFA (canonical frame address), and the columns of the registers that they follow.

/// DWARF's number of rbp on x86_64.
pub(super) const BP: u64 = 6;
/// DWARF's number of rsp on x86_64.
pub(super) const SP: u64 = 7;
/// The column of the return address.
pub(super) const RETURN: u64 = 16;

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
            SP => Cfa::Sp(offset),
            BP => Cfa::Bp(offset),
            other => Cfa::Register(other, offset),
        }
    }
}
