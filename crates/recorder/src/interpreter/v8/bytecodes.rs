//! Lengths of V8's bytecodes, by which code of its baseline compiler (Sparkplug) is led back to bytecodes: of each one it has
//! only how many bytes of machine code it became.
//!
//! ```text
//!   bytecode    prefix (wide: 2, extra wide: 4), number, operands: some have one byte or two, others as many as the prefix says
//!   code        entry, then a part for each bytecode: their lengths, as numbers of 7 bits a byte
//! ```
//! Which version's lengths are right is told by the numbers of V8's types. They must end where the function ends, with as
//! many parts as bytecodes.

/// Lengths of a version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Lengths {
    /// The numbers of the types of bytecode arrays and code.
    types: [usize; 2],
    /// For each bytecode two digits.
    digits: &'static [u8],
}

/// For each bytecode a digit for the bytes that it always has, and one for those that grow with the prefix: from
/// `Bytecodes::kBytecodeSizes` of the versions that were looked at.
const LENGTHS: [Lengths; 5] = [
    // 14.1, of node 25.
    Lengths {
        types: [184, 185],
        digits: b"1010101010111213143233111011101010101011131313111111111211111110101020121212131113111113131311131313\
            2113131214121213131323132311121212121212121212121212221212121212121212121212121111111110101111111113\
            1414131415141213141432332222141412121212121212121210111111101032221011221022122211121212121210101013\
            1111111111111111111113111111111111111111111111131311121411131010101011101011131413131011111010101010\
            101010101010101010101010",
    },
    // 13.6, of node 24.
    Lengths {
        types: [186, 187],
        digits: b"1010101010111213143233111011101010101011131313111111111211111110101020121212131113111113131311131313\
            2113131214121213131323132312121212121212121212121212121212121212121212121211111111101011111111131414\
            1314151412131414323322221414121212121212121212101111111010322210112210221222111212121210101013111111\
            1111111111111113111111111111111111111111131311121411101010101110101113141313101111101010101010101010\
            1010101010101010",
    },
    // 12.4, of node 22.
    Lengths {
        types: [205, 206],
        digits: b"1010101010111213143233111011101010101011131311111112111111101010201212121311131111131311131321131312\
            1412121313132313231212121212121212121212121212121212121212121212121111111110101011111113141413141514\
            1213141432332222141412121212121212121210111111101032221011221022122211121212121010101311111111111111\
            1111111111111111111111111111111311121214111010101011101011131413131011111010101010101010101010101010\
            101010",
    },
    // 11.3, of node 20.
    Lengths {
        types: [191, 245],
        digits: b"1010101010111213143233111011101010101011131311111112111111101010201212121311111313111313211313121212\
            1313132313231212121212121212121212121212121212121212121212121111111110101011111113141413141514121314\
            1432332222141412121212121212121111111110322210112210221222111212121210101013111111111111111111111111\
            111111111111111111111311121214111010101011101011131413131011111010101010101010101010101010101010",
    },
    // 10.2, of node 18.
    Lengths {
        types: [195, 240],
        digits: b"1010101010111213143233111011101010101011131311111112111111101010201212121311111313111313211313121212\
            1313131313231112121212121212121212121212121212121212121212121211111111101010111111141413141514121314\
            1432332222141412121212121212121111111110222210112210221222111212121210101012111111111111111111111111\
            111111111111111111111311121214111010101011101011131413131011111010101010101010101010101010101010",
    },
];

/// Numbers of prefixes, each twice: the second ones are set by a debugger. The odd ones are extra wide.
const PREFIXES: u8 = 4;

/// Whether a version has these types whose compilers' code is led back to bytecodes. Of another one, compiled code has no
/// lines: it looks like that of these, and what was read of it was now and then another line's.
pub(super) fn is_known(types: [usize; 2]) -> bool {
    LENGTHS.iter().any(|lengths| lengths.types == types)
}

/// Where the bytecode of a machine instruction begins, by the lengths of the version that has these types: `None` when
/// they do not fit. `end`: bytes of code up to the instruction's end.
pub(super) fn offset_at(
    types: [usize; 2],
    length: usize,
    end: usize,
    bytecodes: impl FnMut() -> Option<u8>,
    parts: impl FnMut() -> Option<u8>,
) -> Option<usize> {
    let lengths = LENGTHS.iter().find(|lengths| lengths.types == types)?;
    offset_by(lengths.digits, length, end, bytecodes, parts)
}

