//! What a filter answers to a system call: the kernel's interpreter of classic BPF, as far as it lets filters use it.
//! All jumps are forward, so it ends.

/// `struct sock_filter`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// What to do.
    pub code: u16,
    /// Instructions to skip when a comparison holds.
    pub if_true: u8,
    /// And when it does not.
    pub if_false: u8,
    /// The operand.
    pub k: u32,
}

/// A system call, as a filter sees it: `struct seccomp_data`.
#[derive(Clone, Copy, Debug)]
pub(super) struct SystemCall {
    pub(super) number: u32,
    pub(super) arguments: [u64; 6],
}

const DATA_BYTES: u32 = 64;

impl SystemCall {
    fn word(&self, offset: u32) -> Option<u32> {
        const X86_64: u32 = 0xc000_003e;
        match offset {
            0 => Some(self.number),
            4 => Some(X86_64),
            8 | 12 => Some(0), // the address of the call, which nobody knows before
            _ => {
                let argument = *self.arguments.get(offset.checked_sub(16)? as usize / 8)?;
                Some(if offset.is_multiple_of(8) { argument as u32 } else { (argument >> 32) as u32 })
            }
        }
    }
}

/// Whether a filter may end the process, or hand it to somebody else, for one of these calls: any answer but to let
/// it pass or fail. A filter that cannot be followed may.
pub fn ends_process(filter: &[Instruction], number: usize, arguments: [u64; 6]) -> bool {
    const ERRNO: u32 = 0x0005_0000;
    const LOG: u32 = 0x7ffc_0000;
    const ALLOW: u32 = 0x7fff_0000;
    let call = SystemCall { number: number as u32, arguments };
    !answer(filter, &call).is_some_and(|answer| [ERRNO, LOG, ALLOW].contains(&(answer & 0xffff_0000)))
}

fn answer(filter: &[Instruction], call: &SystemCall) -> Option<u32> {
    let (mut a, mut x, mut memory, mut at) = (0u32, 0u32, [0u32; 16], 0);
    loop {
        let Instruction { code, if_true, if_false, k } = *filter.get(at)?;
        at += 1;
        let operand = if code & 0x08 == 0 { k } else { x };
        match code & 7 {
            0 | 1 => {
                let value = match code & 0xe0 {
                    0x00 => k,
                    0x20 => call.word(k)?,
                    0x60 => *memory.get(k as usize)?,
                    0x80 => DATA_BYTES,
                    _ => return None,
                };
                *(if code & 7 == 0 { &mut a } else { &mut x }) = value;
            }
            2 => *memory.get_mut(k as usize)? = a,
            3 => *memory.get_mut(k as usize)? = x,
            4 => a = calculate(code & 0xf0, a, operand)?,
            5 if code & 0xf0 == 0 => at += k as usize,
            5 => at += usize::from(if compare(code & 0xf0, a, operand)? { if_true } else { if_false }),
            6 => return Some(if code & 0x18 == 0x10 { a } else { k }),
            _ if code & 0xf8 == 0 => x = a,
            _ => a = x,
        }
    }
}

fn calculate(operation: u16, a: u32, operand: u32) -> Option<u32> {
    Some(match operation {
        0x00 => a.wrapping_add(operand),
        0x10 => a.wrapping_sub(operand),
        0x20 => a.wrapping_mul(operand),
        0x30 => a.checked_div(operand).unwrap_or(0),
        0x40 => a | operand,
        0x50 => a & operand,
        0x60 => a.checked_shl(operand).unwrap_or(0),
        0x70 => a.checked_shr(operand).unwrap_or(0),
        0x80 => a.wrapping_neg(),
        0xa0 => a ^ operand,
        _ => return None,
    })
}

fn compare(operation: u16, a: u32, operand: u32) -> Option<bool> {
    Some(match operation {
        0x10 => a == operand,
        0x20 => a > operand,
        0x30 => a >= operand,
        0x40 => a & operand != 0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn i(code: u16, if_true: u8, if_false: u8, k: u32) -> Instruction {
        Instruction { code, if_true, if_false, k }
    }
    const LOAD_NUMBER: Instruction = i(0x20, 0, 0, 0);
    const KILL: u32 = 0x8000_0000;
    const ALLOW: u32 = 0x7fff_0000;
    const RETURN: u16 = 6;

    #[track_caller]
    fn check(filter: &[Instruction], number: u32, arguments: [u64; 6], expected: Option<u32>) {
        assert_eq!(answer(filter, &SystemCall { number, arguments }), expected);
        let ends = ends_process(filter, number as usize, arguments);
        assert_eq!(ends, expected.is_none_or(|answer| ![0x5, 0x7ffc, 0x7fff].contains(&(answer >> 16))));
    }

    #[test]
    fn numbers_that_are_killed_and_others() {
        let filter = [LOAD_NUMBER, i(0x15, 0, 1, 14), i(RETURN, 0, 0, KILL), i(RETURN, 0, 0, ALLOW)];
        check(&filter, 14, [0; 6], Some(KILL));
        check(&filter, 15, [0; 6], Some(ALLOW));
        check(&[LOAD_NUMBER, i(RETURN, 0, 0, 0x0005_0001)], 14, [0; 6], Some(0x0005_0001));
    }

    #[test]
    fn arguments_halves_and_calculations() {
        // Kills when the upper half of argument 1 is not 0, or (argument 2 & 4) is.
        let filter = [
            i(0x20, 0, 0, 28),
            i(0x15, 0, 4, 0),
            i(0x20, 0, 0, 32),
            i(0x54, 0, 0, 4),
            i(0x15, 0, 1, 0),
            i(RETURN, 0, 0, ALLOW),
            i(RETURN, 0, 0, KILL),
        ];
        check(&filter, 1, [0, 7, 3, 0, 0, 0], Some(ALLOW));
        check(&filter, 1, [0, 7, 6, 0, 0, 0], Some(KILL));
        check(&filter, 1, [0, 1 << 32, 3, 0, 0, 0], Some(KILL));
    }

    #[test]
    fn memory_the_index_and_jumps() {
        let filter = [
            i(0x80, 0, 0, 0), // a = 64
            i(0x02, 0, 0, 3), // memory 3 = a
            i(0x61, 0, 0, 3), // x = memory 3
            i(0x0c, 0, 0, 0), // a += x
            i(0x07, 0, 0, 0), // x = a
            i(0x05, 0, 0, 1),
            i(RETURN, 0, 0, KILL),
            i(0x87, 0, 0, 0), // a = x
            i(0x16, 0, 0, 0), // return a
        ];
        check(&filter, 1, [0; 6], Some(128));
    }

    #[test]
    fn what_is_no_filter_ends_the_process() {
        check(&[], 1, [0; 6], None);
        check(&[LOAD_NUMBER], 1, [0; 6], None);
        check(&[i(0x20, 0, 0, 1000), i(RETURN, 0, 0, ALLOW)], 1, [0; 6], None);
        check(&[i(0x60, 0, 0, 16), i(RETURN, 0, 0, ALLOW)], 1, [0; 6], None);
        check(&[i(0x05, 0, 0, u32::MAX), i(RETURN, 0, 0, ALLOW)], 1, [0; 6], None);
    }
}
