//! Every row of the unwinding tables of real libraries, read by the recorder and by gimli: equal, as a
//! packed rule and with all registers.

use std::collections::BTreeMap;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, LittleEndian, Register, RegisterRule, UnwindContext,
    UnwindSection,
};
use heapscribe_nolibc::loader::Segment;
use heapscribe_recorder::unwind::Rule;
use heapscribe_recorder::unwind::cfi::{self, WholeRow, row_at, rule_at};
use heapscribe_recorder::unwind::rule::Kind;
use object::{Object, ObjectSection, ObjectSegment};

type Slice<'a> = gimli::EndianSlice<'a, LittleEndian>;
type Row<'a> = gimli::UnwindTableRow<usize>;

const BP: Register = Register(6);
const SP: Register = Register(7);
const RETURN: Register = Register(16);

/// How often each kind of rule was seen.
type Counts = BTreeMap<Kind, usize>;

fn bytes_of<'a>(expression: gimli::UnwindExpression<usize>, frame: &EhFrame<Slice<'a>>) -> &'a [u8] {
    expression.get(frame).unwrap().0.slice()
}

/// rbp + offset.
fn offset_from_bp(bytes: &[u8]) -> Option<i64> {
    let (&0x76, mut rest) = bytes.split_first()? else { return None };
    let offset = gimli::leb128::read::signed(&mut Slice::new(rest, LittleEndian)).ok()?;
    while rest.split_off_first()? & 128 != 0 {}
    rest.is_empty().then_some(offset)
}

/// Runs an expression over rsp and the code address; none for operators it does not know.
fn evaluate(bytes: &[u8], sp: i64, pc: i64) -> Option<i64> {
    let mut input = Slice::new(bytes, LittleEndian);
    let mut stack = Vec::new();
    while let Some((&operator, rest)) = input.slice().split_first() {
        input = Slice::new(rest, LittleEndian);
        let mut binary = |f: fn(i64, i64) -> i64| {
            let (right, left) = (stack.pop()?, stack.pop()?);
            stack.push(f(left, right));
            Some(())
        };
        match operator {
            0x77 => stack.push(sp + gimli::leb128::read::signed(&mut input).ok()?),
            0x80 => stack.push(pc + gimli::leb128::read::signed(&mut input).ok()?),
            0x30..0x50 => stack.push(i64::from(operator - 0x30)),
            0x1a => binary(|a, b| a & b)?,
            0x2a => binary(|a, b| i64::from(a >= b))?,
            0x24 => binary(|a, b| a << b)?,
            0x22 => binary(|a, b| a + b)?,
            _ => return None,
        }
    }
    stack.pop()
}

/// What gimli's row says, in the recorder's words.
fn translate(row: &Row<'_>, frame: &EhFrame<Slice<'_>>, is_signal: bool, pc: u64) -> Rule {
    if is_signal {
        return Rule::SIGNAL;
    }
    match row.register(RETURN) {
        Some(RegisterRule::Undefined) => return Rule::END,
        Some(RegisterRule::Offset(-8)) => {}
        _ => return Rule::OTHER,
    }
    if !matches!(row.register(SP), None | Some(RegisterRule::ValOffset(0))) {
        return Rule::OTHER;
    }
    let mut below_cfa = None;
    let mut at_bp = None;
    match row.register(BP) {
        None | Some(RegisterRule::SameValue | RegisterRule::Undefined) => {}
        Some(RegisterRule::Offset(offset)) => below_cfa = Some(-offset),
        Some(RegisterRule::Expression(e)) => match offset_from_bp(bytes_of(e, frame)) {
            Some(offset) => at_bp = Some(offset),
            None => return Rule::OTHER,
        },
        _ => return Rule::OTHER,
    }
    match *row.cfa() {
        CfaRule::RegisterAndOffset { register: SP, offset } if at_bp.is_none() => {
            Rule::stack(offset, below_cfa)
        }
        CfaRule::RegisterAndOffset { register: BP, offset } => {
            Rule::frame(offset, at_bp.map(|at| offset - at).or(below_cfa))
        }
        CfaRule::Expression(e) => {
            let bytes = bytes_of(e, frame);
            let saved = bytes.strip_suffix(&[6]).and_then(offset_from_bp);
            match (saved, evaluate(bytes, 0, pc as i64)) {
                (Some(offset), _) if below_cfa.is_none() => Rule::deref(offset, at_bp),
                (None, Some(offset)) if at_bp.is_none() => Rule::stack(offset, below_cfa),
                _ => Rule::OTHER,
            }
        }
        _ => Rule::OTHER,
    }
}

/// What two readers say of a register: the rule, and the expression if there is one.
type Said<'a> = (&'static str, i64, &'a [u8]);

fn said_by_gimli<'a>(rule: Option<RegisterRule<usize>>, frame: &EhFrame<Slice<'a>>) -> Said<'a> {
    match rule {
        None => ("unspecified", 0, &[]),
        Some(RegisterRule::Undefined) => ("undefined", 0, &[]),
        Some(RegisterRule::SameValue) => ("same", 0, &[]),
        Some(RegisterRule::Offset(offset)) => ("at cfa", offset, &[]),
        Some(RegisterRule::ValOffset(offset)) => ("is cfa", offset, &[]),
        Some(RegisterRule::Register(other)) => ("register", i64::from(other.0), &[]),
        Some(RegisterRule::Expression(e)) => ("at", 0, bytes_of(e, frame)),
        Some(RegisterRule::ValExpression(e)) => ("is", 0, bytes_of(e, frame)),
        Some(other) => panic!("{other:?}"),
    }
}

