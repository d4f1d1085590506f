//! The few DWARF expressions that compilers and linkers write into `.eh_frame`, known by their bytes.

use super::cfa::Cfa;
use super::reader::Reader;

const BREG_BP: u8 = 0x76;
const BREG_SP: u8 = 0x77;
const BREG_PC: u8 = 0x80;
const DEREF: u8 = 0x06;

/// The offset of an expression that is rbp + offset.
pub(super) fn offset_from_bp(mut block: Reader<'_>) -> Option<i64> {
    let is_bp = block.u8()? == BREG_BP;
    let offset = block.signed()?;
    (is_bp && block.remaining() == 0).then_some(offset)
}

/// What an expression for the CFA means at `pc`.
pub(super) fn cfa(block: &Reader<'_>, pc: usize) -> Cfa {
    saved_cfa(block.clone()).or_else(|| linkage_table(block.clone(), pc)).unwrap_or(Cfa::Other)
}

/// \[rbp + offset]: gcc, in functions that realign their stack.
fn saved_cfa(mut block: Reader<'_>) -> Option<Cfa> {
    let is_bp = block.u8()? == BREG_BP;
    let offset = block.signed()?;
    (is_bp && block.bytes() == [DEREF]).then_some(Cfa::SavedAtBp(offset))
}

/// rsp + offset + (8 when `pc` is behind the push in its 16 bytes): linkers, for the procedure linkage
/// table, as `breg7 offset; breg16 0; lit15; and; lit11; ge; lit3; shl; plus`. Only the number of bytes
/// before the push differs between linkers.
fn linkage_table(mut block: Reader<'_>, pc: usize) -> Option<Cfa> {
    const LIT0: u8 = 0x30;
    const LIT15: u8 = LIT0 + 15;
    const REST: [u8; 4] = [0x2a, LIT0 + 3, 0x24, 0x22];
    let is_sp = block.u8()? == BREG_SP;
    let offset = block.signed()?;
    let [breg_pc, zero, lit15, and, literal, rest @ ..] = block.bytes() else { return None };
    let is_known = is_sp && [*breg_pc, *zero, *lit15, *and] == [BREG_PC, 0, LIT15, 0x1a] && rest == REST;
    let push = usize::from(literal.checked_sub(LIT0)?);
    if !is_known || push > 15 {
        return None;
    }
    let pushed = if pc & 15 >= push { 8 } else { 0 };
    Some(Cfa::Sp(offset.checked_add(pushed)?))
}
