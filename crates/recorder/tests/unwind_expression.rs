//! DWARF expressions: those of real tables, hostile ones, and random ones against gimli's evaluation.

use gimli::{Encoding, EndianSlice, Evaluation, EvaluationResult, Format, LittleEndian, Location, Value};
use heapscribe_recorder::unwind::cfi::evaluate::{Failure, Inputs, evaluate};
use proptest::prelude::*;

/// Registers whose values say which they are, and memory whose words are made of their addresses; but
/// register 9 is unknown, and nothing is to be read below 4096.
struct Machine;

impl Machine {
    const UNKNOWN: u64 = 9;
    const LOWEST: u64 = 4096;

    fn value(number: u64) -> u64 {
        number << 32 | 0x7000
    }

    fn word(address: u64, size: usize) -> u64 {
        address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - 8 * size)
    }
}

impl Inputs for Machine {
    fn register(&self, number: u64) -> Option<u64> {
        (number != Machine::UNKNOWN).then(|| Machine::value(number))
    }

    fn read(&self, address: u64, size: usize) -> Option<u64> {
        (address >= Machine::LOWEST && matches!(size, 1 | 2 | 4 | 8)).then(|| Machine::word(address, size))
    }
}

fn check(bytes: &[u8], expected: Result<u64, Failure>) {
    assert_eq!(evaluate(bytes, &Machine, None), expected, "{bytes:#x?}");
}

#[test]
fn expressions_of_real_tables() {
    let (sp, pc) = (Machine::value(7), Machine::value(16));
    let behind_push = if pc & 15 >= 11 { 8 } else { 0 };
    check(&[0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22], Ok(sp + 8 + behind_push)); // ld
    check(&[0x76, 0x78, 0x06], Ok(Machine::word(Machine::value(6) - 8, 8))); // gcc, realigned
    check(&[0x77, 0x98, 0x01, 0x06, 0x23, 8], Ok(Machine::word(sp + 152, 8).wrapping_add(8))); // libcrypto
    check(&[0x7b, 0x08, 0x06], Ok(Machine::word(Machine::value(11) + 8, 8)));
}

#[test]
fn each_operator() {
    for (bytes, expected) in [
        (&[0x03, 1, 2, 3, 4, 5, 6, 7, 8][..], 0x0807_0605_0403_0201),
        (&[0x09, 0xff], u64::MAX),
        (&[0x0b, 0xfe, 0xff], u64::MAX - 1),
        (&[0x0d, 0xfd, 0xff, 0xff, 0xff], u64::MAX - 2),
        (&[0x10, 0x80, 1], 128),
        (&[0x11, 0x7f], u64::MAX),
        (&[0x92, 5, 0x10], Machine::value(5) + 16),
        (&[0x31, 0x32, 0x33, 0x17, 0x1c], 1u64.wrapping_sub(2)), // rot: 3 1 2
        (&[0x31, 0x32, 0x14, 0x1c], 1),                          // over
        (&[0x31, 0x32, 0x33, 0x15, 2], 1),                       // pick
        (&[0x31, 0x35, 0x16, 0x1c], 4),                          // swap
        (&[0x31, 0x12, 0x22, 0x96], 2),                          // dup, nop
        (&[0x31, 0x32, 0x13], 1),                                // drop
        (&[0x31, 0x28, 1, 0, 0x32, 0x35], 5),                    // bra
        (&[0x30, 0x28, 1, 0, 0x32], 2),                          // bra that is not taken
        (&[0x2f, 1, 0, 0x00, 0x37], 7),                          // skip
        (&[0x0a, 0, 0x20, 0x94, 2], Machine::word(0x2000, 2)),
    ] {
        check(bytes, Ok(expected));
    }
}