/// The same by the lengths of one version.
fn offset_by(
    lengths: &[u8],
    length: usize,
    end: usize,
    mut bytecodes: impl FnMut() -> Option<u8>,
    mut parts: impl FnMut() -> Option<u8>,
) -> Option<usize> {
    let mut code = number(&mut parts)?;
    let (mut at, mut found) = (0, None);
    while at < length {
        let bytes = skip(lengths, &mut bytecodes)?;
        code += number(&mut parts)?;
        // A call returns to the end of its part.
        if found.is_none() && code >= end {
            found = Some(at);
        }
        at += bytes;
    }
    found.filter(|_| at == length && parts().is_none())
}

/// A number of 7 bits a byte.
fn number(next: &mut impl FnMut() -> Option<u8>) -> Option<usize> {
    let mut number = 0;
    for shift in (0..35).step_by(7) {
        let byte = next()?;
        number |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Reads a bytecode: how many bytes it has.
fn skip(lengths: &[u8], next: &mut impl FnMut() -> Option<u8>) -> Option<usize> {
    let first = next()?;
    let (number, prefix, scale) = match first {
        prefix if prefix < PREFIXES => (next()?, 1, if prefix & 1 == 0 { 2 } else { 4 }),
        number => (number, 0, 1),
    };
    let digit = |at: usize| lengths.get(at).map(|digit| usize::from(digit - b'0'));
    let at = 2 * usize::from(number);
    let own = digit(at)? + scale * digit(at + 1)?;
    for _ in 1..own {
        next()?;
    }
    Some(prefix + own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> impl FnMut() -> Option<u8> + '_ {
        let mut bytes =
            (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap());
        move || bytes.next()
    }

    /// `order(fd) { return inner(fd) + 1; }` in node 22: LdaImmutableCurrentContextSlot, Star, CallUndefinedReceiver1,
    /// AddSmi, Return; and its code.
    const ORDER: &str = "15ff0301c965f90301470100ae";
    const ORDER_PARTS: &str = "150c04181111";
    const V12: [usize; 2] = [205, 206];

    fn check(end: usize, expected: Option<usize>) {
        let length = ORDER.len() / 2;
        let found = offset_at(V12, length, end, bytes(ORDER), bytes(ORDER_PARTS));
        assert_eq!(found, expected, "{end}");
    }

    #[test]
    fn each_instruction_is_of_the_bytecode_that_it_was_made_of() {
        check(0x15 + 1, Some(0));
        check(0x15 + 0x0c, Some(0));
        check(0x15 + 0x0c + 4, Some(4));
        check(0x15 + 0x0c + 4 + 0x18, Some(5));
        check(0x15 + 0x0c + 4 + 0x18 + 0x11 + 0x11, Some(12));
        check(0x15 + 0x0c + 4 + 0x18 + 0x11 + 0x11 + 1, None);
    }

    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        let refused = |length, table: &'static str| {
            assert_eq!(offset_at(V12, length, 40, bytes(ORDER), bytes(table)), None);
        };
        refused(12, ORDER_PARTS);
        refused(14, ORDER_PARTS);
        refused(13, "150c041811");
        refused(13, "150c0418111111");
        refused(13, "");
    }

    /// Node 23 (V8 12.9) had lines of other calls, by lengths of other versions that happened to fit.
    #[test]
    fn code_of_another_version_is_not_read_by_the_lengths_of_one() {
        let length = ORDER.len() / 2;
        assert_eq!(offset_at([185, 186], length, 40, bytes(ORDER), bytes(ORDER_PARTS)), None);
        assert!(is_known(V12) && !is_known([185, 186]));
    }

    #[test]
    fn prefixes_make_operands_wider() {
        let mut bytecode = bytes("0047010000000200");
        assert_eq!(skip(LENGTHS[2].digits, &mut bytecode), Some(6));
        let mut bytecode = bytes("01470100000002000000");
        assert_eq!(skip(LENGTHS[2].digits, &mut bytecode), Some(10));
    }

    fn reader(bytes: &[u8]) -> impl FnMut() -> Option<u8> + '_ {
        let mut bytes = bytes.iter().copied();
        move || bytes.next()
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_end(code: Vec<u8>, parts: Vec<u8>, end: usize) {
            let found = offset_at(V12, code.len(), end, reader(&code), reader(&parts));
            assert!(found.is_none_or(|offset| offset < code.len()));
        }
    }
}
