//! What Go's `debug=1` adds to the text: the names of a stack's functions, in comments behind its sums.
//!
//! ```text
//!   2: 64 [4: 128] @ 0x401136 0x40115d 0x437452 0x461121
//!   #  0x401135  main.leak+0x15  /src/main.go:5          the call, one before where it returns to
//!   #  0x40115c  main.main+0x1c  /src/main.go:9
//! ```
//! Functions of its runtime that allocate, at the begin of a stack, and `runtime.goexit`, at its end, have no such line;
//! in Go's profiles in protocol buffers they are left out. So they are here.

use std::collections::HashMap;

use crate::profile::Line;

/// What begins the comments behind all stacks.
const STATISTICS: &str = "# runtime.MemStats";

/// The comments of a file, as far as they were read.
#[derive(Debug, Default)]
pub(super) struct Comments {
    /// Whether there are any of Go.
    pub(super) is_any: bool,
    /// Whether what stands behind all stacks was seen.
    pub(super) has_end: bool,
    /// Those of the stack before.
    named: HashMap<u64, Vec<Line>>,
}

/// What is shown of an address in a stack.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Shown {
    Named(Vec<Line>),
    Address(u64),
}

impl Comments {
    /// Takes a line that begins with `#`.
    pub(super) fn line(&mut self, line: &str) {
        if line.starts_with(STATISTICS) {
            (self.is_any, self.has_end) = (true, true);
            return;
        }
        let mut words = line[1..].split('\t').map(str::trim).filter(|word| !word.is_empty());
        let address = words.next().and_then(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok());
        let Some(address) = address else { return };
        self.is_any = true;
        let (Some(function), place) = (words.next(), words.next().unwrap_or_default()) else { return };
        let function = function.rsplit_once("+0x").map_or(function, |(name, _)| name).to_owned();
        let numbered = place.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
        let (file, line) = numbered.unwrap_or((place, 0));
        let line = Line { function, file: file.to_owned(), line };
        let lines = self.named.entry(address).or_default();
        // A function that calls itself there has a line for each call.
        if !lines.contains(&line) {
            lines.push(line);
        }
    }

    /// The frames of the stack whose comments were read, the innermost first.
    pub(super) fn stack(&mut self, pcs: &[u64]) -> Vec<Shown> {
        let named = std::mem::take(&mut self.named);
        let lines = |pc: &u64| named.get(&pc.wrapping_sub(1)).or_else(|| named.get(pc));
        let first = pcs.iter().position(|pc| lines(pc).is_some()).unwrap_or(0);
        let is_exit = |at: usize| !named.is_empty() && at + 1 == pcs.len();
        let shown = pcs.iter().enumerate().skip(first).filter_map(|(at, pc)| match lines(pc) {
            Some(lines) => Some(Shown::Named(lines.clone())),
            None if is_exit(at) => None,
            None => Some(Shown::Address(*pc)),
        });
        shown.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_go_hides_are_left_out() {
        let mut comments = Comments::default();
        comments.line("#\t0x1f\tmain.leak+0x15\t\t/src/a b.go:5");
        comments.line("#\t0x2f\tmain.(*T[...]).run+0x1\t/src/main.go:9");
        let line = |function: &str, file: &str, line| {
            Shown::Named(vec![Line { function: function.to_owned(), file: file.to_owned(), line }])
        };
        let expected = [line("main.leak", "/src/a b.go", 5), line("main.(*T[...]).run", "/src/main.go", 9)];
        assert_eq!(comments.stack(&[0x90, 0x20, 0x30, 0x99]), expected);
        // Of a stack without comments nothing is left out.
        assert_eq!(comments.stack(&[0x90, 0x20]), [Shown::Address(0x90), Shown::Address(0x20)]);
        assert!(comments.is_any && !comments.has_end);
    }
}