#[test]
fn hostile_expressions_end() {
    use Failure::{Nonsense, OutOfBounds, UnknownRegister};
    check(&[], Err(Nonsense));
    check(&[0x2f, 0xfd, 0xff], Err(Nonsense)); // skip to itself
    check(&[0x31, 0x12, 0x28, 0xfc, 0xff], Err(Nonsense)); // bra, for ever
    check(&[0x31; 33], Err(Nonsense)); // one value too many
    check(&[0x31, 0x2f, 0xfc, 0xff], Err(Nonsense)); // values for ever
    check(&[0x2f, 0xff, 0x7f], Err(Nonsense)); // out, forwards
    check(&[0x2f, 0x00, 0x80], Err(Nonsense)); // out, backwards
    check(&[0x22], Err(Nonsense)); // nothing to add
    check(&[0x31, 0x22], Err(Nonsense)); // one to add
    check(&[0x31, 0x15, 255], Err(Nonsense)); // nothing as far below
    check(&[0x31, 0x30, 0x1b], Err(Nonsense)); // a division by zero
    check(&[0x31, 0x30, 0x1d], Err(Nonsense));
    check(&[0x10, 0x80], Err(Nonsense)); // cut short
    check(&[0x08], Err(Nonsense));
    check(&[0x77, 0, 0x94, 3], Err(Nonsense)); // three bytes
    check(&[0x31, 0x06], Err(OutOfBounds));
    check(&[0x79, 0], Err(UnknownRegister));
    check(&[0x9c], Err(Nonsense)); // the CFA of another frame
    check(&[0xe0], Err(Nonsense)); // no operator
}

/// What gimli makes of an expression; none when it refuses it, or reads where nothing is to be read.
fn by_gimli(bytes: &[u8], initial: u64) -> Option<u64> {
    let encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 4 };
    let mut evaluation = Evaluation::new(EndianSlice::new(bytes, LittleEndian), encoding);
    evaluation.set_initial_value(initial);
    let mut result = evaluation.evaluate().ok()?;
    loop {
        result = match result {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresMemory { address, size, .. } => {
                let word = Machine.read(address, usize::from(size))?;
                evaluation.resume_with_memory(Value::Generic(word)).ok()?
            }
            EvaluationResult::RequiresRegister { register, .. } => {
                let value = Machine.register(u64::from(register.0))?;
                evaluation.resume_with_register(Value::Generic(value)).ok()?
            }
            EvaluationResult::RequiresRelocatedAddress(address) => {
                evaluation.resume_with_relocated_address(address).ok()?
            }
            _ => return None, // a frame base, a call, a type: refused
        };
    }
    match evaluation.as_result() {
        [piece] => match piece.location {
            Location::Address { address } => Some(address),
            _ => None,
        },
        _ => None,
    }
}

/// One operator with what belongs to it.
fn plain_operator() -> impl Strategy<Value = Vec<u8>> {
    let leb = || prop::collection::vec(128u8..=255, 0..3);
    let leb128 = move |operators: std::ops::Range<u8>| {
        (operators, leb(), 0u8..128)
            .prop_map(|(operator, more, last)| [&[operator][..], &more, &[last]].concat())
    };
    prop_oneof![
        3 => (0x30u8..0x50).prop_map(|literal| vec![literal]),
        2 => leb128(0x70..0x90),
        1 => leb128(0x10..0x12),
        1 => leb128(0x23..0x24),
        1 => (0x08u8..0x10, any::<[u8; 8]>()).prop_map(|(operator, bytes)| {
            [&[operator][..], &bytes[..1 << ((operator - 8) / 2)]].concat()
        }),
        1 => any::<[u8; 8]>().prop_map(|bytes| [&[0x03][..], &bytes].concat()),
        2 => prop::sample::select(vec![0x06u8, 0x12, 0x13, 0x14, 0x16, 0x17, 0x19, 0x1f, 0x20, 0x96]).prop_map(|o| vec![o]),
        4 => prop_oneof![0x1au8..0x1f, 0x21u8..0x23, 0x24u8..0x28, 0x29u8..0x2f].prop_map(|operator| vec![operator]),
        1 => (0u8..4).prop_map(|below| vec![0x15, below]),
        1 => (0u8..4).prop_map(|log2| vec![0x94, 1 << log2]),
    ]
}

/// An operator, or a branch over one.
fn operator() -> impl Strategy<Value = Vec<u8>> {
    let branch = (prop::sample::select(vec![0x28u8, 0x2f]), plain_operator())
        .prop_map(|(branch, over)| [&[branch, over.len() as u8, 0][..], &over].concat());
    prop_oneof![8 => plain_operator(), 1 => branch]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn as_gimli_evaluates(operators in prop::collection::vec(operator(), 0..20), initial in any::<u64>()) {
        let bytes = operators.concat();
        prop_assert_eq!(evaluate(&bytes, &Machine, Some(initial)).ok(), by_gimli(&bytes, initial), "{:x?}", bytes);
    }

    #[test]
    fn any_bytes_have_an_end(bytes in prop::collection::vec(any::<u8>(), 0..60), initial in any::<u64>()) {
        let _ = evaluate(&bytes, &Machine, Some(initial));
    }
}
