//! The system calls that we make, as filters see them.

use super::program::{Instruction, ends_process};
use crate::sys::CallSet;

const NO_DESCRIPTOR: u64 = u64::MAX;
const HERE: u64 = -100i64 as u64; // AT_FDCWD
const SOME: u64 = 4096;

/// Calls whose arguments filters look at, each as we make it: number and arguments. Of others the number alone
/// counts.
const WITH_ARGUMENTS: &[(usize, [u64; 6])] = &[
    (9, [0, SOME, 3, 0x4022, NO_DESCRIPTOR, 0]), // mmap of private memory
    (9, [SOME, SOME, 3, 0x4032, NO_DESCRIPTOR, 0]), // in place of a session
    (9, [0, SOME, 0, 0x4001, 3, 0]),             // of a session's file
    (9, [0, SOME, 3, 1, 3, 0]),
    (9, [SOME, SOME, 3, 0x11, 3, 0]),
    (10, [SOME, SOME, 3, 0, 0, 0]), // mprotect
    (10, [SOME, SOME, 0, 0, 0, 0]),
    (14, [2, SOME, SOME, 8, 0, 0]), // rt_sigprocmask
    (25, [SOME, 0, SOME, 1, 0, 0]), // mremap
    (25, [SOME, SOME, 2 * SOME, 0, 0, 0]),
    (28, [SOME, SOME, 4, 0, 0, 0]), // madvise
    (28, [SOME, SOME, 10, 0, 0, 0]),
    (28, [SOME, SOME, 16, 0, 0, 0]),
    (28, [SOME, SOME, 18, 0, 0, 0]),
    (28, [SOME, SOME, 22, 0, 0, 0]),
    (28, [SOME, SOME, 23, 0, 0, 0]),
    (62, [SOME, 0, 0, 0, 0, 0]), // kill
    (72, [3, 1, 0, 0, 0, 0]),    // fcntl
    (72, [3, 37, SOME, 0, 0, 0]),
    (157, [16, SOME, 0, 0, 0, 0]), // prctl
    (157, [39, 0, 0, 0, 0, 0]),
    (202, [SOME, 128, 2, SOME, 0, 0]), // futex
    (202, [SOME, 129, 1, 0, 0, 0]),
    (234, [SOME, SOME, 0, 0, 0, 0]),           // tgkill
    (257, [HERE, SOME, 0o2_000_000, 0, 0, 0]), // openat
    (257, [HERE, SOME, 0o2_400_000, 0o600, 0, 0]),
    (257, [HERE, SOME, 0o2_600_000, 0o600, 0, 0]),
    (257, [3, SOME, 0o2_400_002, 0o600, 0, 0]),
    (257, [3, SOME, 0o2_400_302, 0o600, 0, 0]),
];

/// The calls that this filter would end the process for, of all that have a number.
pub fn forbidden_by(filter: &[Instruction]) -> CallSet {
    let mut set = CallSet::default();
    for number in 0..CallSet::NUMBERS {
        let mut seen = WITH_ARGUMENTS.iter().filter(|(n, _)| *n == number).peekable();
        let is_forbidden = match seen.peek() {
            None => ends_process(filter, number, [0; 6]),
            Some(_) => seen.any(|&(_, arguments)| ends_process(filter, number, arguments)),
        };
        if is_forbidden {
            set.insert(number);
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_may_be_made_in_some_ways_only_is_forbidden_when_ours_is_none_of_them() {
        // Kills mprotect (10) unless argument 2 is 1, and madvise (28) whatever it is given.
        let i = |code, if_true, if_false, k| Instruction { code, if_true, if_false, k };
        let filter = [
            i(0x20, 0, 0, 0),
            i(0x15, 3, 0, 28),
            i(0x15, 0, 3, 10),
            i(0x20, 0, 0, 32),
            i(0x15, 1, 0, 1),
            i(6, 0, 0, 0x8000_0000),
            i(6, 0, 0, 0x7fff_0000),
        ];
        let set = forbidden_by(&filter);
        assert_eq!((0..CallSet::NUMBERS).filter(|&n| set.contains(n)).collect::<Vec<_>>(), [10, 28]);
    }
}
