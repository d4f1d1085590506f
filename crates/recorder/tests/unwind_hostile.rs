//! Broken and hostile unwinding tables: an answer, always, and soon.

use heapscribe_nolibc::loader::Segment;
use heapscribe_recorder::unwind::cfi::evaluate::{Inputs, evaluate};
use heapscribe_recorder::unwind::cfi::{COLUMNS, CfaRule, RegisterRule, row_at, rule_at};
use heapscribe_recorder::unwind::rule::Rule;
use proptest::prelude::*;

const ADDRESS: usize = 0x40_0000;
/// Where the tests put their one entry, behind the header.
const FRAME_AT: usize = 64;
const PC: usize = 0x41_0000;

/// A header with one row, for a function at `PC`.
fn header() -> Vec<u8> {
    let mut bytes = vec![1, 0x1b, 0x03, 0x3b];
    bytes.extend((FRAME_AT as i32 - 4).to_le_bytes());
    bytes.extend(1u32.to_le_bytes());
    bytes.extend(((PC - ADDRESS) as i32).to_le_bytes());
    bytes.extend(0i32.to_le_bytes()); // the entry, filled in by `section`
    bytes.resize(FRAME_AT, 0);
    bytes
}

/// A whole segment: header, CIE with `initial` instructions, FDE with `program`.
fn section(initial: &[u8], program: &[u8]) -> Vec<u8> {
    let mut bytes = header();
    let mut common = vec![0, 0, 0, 0, 1];
    common.extend(b"zR\0\x01\x78\x10\x01\x1b");
    common.extend(initial);
    bytes.extend((common.len() as u32).to_le_bytes());
    bytes.extend(&common);
    let entry = bytes.len();
    bytes[16..20].copy_from_slice(&(entry as i32).to_le_bytes());
    bytes.extend((13 + program.len() as u32).to_le_bytes());
    bytes.extend(((entry + 4 - FRAME_AT) as u32).to_le_bytes());
    bytes.extend(((PC as i64 - (ADDRESS + entry + 8) as i64) as i32).to_le_bytes());
    bytes.extend(0x100u32.to_le_bytes());
    bytes.push(0);
    bytes.extend(program);
    bytes
}

/// All registers are 0, and memory is full of its own addresses.
struct Machine;

impl Inputs for Machine {
    fn register(&self, _number: u64) -> Option<u64> {
        Some(0)
    }

    fn read(&self, address: u64, _size: usize) -> Option<u64> {
        Some(address)
    }
}

/// The rule, after the whole row was read too, and all its expressions were evaluated.
fn rule(bytes: &[u8], offset: usize) -> Rule {
    let segment = Segment { bytes, address: ADDRESS };
    let rule = rule_at(segment, ADDRESS, PC + offset);
    let row = row_at(segment, ADDRESS, PC + offset);
    if row.is_none() {
        assert!(matches!(rule, Rule::NO_INFO | Rule::OTHER | Rule::SIGNAL | Rule::END), "{rule:?}");
    }
    if let Some(row) = row {
        let registers = (0..COLUMNS).filter_map(|column| match row.register(column) {
            RegisterRule::At(e) | RegisterRule::Is(e) => Some(e),
            _ => None,
        });
        let cfa = if let CfaRule::Is(e) = row.cfa { Some(e) } else { None };
        for expression in registers.chain(cfa) {
            let _ = evaluate(expression.bytes(&segment).expect("it was read before"), &Machine, Some(1));
        }
    }
    rule
}

const USUAL: &[u8] = &[0x0c, 7, 8, 0x90, 1];

#[test]
fn a_sound_entry_has_rules() {
    let bytes = section(USUAL, &[0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6]);
    assert_eq!(rule(&bytes, 0), Rule::stack(8, None));
    assert_eq!(rule(&bytes, 1), Rule::stack(16, Some(16)));
    assert_eq!(rule(&bytes, 4), Rule::frame(16, Some(16)));
    assert_eq!(rule(&bytes, 0xff), Rule::frame(16, Some(16)));
    assert_eq!(rule(&bytes, 0x100), Rule::NO_INFO);
}

#[test]
fn rows_are_remembered_and_restored() {
    let bytes = section(USUAL, &[0x41, 0x0e, 16, 0x86, 2, 0x0a, 0x41, 0xc6, 0x0e, 8, 0x41, 0x0b]);
    assert_eq!(rule(&bytes, 1), Rule::stack(16, Some(16)));
    assert_eq!(rule(&bytes, 2), Rule::stack(8, None));
    assert_eq!(rule(&bytes, 3), Rule::stack(16, Some(16)));
}

#[test]
fn programs_that_make_no_sense_have_no_rule() {
    assert_eq!(rule(&section(USUAL, &[0x0b]), 0), Rule::NO_INFO, "nothing was remembered");
    assert_eq!(rule(&section(USUAL, &[0x0a; 1000]), 0), Rule::NO_INFO, "remembered too often");
    assert_eq!(rule(&section(USUAL, &[0x3f]), 0), Rule::NO_INFO, "no such instruction");
    assert_eq!(rule(&section(USUAL, &[0x0e]), 0), Rule::NO_INFO, "cut short");
    assert_eq!(
        rule(&section(USUAL, &[0x0f, 200, 1, 0]), 0),
        Rule::NO_INFO,
        "an expression that is cut short"
    );
    assert_eq!(rule(&section(USUAL, &[0x07, 16]), 0), Rule::END);
    assert_eq!(rule(&section(&[0x0c, 7, 8], &[]), 0), Rule::OTHER, "no return address");
    assert_eq!(rule(&section(USUAL, &[0x0c, 3, 8]), 0), Rule::OTHER, "the CFA is in rbx");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_as_header(bytes in prop::collection::vec(any::<u8>(), 0..300), pc in any::<usize>()) {
        let segment = Segment { bytes: &bytes, address: ADDRESS };
        rule_at(segment, ADDRESS, pc);
        rule_at(segment, pc, ADDRESS);
        row_at(segment, ADDRESS, pc);
    }

    #[test]
    fn random_bytes_as_entries(bytes in prop::collection::vec(any::<u8>(), 0..300), at in 0i32..300) {
        let mut all = header();
        all[16..20].copy_from_slice(&at.to_le_bytes());
        all.extend(bytes);
        rule(&all, 3);
    }

    #[test]
    fn random_programs(
        initial in prop::collection::vec(any::<u8>(), 0..20),
        program in prop::collection::vec(any::<u8>(), 0..200),
        offset in 0usize..0x100,
    ) {
        rule(&section(&initial, &program), offset);
    }

    #[test]
    fn sound_entries_with_broken_bytes(
        breaks in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        cut in any::<prop::sample::Index>(),
        offset in 0usize..0x100,
    ) {
        let mut bytes = section(USUAL, &[0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x10, 6, 2, 0x76, 0, 0x0b]);
        for (at, byte) in breaks {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        rule(&bytes, offset);
    }
}