fn said_by_us<'a>(rule: cfi::RegisterRule, segment: &Segment<'a>) -> Said<'a> {
    match rule {
        cfi::RegisterRule::Unspecified => ("unspecified", 0, &[]),
        cfi::RegisterRule::Undefined => ("undefined", 0, &[]),
        cfi::RegisterRule::Same => ("same", 0, &[]),
        cfi::RegisterRule::AtCfa(offset) => ("at cfa", i64::from(offset), &[]),
        cfi::RegisterRule::IsCfa(offset) => ("is cfa", i64::from(offset), &[]),
        cfi::RegisterRule::Register(other) => ("register", i64::from(other), &[]),
        cfi::RegisterRule::At(e) => ("at", 0, e.bytes(segment).unwrap()),
        cfi::RegisterRule::Is(e) => ("is", 0, e.bytes(segment).unwrap()),
    }
}

/// Whether a row is gimli's: the CFA and all 17 columns.
fn is_same(row: &WholeRow, segment: &Segment<'_>, gimli: &Row<'_>, frame: &EhFrame<Slice<'_>>) -> bool {
    let is_same_cfa = match (row.cfa, gimli.cfa()) {
        (cfi::CfaRule::Register(ours, our_offset), CfaRule::RegisterAndOffset { register, offset }) => {
            (u16::from(ours), i64::from(our_offset)) == (register.0, *offset)
        }
        (cfi::CfaRule::Is(e), CfaRule::Expression(expected)) => {
            e.bytes(segment) == Some(bytes_of(*expected, frame))
        }
        _ => false,
    };
    is_same_cfa
        && (0..cfi::COLUMNS).all(|column| {
            let expected = said_by_gimli(gimli.register(Register(column as u16)), frame);
            said_by_us(row.register(column), segment) == expected
        })
}

/// Compares all rows of a file; how many there were of each kind.
fn compare(path: &str) -> Counts {
    let data = std::fs::read(path).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let section = file.section_by_name(".eh_frame").unwrap();
    let header = file.section_by_name(".eh_frame_hdr").unwrap().address();
    let holds = |s: &object::Segment<'_, '_>| (s.address()..s.address() + s.size()).contains(&header);
    let segment = file.segments().find(holds).unwrap();
    let segment = Segment { bytes: segment.data().unwrap(), address: segment.address() as usize };

    let frame = EhFrame::new(section.data().unwrap(), LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(section.address());
    let mut context = UnwindContext::new();
    let (mut counts, mut wrong) = (Counts::new(), 0);
    let mut entries = frame.entries(&bases);
    while let Some(entry) = entries.next().unwrap() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let fde = partial.parse(EhFrame::cie_from_offset).unwrap();
        let mut rows = fde.rows(&frame, &bases, &mut context).unwrap();
        while let Some(row) = rows.next_row().unwrap() {
            let (start, end) = (row.start_address(), row.end_address());
            let all = match row.cfa() {
                CfaRule::Expression(_) => (start..end).take(64).collect(),
                _ if start < end => vec![start, end - 1],
                _ => vec![],
            };
            for (i, pc) in all.into_iter().enumerate() {
                let expected = translate(row, &frame, fde.is_signal_trampoline(), pc);
                let actual = rule_at(segment, header as usize, pc as usize);
                if i == 0 {
                    *counts.entry(actual.kind()).or_default() += 1;
                }
                let whole = row_at(segment, header as usize, pc as usize);
                let is_same = whole.is_some_and(|whole| is_same(&whole, &segment, row, &frame));
                if actual != expected || !is_same {
                    wrong += 1;
                    if wrong < 20 {
                        println!("{path} {pc:#x}: {actual:?} {whole:?}, gimli {expected:?} {row:?}");
                    }
                }
            }
        }
    }
    println!("{path}: {} rows, {wrong} wrong, {counts:?}", counts.values().sum::<usize>());
    assert_eq!(wrong, 0, "{path}");
    counts
}

/// Compares a file that not every machine has.
fn compare_if_there(path: &str) {
    if std::fs::exists(path).unwrap() {
        compare(path);
    }
}

const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";

#[test]
fn the_c_library_and_its_loader() {
    let counts = compare(&format!("{LIBRARIES}/libc.so.6"));
    assert!(
        counts[&Kind::Stack] > 10_000 && counts[&Kind::Frame] > 100 && counts.contains_key(&Kind::Signal)
    );
    assert!(counts.get(&Kind::Other).copied().unwrap_or(0) < 50);
    compare(&format!("{LIBRARIES}/ld-linux-x86-64.so.2"));
    compare(&format!("{LIBRARIES}/libm.so.6"));
}

#[test]
fn the_test_program_itself() {
    let counts = compare(std::env::current_exe().unwrap().to_str().unwrap());
    assert_eq!(counts.get(&Kind::NoInfo), None);
}

#[test]
fn the_cxx_library() {
    compare_if_there(&format!("{LIBRARIES}/libstdc++.so.6"));
    compare_if_there(&format!("{LIBRARIES}/libgcc_s.so.1"));
}

#[test]
fn large_programs_and_assembly() {
    compare_if_there("/usr/bin/python3");
    compare_if_there(&format!("{LIBRARIES}/libcrypto.so.3"));
}

/// All of a file named in the environment: for libraries too large for every day.
#[test]
#[ignore = "names its file in HEAPSCRIBE_ORACLE_FILE"]
fn any_file() {
    compare(&std::env::var("HEAPSCRIBE_ORACLE_FILE").unwrap());
}
