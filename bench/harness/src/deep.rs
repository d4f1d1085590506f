//! `bench/programs/deep.c`: calls of the heap at a depth of the stack, the innermost frames of which are new.

use std::ffi::OsString;

use crate::places::Places;
use crate::run::Job;

/// What is done again and again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// malloc, and free at once.
    Pair,
    /// Many mallocs, then as many frees.
    Batch,
    /// realloc of one block, up and down.
    Realloc,
}

/// Through how many ways the fresh frames are entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Paths {
    /// Always the same.
    One,
    /// Four by turns: every fresh frame differs from the one that was there before, and each path was seen.
    Four,
    /// Never the same twice: every stack is new.
    New,
}

/// A case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Case {
    pub(crate) kind: Kind,
    pub(crate) depth: u32,
    pub(crate) fresh: u32,
    pub(crate) paths: Paths,
}

impl Case {
    /// What it is called in tables.
    pub(crate) fn name(&self) -> String {
        let kind = match self.kind {
            Kind::Pair => "malloc and free",
            Kind::Batch => "malloc, later free",
            Kind::Realloc => "realloc",
        };
        let fresh = match (self.fresh, self.paths) {
            (0, _) => "same stack".to_owned(),
            (n, Paths::New) => format!("{n} fresh frames, never seen"),
            (n, _) => format!("{n} fresh frames"),
        };
        format!("{kind}, depth {}, {fresh}", self.depth)
    }

    /// The command, for so many operations a round and so many rounds.
    pub(crate) fn command(
        &self,
        operations: u64,
        rounds: u64,
        all_rounds: u64,
        places: &Places,
    ) -> Vec<OsString> {
        let kind = match self.kind {
            Kind::Pair => "pair",
            Kind::Batch => "batch",
            Kind::Realloc => "realloc",
        };
        let paths = match self.paths {
            Paths::One => 1,
            Paths::Four => 4,
            Paths::New => operations * all_rounds,
        };
        let numbers = [u64::from(self.depth), u64::from(self.fresh), paths, operations, rounds];
        let words = numbers.iter().map(|n| OsString::from(n.to_string()));
        [places.program("deep").into(), kind.into()].into_iter().chain(words).collect()
    }

    /// The same as something to run.
    pub(crate) fn job(&self, operations: u64, rounds: u64, timeout_s: u64, places: &Places) -> Job {
        Job { command: self.command(operations, rounds, rounds, places), timeout_s, ..Job::default() }
    }
}

/// The least ns of an operation, and of a free in [`Kind::Batch`].
pub(crate) fn times_ns(stderr: &str) -> Option<[f64; 2]> {
    let mut words = stderr.lines().next_back()?.split_whitespace().map(|word| word.parse().ok());
    Some([words.next()??, words.next()??])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_have_names() {
        let case = |kind, depth, fresh, paths| Case { kind, depth, fresh, paths }.name();
        assert_eq!(case(Kind::Pair, 8, 0, Paths::One), "malloc and free, depth 8, same stack");
        assert_eq!(case(Kind::Batch, 20, 3, Paths::Four), "malloc, later free, depth 20, 3 fresh frames");
        assert_eq!(case(Kind::Realloc, 20, 9, Paths::New), "realloc, depth 20, 9 fresh frames, never seen");
    }

    #[test]
    fn times_are_the_last_line() {
        assert_eq!(times_ns("a warning\n14.58 6.37\n"), Some([14.58, 6.37]));
        assert_eq!(times_ns("14.58\n"), None);
        assert_eq!(times_ns(""), None);
    }
}
